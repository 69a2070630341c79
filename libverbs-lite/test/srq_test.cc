// SPDX-License-Identifier: BSD-2-Clause
// Shared receive queues: who takes a receive, and when its place is free again.
#include "srq.h"

#include <catch2/catch_test_macros.hpp>
#include <cerrno>
#include <cstring>

#include "cq.h"
#include "rig.h"

namespace exrnic {
namespace {

// Node b receives through a shared queue, on two queue pairs.
struct Shared : Pair {
  explicit Shared(uint32_t wrs = 8, uint32_t sge = 2) {
    vl_srq_attr attr = {wrs, sge, 0};
    srq = vl_create_srq(b.pd, &attr);
    REQUIRE(srq != nullptr);
    granted = attr;
    for (int i = 0; i < 2; ++i) {
      to[i] = Connect(&a, nullptr);
      from[i] = Connect(&b, srq);
      Join(to[i], 1, from[i]);
      Join(from[i], 0, to[i]);
    }
  }
  ~Shared() {
    for (vl_qp* qp : {to[0], to[1], from[0], from[1]}) {
      if (qp != nullptr) CHECK(vl_destroy_qp(qp) == 0);
    }
    if (srq != nullptr) CHECK(vl_destroy_srq(srq) == 0);
  }

  static vl_qp* Connect(Endpoint* end, vl_srq* queue) {
    vl_qp_init_attr init = QpInit(end->cq, end->cq, 16, 1);
    init.srq = queue;
    vl_qp* qp = vl_create_qp(end->pd, &init);
    REQUIRE(qp != nullptr);
    return qp;
  }
  static void Join(vl_qp* qp, uint32_t node, const vl_qp* peer) {
    vl_qp_attr attr = AttrOf(VL_QPS_INIT, node, vl_qp_number(peer));
    for (vl_qp_state state : {VL_QPS_INIT, VL_QPS_RTR, VL_QPS_RTS}) {
      attr.state = state;
      REQUIRE(vl_modify_qp(qp, &attr) == 0);
    }
  }

  int Receive(uint64_t wr_id, int elements = 1) {
    const std::vector<vl_sge> list(
        static_cast<size_t>(elements),
        {reinterpret_cast<uintptr_t>(b.buffer.data()), 64, vl_mr_stag(b.mr)});
    const vl_recv_wr wr = {wr_id, nullptr, list.data(), elements};
    return vl_post_srq_recv(srq, &wr, nullptr);
  }
  void Send(int connection) {
    vl_send_wr wr = Push(1, 8, 0);
    wr.opcode = VL_OP_SEND;
    REQUIRE(vl_post_sq(to[connection], &wr, nullptr) == 0);
    fabric.Step();
  }

