// SPDX-License-Identifier: BSD-2-Clause
// Queue pairs: states, reset, destruction with completions still queued.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cerrno>

#include "rig.h"

namespace exrnic {
namespace {

int Modify(vl_qp* qp, vl_qp_state state) {
  const vl_qp_attr attr = AttrOf(state);
  return vl_modify_qp(qp, &attr);
}

// A second queue pair on the completion queue of an endpoint, connected.
vl_qp* AddQp(Endpoint* endpoint, uint32_t peer_node, uint32_t peer_qpn) {
  vl_qp_init_attr init = QpInit(endpoint->cq, endpoint->cq, 16, 16);
  vl_qp* qp = vl_create_qp(endpoint->pd, &init);
  REQUIRE(qp != nullptr);
  REQUIRE(Modify(qp, VL_QPS_INIT) == 0);
  const vl_qp_attr attr = AttrOf(VL_QPS_RTR, peer_node, peer_qpn);
  REQUIRE(vl_modify_qp(qp, &attr) == 0);
  REQUIRE(Modify(qp, VL_QPS_RTS) == 0);
  return qp;
}

TEST_CASE("what is to come of messages without a receive is within the verbs' values, or EINVAL") {
  FakeFabric fabric(1);
  Endpoint self(&fabric, 0);
  REQUIRE(Modify(self.qp, VL_QPS_INIT) == 0);
  const auto refused = [&](vl_qp_state state, uint32_t timer, uint32_t retry) {
    vl_qp_attr attr = AttrOf(state, 0, 5);
    attr.min_rnr_timer = timer;
    attr.rnr_retry = retry;
    errno = 0;
    return vl_modify_qp(self.qp, &attr) == -1 && errno == EINVAL;
  };
  CHECK(refused(VL_QPS_RTR, VL_MAX_RNR_TIMER + 1, 0));
  CHECK(refused(VL_QPS_RTR, ~0u, 0));
  CHECK_FALSE(refused(VL_QPS_RTR, VL_MAX_RNR_TIMER, ~0u));  // that one is not of this state
  CHECK(refused(VL_QPS_RTS, 0, VL_RNR_RETRY_ENDLESS + 1));
  CHECK(refused(VL_QPS_RTS, 0, ~0u));
  CHECK_FALSE(refused(VL_QPS_RTS, ~0u, VL_RNR_RETRY_ENDLESS));
}

TEST_CASE("query gives back what a queue pair was told, until it is reset") {
  FakeFabric fabric(1);
  Endpoint self(&fabric, 0);
  REQUIRE(Modify(self.qp, VL_QPS_INIT) == 0);
  vl_qp_attr attr = AttrOf(VL_QPS_RTR, 0, 5);
  attr.min_rnr_timer = 12;
  REQUIRE(vl_modify_qp(self.qp, &attr) == 0);
  attr = AttrOf(VL_QPS_RTS);
  attr.rnr_retry = 3;
  REQUIRE(vl_modify_qp(self.qp, &attr) == 0);
  REQUIRE(vl_query_qp(self.qp, &attr) == 0);
  CHECK(attr.min_rnr_timer == 12);
  CHECK(attr.rnr_retry == 3);
  REQUIRE(Modify(self.qp, VL_QPS_RESET) == 0);
  REQUIRE(vl_query_qp(self.qp, &attr) == 0);
  CHECK(attr.min_rnr_timer == 0);
  CHECK(attr.rnr_retry == 0);
  vl_qp_init_attr init = QpInit(self.cq, self.cq, 16, 16);
  init.service = VL_SERVICE_UD;
  vl_qp* datagrams = vl_create_qp(self.pd, &init);
  REQUIRE(datagrams != nullptr);
  vl_qp_attr keys = AttrOf(VL_QPS_INIT);
  keys.qkey = 0x80001234;
  keys.pkey_index = 15;
  REQUIRE(vl_modify_qp(datagrams, &keys) == 0);
  REQUIRE(vl_query_qp(datagrams, &attr) == 0);
  CHECK(attr.qkey == 0x80001234);
  CHECK(attr.pkey_index == 15);
  CHECK(vl_destroy_qp(datagrams) == 0);
}

TEST_CASE("a mask names the attributes that are given, and a query gives all of them back") {
  FakeFabric fabric(1);
  Endpoint self(&fabric, 0);
  vl_qp_attr attr = AttrOf(VL_QPS_INIT);
  attr.mask = VL_QP_ACCESS;
  attr.access = VL_ACCESS_LOCAL_WRITE | VL_ACCESS_REMOTE_READ;
  attr.path_mtu = 300;  // which is not named
  REQUIRE(vl_modify_qp(self.qp, &attr) == 0);
  attr = AttrOf(VL_QPS_RTR, 0, 5);
  attr.mask = VL_QP_DEST | VL_QP_PATH_MTU | VL_QP_MAX_READS_IN;
  attr.path_mtu = 512;
  attr.max_reads_in = 1;
  attr.min_rnr_timer = 12;
  REQUIRE(vl_modify_qp(self.qp, &attr) == 0);
  attr = AttrOf(VL_QPS_RTS);
  attr.mask = VL_QP_TIMEOUT | VL_QP_RETRY_COUNT | VL_QP_RNR_RETRY;
  attr.timeout = 14;
  attr.retry_count = 7;
  attr.rnr_retry = 6;
  REQUIRE(vl_modify_qp(self.qp, &attr) == 0);
  attr = {};
  REQUIRE(vl_query_qp(self.qp, &attr) == 0);
  CHECK(attr.access == VL_ACCESS_REMOTE_READ);
  CHECK(attr.path_mtu == 512);
  CHECK(attr.max_reads_in == 1);
  CHECK(attr.min_rnr_timer == 0);
  CHECK(attr.timeout == 14);
  CHECK(attr.retry_count == 7);
  CHECK(attr.rnr_retry == 6);
}

TEST_CASE("without a mask only the way from RESET to RTS sets attributes") {
  FakeFabric fabric(1);
  Endpoint self(&fabric, 0);
  REQUIRE(Modify(self.qp, VL_QPS_INIT) == 0);
  vl_qp_attr attr = AttrOf(VL_QPS_RTR, 0, 5);
  attr.min_rnr_timer = 12;
  REQUIRE(vl_modify_qp(self.qp, &attr) == 0);
  attr = AttrOf(VL_QPS_RTS);
  attr.rnr_retry = 6;
  REQUIRE(vl_modify_qp(self.qp, &attr) == 0);
  const auto is_as_before = [&self] {
    vl_qp_attr now = {};
    return vl_query_qp(self.qp, &now) == 0 && now.rnr_retry == 6 && now.min_rnr_timer == 12;
  };
  CHECK(is_as_before());
  REQUIRE(Modify(self.qp, VL_QPS_RTS) == 0);
  CHECK(is_as_before());
  REQUIRE(Modify(self.qp, VL_QPS_SQD) == 0);
  REQUIRE(Modify(self.qp, VL_QPS_RTS) == 0);
  CHECK(is_as_before());
}

TEST_CASE("attributes out of range, and a mask that names what there is not, give EINVAL") {
  FakeFabric fabric(1);
  Endpoint self(&fabric, 0);
  const auto refused = [&](uint32_t mask, void (*set)(vl_qp_attr*)) {
    vl_qp_attr attr = AttrOf(VL_QPS_INIT);
    attr.mask = mask;
    set(&attr);
    errno = 0;
    return vl_modify_qp(self.qp, &attr) == -1 && errno == EINVAL;
  };
  CHECK(refused(VL_QP_RETRY_COUNT << 1, [](vl_qp_attr*) {}));
  CHECK(refused(VL_QP_ACCESS, [](vl_qp_attr* attr) { attr->access = 16; }));
  CHECK(refused(VL_QP_PATH_MTU, [](vl_qp_attr* attr) { attr->path_mtu = 4112; }));
  CHECK(refused(VL_QP_PATH_MTU, [](vl_qp_attr* attr) { attr->path_mtu = 257; }));
  CHECK(
      refused(VL_QP_MAX_READS_IN, [](vl_qp_attr* attr) { attr->max_reads_in = VL_MAX_READS + 1; }));
  CHECK(refused(VL_QP_MAX_READS_OUT,
                [](vl_qp_attr* attr) { attr->max_reads_out = VL_MAX_READS + 1; }));
  CHECK(refused(VL_QP_TIMEOUT, [](vl_qp_attr* attr) { attr->timeout = 32; }));
  CHECK(refused(VL_QP_RETRY_COUNT, [](vl_qp_attr* attr) { attr->retry_count = 8; }));
  CHECK(refused(VL_QP_MIN_RNR_TIMER, [](vl_qp_attr* attr) { attr->min_rnr_timer = 257; }));
}

TEST_CASE("in SQD may be posted, and the work begins in RTS") {
  Pair pair;
  REQUIRE(Modify(pair.a.qp, VL_QPS_SQD) == 0);
  REQUIRE(pair.Post(1) == 0);
  pair.fabric.Step();
  vl_qp_attr attr = {};
  REQUIRE(vl_query_qp(pair.a.qp, &attr) == 0);
  CHECK(attr.state == VL_QPS_SQD);
  CHECK(attr.sq_consumer == 0);
  REQUIRE(Modify(pair.a.qp, VL_QPS_RTS) == 0);
  pair.fabric.Step();
  REQUIRE(vl_query_qp(pair.a.qp, &attr) == 0);
  CHECK(attr.sq_consumer == 1);
}

TEST_CASE("states follow the order of verbs and other changes give EPERM") {
  FakeFabric fabric(1);
  Endpoint self(&fabric, 0);
  errno = 0;
  CHECK(Modify(self.qp, VL_QPS_RTS) == -1);
  CHECK(errno == EPERM);
  self.Connect(0, 5);
  vl_qp_attr attr = {};
  REQUIRE(vl_query_qp(self.qp, &attr) == 0);
  CHECK(attr.state == VL_QPS_RTS);
  CHECK(attr.dest_node == 0);
  CHECK(attr.dest_qpn == 5);
  REQUIRE(Modify(self.qp, VL_QPS_ERROR) == 0);
  REQUIRE(vl_query_qp(self.qp, &attr) == 0);
  CHECK(attr.state == VL_QPS_ERROR);
  REQUIRE(Modify(self.qp, VL_QPS_RESET) == 0);
  errno = 0;
  CHECK(Modify(self.qp, static_cast<vl_qp_state>(9)) == -1);
  CHECK(errno == EINVAL);
}

TEST_CASE("query tells how many slots the device was told of and has taken") {
  Pair pair;
  for (uint64_t i = 0; i < 3; ++i) REQUIRE(pair.Post(i) == 0);
  vl_qp_attr attr = {};
  REQUIRE(vl_query_qp(pair.a.qp, &attr) == 0);
  CHECK(attr.sq_producer == 0);
  pair.fabric.Step();
  REQUIRE(vl_query_qp(pair.a.qp, &attr) == 0);
  CHECK(attr.sq_producer == 3);
  CHECK(attr.sq_consumer == 3);
}

TEST_CASE("the error state gives back all sends and receives as flushed") {
  Pair pair;
  for (uint64_t i = 0; i < 3; ++i) {
    const vl_recv_wr recv = {100 + i, nullptr, nullptr, 0};
    REQUIRE(vl_post_rq(pair.a.qp, &recv, nullptr) == 0);
  }
  pair.fabric.Step();
  vl_wc wc[8];
  CHECK(vl_poll_cq(pair.a.cq, 8, wc) == 0);
  REQUIRE(Modify(pair.a.qp, VL_QPS_ERROR) == 0);
  REQUIRE(pair.Post(1) == 0);
  pair.fabric.Step();
  REQUIRE(vl_poll_cq(pair.a.cq, 8, wc) == 4);
  CHECK(wc[0].wr_id == 1);
  CHECK(wc[0].opcode == VL_WC_PUSH);
  CHECK(wc[0].status == VL_WC_WR_FLUSH_ERR);
  for (uint64_t i = 0; i < 3; ++i) {
    CHECK(wc[1 + i].wr_id == 100 + i);
    CHECK(wc[1 + i].opcode == VL_WC_RECV);
    CHECK(wc[1 + i].status == VL_WC_WR_FLUSH_ERR);
  }
}

TEST_CASE("a queue pair that was reset starts anew, without its old completions") {
  Pair pair;
  for (uint64_t i = 0; i < 5; ++i) REQUIRE(pair.Post(i) == 0);
  pair.fabric.Step();
  vl_wc wc[8];
  REQUIRE(vl_poll_cq(pair.a.cq, 2, wc) == 2);
  REQUIRE(Modify(pair.a.qp, VL_QPS_RESET) == 0);
  CHECK(vl_poll_cq(pair.a.cq, 8, wc) == 0);
  pair.a.Connect(1, vl_qp_number(pair.b.qp));
  for (uint64_t i = 0; i < 16; ++i) REQUIRE(pair.Post(50 + i) == 0);
  pair.fabric.Step();
  REQUIRE(vl_poll_cq(pair.a.cq, 8, wc) == 8);
  CHECK(wc[0].wr_id == 50);
}

TEST_CASE("completions of a destroyed queue pair vanish, those of others stay") {
  Pair pair;
  vl_qp* other = AddQp(&pair.a, 1, vl_qp_number(pair.b.qp));
  vl_send_wr wr = pair.Push(0, 8);
  for (uint64_t i = 0; i < 6; ++i) {
    wr.wr_id = i;
    REQUIRE(vl_post_sq(i % 2 == 0 ? pair.a.qp : other, &wr, nullptr) == 0);
    pair.fabric.Step();
  }
  const uint32_t number = vl_qp_number(other);
  REQUIRE(vl_destroy_qp(other) == 0);

  // The number comes back at once; the old completions must not become those of the new one.
  vl_qp* next = AddQp(&pair.a, 1, vl_qp_number(pair.b.qp));
  REQUIRE(vl_qp_number(next) == number);
  wr.wr_id = 77;
  REQUIRE(vl_post_sq(next, &wr, nullptr) == 0);
  vl_wc wc[8];
  REQUIRE(vl_poll_cq(pair.a.cq, 8, wc) == 3);
  for (uint64_t i = 0; i < 3; ++i) CHECK(wc[i].wr_id == 2 * i);
  pair.fabric.Step();
  REQUIRE(vl_poll_cq(pair.a.cq, 8, wc) == 1);
  CHECK(wc[0].wr_id == 77);
  CHECK(vl_destroy_qp(next) == 0);
}

TEST_CASE("a queue pair finds the places free that an earlier one has left in its queue") {
  EndpointSize size;
  size.cq_entries = 13;  // a ring of 16
  Pair pair(size);
  vl_wc wc[16];
  for (uint64_t round = 0; round < 20; ++round) {
    // One stays, wherever it stands between those that go.
    vl_qp* other = AddQp(&pair.a, 1, vl_qp_number(pair.b.qp));
    vl_send_wr wr = pair.Push(0, 8);
    for (uint64_t i = 0; i < 12; ++i) {
      wr.wr_id = 100 + i;
      REQUIRE(vl_post_sq(other, &wr, nullptr) == 0);
      pair.fabric.Step();
      if (i != round % 12) continue;
      REQUIRE(pair.Post(round) == 0);
      pair.fabric.Step();
    }
    REQUIRE(vl_destroy_qp(other) == 0);
    vl_qp* next = AddQp(&pair.a, 1, vl_qp_number(pair.b.qp));
    for (uint64_t i = 0; i < 12; ++i) {
      wr.wr_id = 200 + i;
      REQUIRE(vl_post_sq(next, &wr, nullptr) == 0);
    }
    pair.fabric.Step();
    REQUIRE(vl_poll_cq(pair.a.cq, 16, wc) == 13);
    CHECK(wc[0].wr_id == round);
    for (uint64_t i = 0; i < 12; ++i) CHECK(wc[1 + i].wr_id == 200 + i);
    REQUIRE(vl_destroy_qp(next) == 0);
  }
  CHECK(pair.fabric.device(0).counters().cq_overruns == 0);
}

TEST_CASE("a queue pair that stays finds the places free that another one has left in its queue") {
  const bool destroyed = GENERATE(false, true);
  EndpointSize size;
  size.cq_entries = 13;  // a ring of 16
  Pair pair(size);
  vl_qp* other = AddQp(&pair.a, 1, vl_qp_number(pair.b.qp));
  vl_send_wr wr = pair.Push(0, 8);
  for (uint64_t i = 0; i < 13; ++i) REQUIRE(vl_post_sq(other, &wr, nullptr) == 0);
  pair.fabric.Step();
  REQUIRE((destroyed ? vl_destroy_qp(other) : Modify(other, VL_QPS_RESET)) == 0);
  for (uint64_t i = 0; i < 13; ++i) REQUIRE(pair.Post(i) == 0);
  pair.fabric.Step();
  vl_wc wc[16];
  CHECK(vl_poll_cq(pair.a.cq, 16, wc) == 13);
  CHECK(pair.fabric.device(0).counters().cq_overruns == 0);
  if (!destroyed) CHECK(vl_destroy_qp(other) == 0);
}

TEST_CASE("sends and receives may complete in two queues") {
  FakeFabric fabric(1);
  Endpoint self(&fabric, 0);
  vl_cq* recv_cq = vl_create_cq(self.rnic, 8, nullptr);
  REQUIRE(recv_cq != nullptr);
  vl_qp_init_attr init = QpInit(self.cq, recv_cq, 8, 8);
  vl_qp* qp = vl_create_qp(self.pd, &init);
  REQUIRE(qp != nullptr);
  REQUIRE(Modify(qp, VL_QPS_INIT) == 0);
  const vl_recv_wr recv = {9, nullptr, nullptr, 0};
  REQUIRE(vl_post_rq(qp, &recv, nullptr) == 0);
  fabric.Step();
  REQUIRE(Modify(qp, VL_QPS_ERROR) == 0);
  fabric.Step();
  vl_wc wc;
  CHECK(vl_poll_cq(self.cq, 1, &wc) == 0);
  CHECK(vl_destroy_cq(recv_cq) == -1);
  CHECK(vl_poll_cq(recv_cq, 1, &wc) == 1);
  CHECK(wc.wr_id == 9);
  REQUIRE(vl_destroy_qp(qp) == 0);
  CHECK(vl_destroy_cq(recv_cq) == 0);
}

TEST_CASE("queue sizes are rounded up, and the caller is told") {
  FakeFabric fabric(1);
  Endpoint self(&fabric, 0);
  vl_qp_init_attr init = QpInit(self.cq, self.cq, 17, 1);
  vl_qp* qp = vl_create_qp(self.pd, &init);
  REQUIRE(qp != nullptr);
  CHECK(init.max_send_wr == 32);
  CHECK(init.max_recv_wr == 8);
  CHECK(vl_destroy_qp(qp) == 0);
}

}  // namespace
}  // namespace exrnic