  vl_srq* srq;
  vl_srq_attr granted;
  vl_qp* to[2];
  vl_qp* from[2];
};

TEST_CASE("queue pairs take receives of a shared queue in the order of their messages") {
  Shared s;
  for (uint64_t i = 0; i < 4; ++i) REQUIRE(s.Receive(100 + i) == 0);
  s.fabric.Step();
  for (int connection : {1, 0, 0, 1}) s.Send(connection);
  vl_wc wc[8];
  REQUIRE(vl_poll_cq(s.b.cq, 8, wc) == 4);
  const int connections[] = {1, 0, 0, 1};
  for (uint64_t i = 0; i < 4; ++i) {
    CHECK(wc[i].wr_id == 100 + i);
    CHECK(wc[i].qpn == vl_qp_number(s.from[connections[i]]));
    CHECK(wc[i].status == VL_WC_SUCCESS);
  }
}

TEST_CASE("a shared queue rings its own doorbell with its own number") {
  FakeFabric fabric(1);
  Endpoint self(&fabric, 0);
  vl_srq_attr attr = {8, 2, 0};
  vl_srq* srq = vl_create_srq(self.pd, &attr);
  REQUIRE(srq != nullptr);
  const vl_recv_wr second = {2, nullptr, nullptr, 0};
  const vl_recv_wr first = {1, &second, nullptr, 0};
  REQUIRE(vl_post_srq_recv(srq, &first, nullptr) == 0);
  CHECK(fabric.DoorbellAt(40) == (uint64_t{2} << 32 | srq->number));
  CHECK(fabric.DoorbellAt(8) == FakeFabric::kIdle);
  CHECK(vl_destroy_srq(srq) == 0);
}

TEST_CASE("a queue pair with a shared queue takes no receives of its own") {
  Shared s;
  const vl_recv_wr wr = {1, nullptr, nullptr, 0};
  errno = 0;
  CHECK(vl_post_rq(s.from[0], &wr, nullptr) == -1);
  CHECK(errno == EINVAL);
}

// Completions written by hand, so that they come in any order.
void Write(Shared* s, uint32_t entry, uint32_t index) {
  uint8_t* cqe = static_cast<uint8_t*>(s->b.cq->memory.data()) + 32 * entry;
  const uint32_t qpn = vl_qp_number(s->from[0]);
  memset(cqe, 0, 32);
  memcpy(cqe + 8, &index, 4);
  memcpy(cqe + 20, &qpn, 4);
  cqe[28] = 128;
  cqe[31] = 1;
}

TEST_CASE("receives complete in any order, and a place is free when a later receive has ended") {
  Shared s;
  for (uint64_t i = 0; i < 8; ++i) REQUIRE(s.Receive(100 + i) == 0);
  errno = 0;
  CHECK(s.Receive(0) == -1);
  CHECK(errno == ENOMEM);
  vl_wc wc[8];
  Write(&s, 0, 2);
  Write(&s, 1, 1);
  REQUIRE(vl_poll_cq(s.b.cq, 8, wc) == 2);
  CHECK(wc[0].wr_id == 102);
  CHECK(wc[1].wr_id == 101);
  // The first one goes on: the device has taken it.
  for (uint64_t i = 0; i < 3; ++i) CHECK(s.Receive(200 + i) == 0);
  CHECK(s.Receive(0) == -1);
  CHECK(errno == ENOMEM);
  Write(&s, 2, 0);
  REQUIRE(vl_poll_cq(s.b.cq, 8, wc) == 1);
  CHECK(wc[0].wr_id == 100);
  CHECK(s.Receive(0) == -1);  // its place is another one's
  Write(&s, 3, 2);            // of the first round: has ended
  Write(&s, 4, 10);           // of the second
  REQUIRE(vl_poll_cq(s.b.cq, 8, wc) == 1);
  CHECK(wc[0].wr_id == 202);
}

TEST_CASE("a receive of several slots gives all of them back, whatever ends first") {
  Shared s(2, 6);  // a ring of 8, receives of up to two slots
  CHECK(s.granted.max_wr == 4);
  CHECK(s.granted.max_sge == 6);
  CHECK(s.Receive(0, 7) == -1);
  for (uint64_t i = 0; i < 4; ++i) REQUIRE(s.Receive(100 + i, 3) == 0);
  CHECK(s.Receive(0, 0) == -1);
  vl_wc wc[8];
  Write(&s, 0, 3);
  REQUIRE(vl_poll_cq(s.b.cq, 8, wc) == 1);
  CHECK(wc[0].wr_id == 101);
  Write(&s, 1, 0);  // by its first slot, as one that the device could not read
  Write(&s, 2, 1);  // the rest of that, which is no receive
  REQUIRE(vl_poll_cq(s.b.cq, 8, wc) == 1);
  CHECK(wc[0].wr_id == 100);
  for (uint64_t i = 0; i < 4; ++i) CHECK(s.Receive(200 + i, 1) == 0);
  CHECK(s.Receive(0, 1) == -1);
}

TEST_CASE("places come back over many rounds of ring and index") {
  Shared s;
  uint64_t posted = 0;
  for (uint64_t got = 0; got < 70000; ++got) {
    while (s.Receive(posted) == 0) ++posted;
    s.Send(got % 2);
    vl_wc wc[2];
    REQUIRE(vl_poll_cq(s.b.cq, 2, wc) == 1);
    REQUIRE(wc[0].wr_id == got);
    if (got % 8 == 7) {
      // Unsignaled sends give nothing back: one of each ring full is signaled.
      for (int i : {0, 1}) {
        vl_send_wr wr = s.Push(1, 0);
        REQUIRE(vl_post_sq(s.to[i], &wr, nullptr) == 0);
        s.fabric.Step();
      }
      REQUIRE(vl_poll_cq(s.a.cq, 2, wc) == 2);
    }
  }
  CHECK(s.fabric.device(1).counters().doorbells_refused == 0);
}

TEST_CASE("receives whose completions vanish with their queue pair give their places back") {
  Shared s;
  for (uint64_t i = 0; i < 8; ++i) REQUIRE(s.Receive(i) == 0);
  s.fabric.Step();
  for (int i = 0; i < 3; ++i) s.Send(0);
  vl_wc wc[8];
  SECTION("destroyed") {
    REQUIRE(vl_destroy_qp(s.from[0]) == 0);
    s.from[0] = nullptr;
  }
  SECTION("reset") {
    const vl_qp_attr attr = AttrOf(VL_QPS_RESET);
    REQUIRE(vl_modify_qp(s.from[0], &attr) == 0);
  }
  CHECK(vl_poll_cq(s.b.cq, 8, wc) == 0);
  for (uint64_t i = 0; i < 3; ++i) CHECK(s.Receive(i) == 0);
  CHECK(s.Receive(0) == -1);
}

TEST_CASE("the limit of a shared queue is set, queried, and zero after its event") {
  Shared s;
  vl_srq_attr attr = {};
  REQUIRE(vl_query_srq(s.srq, &attr) == 0);
  CHECK(attr.max_wr == 8);
  CHECK(attr.max_sge == 2);
  CHECK(attr.limit == 0);
  REQUIRE(vl_modify_srq(s.srq, 2) == 0);
  for (uint64_t i = 0; i < 3; ++i) REQUIRE(s.Receive(i) == 0);
  s.fabric.Step();
  s.Send(0);
  REQUIRE(vl_query_srq(s.srq, &attr) == 0);
  CHECK(attr.limit == 2);
  s.Send(1);
  REQUIRE(vl_query_srq(s.srq, &attr) == 0);
  CHECK(attr.limit == 0);
}

TEST_CASE("bad arguments of shared queues give EINVAL, and one in use stays") {
  Shared s;
  vl_srq_attr attr = {8, 2, 0};
  const vl_recv_wr wr = {1, nullptr, nullptr, -1};
  auto refused = [](auto result) {
    const bool so = !result && errno == EINVAL;
    errno = 0;
    return so;
  };
  errno = 0;
  CHECK(refused(vl_create_srq(nullptr, &attr)));
  CHECK(refused(vl_create_srq(s.b.pd, nullptr)));
  attr.limit = 65536;
  CHECK(refused(vl_create_srq(s.b.pd, &attr)));
  attr = {0, 2, 0};
  CHECK(refused(vl_create_srq(s.b.pd, &attr)));
  attr = {8, VL_MAX_SGE + 1, 0};
  CHECK(refused(vl_create_srq(s.b.pd, &attr)));
  attr = {4097, 2, 0};
  CHECK(refused(vl_create_srq(s.b.pd, &attr)));
  CHECK(refused(vl_modify_srq(nullptr, 1) == 0));
  CHECK(refused(vl_modify_srq(s.srq, 65536) == 0));
  CHECK(refused(vl_query_srq(s.srq, nullptr) == 0));
  CHECK(refused(vl_destroy_srq(nullptr) == 0));
  CHECK(refused(vl_post_srq_recv(s.srq, nullptr, nullptr) == 0));
  CHECK(refused(vl_post_srq_recv(nullptr, &wr, nullptr) == 0));
  CHECK(refused(vl_post_srq_recv(s.srq, &wr, nullptr) == 0));
  vl_qp_init_attr init = QpInit(s.a.cq, s.a.cq, 4, 4);
  init.srq = s.srq;  // of another domain
  CHECK(refused(vl_create_qp(s.a.pd, &init)));
  CHECK(vl_destroy_srq(s.srq) == -1);
  CHECK(errno == EBUSY);
  CHECK(vl_deallocate_pd(s.b.pd) == -1);
  CHECK(errno == EBUSY);
}

}  // namespace
}  // namespace exrnic
