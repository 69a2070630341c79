// SPDX-License-Identifier: BSD-2-Clause
// vl_post_sq and vl_post_rq: what the device finds in ring and page.
#include <catch2/catch_test_macros.hpp>
#include <cerrno>
#include <cstring>

#include "qp.h"
#include "rig.h"

namespace exrnic {
namespace {

constexpr uint64_t kIdle = FakeFabric::kIdle;

std::vector<uint8_t> Slot(const WorkQueue& queue, uint32_t index) {
  const uint8_t* at = static_cast<const uint8_t*>(queue.ring()) + 64 * index;
  return {at, at + 64};
}

TEST_CASE("a posted PUSH has every field at its byte of the slot") {
  Pair pair;
  const vl_sge list[2] = {{0x1122334455667788, 0x01020304, 0xa1a2a3a4},
                          {0x99aabbccddeeff00, 0x05060708, 0xb1b2b3b4}};
  vl_send_wr wr = {};
  wr.sg_list = list;
  wr.num_sge = 2;
  wr.opcode = VL_OP_PUSH;
  wr.flags = VL_SEND_SIGNALED;
  wr.remote_stag = 0xc1c2c3c4;
  wr.remote_address = 0xd1d2d3d4d5d6d7d8;
  REQUIRE(vl_post_sq(pair.a.qp, &wr, nullptr) == 0);
  const std::vector<uint8_t> expected = {
      0x01, 0x01, 0x02, 0x01,
      0x00, 0x00, 0x00, 0x00,  // opcode, flags, num_sge, num_slots, imm_data
      0xd8, 0xd7, 0xd6, 0xd5,
      0xd4, 0xd3, 0xd2, 0xd1,  // remote_to
      0xc4, 0xc3, 0xc2, 0xc1,
      0x0c, 0x0a, 0x08, 0x06,  // remote_stag, length
      0x00, 0x00, 0x00, 0x00,
      0x00, 0x00, 0x00, 0x00,  // reserved
      0x88, 0x77, 0x66, 0x55,
      0x44, 0x33, 0x22, 0x11,  // first element
      0x04, 0x03, 0x02, 0x01,
      0xa4, 0xa3, 0xa2, 0xa1,  //
      0x00, 0xff, 0xee, 0xdd,
      0xcc, 0xbb, 0xaa, 0x99,  // second element
      0x08, 0x07, 0x06, 0x05,
      0xb4, 0xb3, 0xb2, 0xb1};
  CHECK(Slot(pair.a.qp->sq, 0) == expected);
}

TEST_CASE("a posted bind has every field at its byte of the slot") {
  Pair pair;
  vl_send_wr wr = {};
  wr.opcode = VL_OP_BIND_MW;
  wr.flags = VL_SEND_SIGNALED;
  wr.bind = {0xa1a2a3a4, 0xb1b2b3b4, 0xd1d2d3d4d5d6d7d8, 0x1122334455667788,
             VL_ACCESS_REMOTE_WRITE | VL_ACCESS_REMOTE_ATOMIC};
  REQUIRE(vl_post_sq(pair.a.qp, &wr, nullptr) == 0);
  const std::vector<uint8_t> expected = {
      0x0b, 0x01, 0x00, 0x01,
      0xa4, 0xa3, 0xa2, 0xa1,  // opcode, flags, num_sge, num_slots, the window
      0xd8, 0xd7, 0xd6, 0xd5,
      0xd4, 0xd3, 0xd2, 0xd1,  // first byte
      0x0a, 0x00, 0x00, 0x00,
      0x00, 0x00, 0x00, 0x00,  // rights, length
      0x00, 0x00, 0x00, 0x00,
      0x00, 0x00, 0x00, 0x00,  // reserved
      0x88, 0x77, 0x66, 0x55,
      0x44, 0x33, 0x22, 0x11,  // bytes
      0x00, 0x00, 0x00, 0x00,
      0xb4, 0xb3, 0xb2, 0xb1,  // the region
      0x00, 0x00, 0x00, 0x00,
      0x00, 0x00, 0x00, 0x00,  //
      0x00, 0x00, 0x00, 0x00,
      0x00, 0x00, 0x00, 0x00};
  CHECK(Slot(pair.a.qp->sq, 0) == expected);
}

TEST_CASE("a posted receive has every field at its byte of the slot") {
  Pair pair;
  const vl_sge element = {0x1122334455667788, 0x01020304, 0xa1a2a3a4};
  const vl_recv_wr wr = {7, nullptr, &element, 1};
  REQUIRE(vl_post_rq(pair.a.qp, &wr, nullptr) == 0);
  std::vector<uint8_t> expected(64);
  expected[0] = 0x80;
  expected[2] = 0x01;
  expected[3] = 0x01;
  const uint8_t length[] = {0x04, 0x03, 0x02, 0x01};
  const uint8_t sge[] = {0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
                         0x04, 0x03, 0x02, 0x01, 0xa4, 0xa3, 0xa2, 0xa1};
  memcpy(&expected[20], length, sizeof(length));
  memcpy(&expected[32], sge, sizeof(sge));
  CHECK(Slot(*pair.a.qp->rq, 0) == expected);
}

TEST_CASE("a list of requests rings one doorbell with the queue pair and the new producer") {
  FakeFabric fabric(1);
  Endpoint self(&fabric, 0);
  self.Connect(0, vl_qp_number(self.qp));
  vl_send_wr wrs[3] = {};
  for (int i = 0; i < 3; ++i) {
    wrs[i].opcode = VL_OP_PUSH;
    wrs[i].next = i < 2 ? &wrs[i + 1] : nullptr;
  }
  REQUIRE(vl_post_sq(self.qp, wrs, nullptr) == 0);
  CHECK(fabric.DoorbellAt(0) == (uint64_t{3} << 32 | vl_qp_number(self.qp)));
  CHECK(fabric.DoorbellAt(8) == kIdle);
  CHECK(fabric.DoorbellAt(16) == kIdle);
  fabric.Step();
  CHECK(fabric.device(0).counters().doorbells == 1);
  CHECK(fabric.device(0).counters().wqes == 3);

  const vl_recv_wr recv = {1, nullptr, nullptr, 0};
  REQUIRE(vl_post_rq(self.qp, &recv, nullptr) == 0);
  CHECK(fabric.DoorbellAt(8) == (uint64_t{1} << 32 | vl_qp_number(self.qp)));
  CHECK(fabric.DoorbellAt(0) == kIdle);
}

TEST_CASE("requests before a bad one are posted, the bad one is named, none after it is posted") {
  Pair pair;
  vl_send_wr good = pair.Push(1, 8);
  vl_send_wr bad = good;
  vl_send_wr after = good;
  good.next = &bad;
  bad.next = &after;
  bad.num_sge = 3;
  const vl_send_wr* named = nullptr;
  errno = 0;
  CHECK(vl_post_sq(pair.a.qp, &good, &named) == -1);
  CHECK(errno == EINVAL);
  CHECK(named == &bad);
  pair.fabric.Step();
  CHECK(pair.fabric.device(0).counters().wqes == 1);
}

TEST_CASE("no doorbell rings without a WQE") {
  FakeFabric fabric(1);
  Endpoint self(&fabric, 0);
  self.Connect(0, vl_qp_number(self.qp));
  vl_send_wr wr = {};
  wr.opcode = static_cast<vl_wr_opcode>(99);
  CHECK(vl_post_sq(self.qp, &wr, nullptr) == -1);
  CHECK(fabric.DoorbellAt(0) == kIdle);
  const vl_recv_wr recv = {1, nullptr, nullptr, 2};
  CHECK(vl_post_rq(self.qp, &recv, nullptr) == -1);
  CHECK(fabric.DoorbellAt(8) == kIdle);
  vl_wc wc;
  CHECK(vl_poll_cq(self.cq, 1, &wc) == 0);
  CHECK(fabric.DoorbellAt(16) == kIdle);
}

TEST_CASE("a malformed request is refused with EINVAL") {
  Pair pair;
  vl_send_wr wr = pair.Push(1, 8);
  vl_sge list[2] = {pair.sge, pair.sge};
  SECTION("opcode") { wr.opcode = static_cast<vl_wr_opcode>(10); }
  SECTION("flags") { wr.flags = 0x80; }
  SECTION("more elements than the queue was made for") { wr.num_sge = 3; }
  SECTION("a negative number of elements") { wr.num_sge = -1; }
  SECTION("elements, but no list") { wr.sg_list = nullptr; }
  SECTION("more than 2 GiB in all") {
    list[0].length = list[1].length = 0x40000001;
    wr.sg_list = list;
    wr.num_sge = 2;
  }
  const vl_send_wr* bad = nullptr;
  errno = 0;
  CHECK(vl_post_sq(pair.a.qp, &wr, &bad) == -1);
  CHECK(errno == EINVAL);
  CHECK(bad == &wr);
}

TEST_CASE("2 GiB in two elements are accepted") {
  Pair pair;
  vl_send_wr wr = pair.Push(1, 8);
  vl_sge list[2] = {pair.sge, pair.sge};
  list[0].length = list[1].length = 0x40000000;
  wr.sg_list = list;
  wr.num_sge = 2;
  CHECK(vl_post_sq(pair.a.qp, &wr, nullptr) == 0);
}

TEST_CASE("a null queue pair or list is refused with EINVAL") {
  Pair pair;
  const vl_send_wr wr = pair.Push(1, 8);
  const vl_recv_wr recv = {1, nullptr, nullptr, 0};
  errno = 0;
  CHECK(vl_post_sq(nullptr, &wr, nullptr) == -1);
  CHECK(errno == EINVAL);
  CHECK(vl_post_sq(pair.a.qp, nullptr, nullptr) == -1);
  CHECK(vl_post_rq(nullptr, &recv, nullptr) == -1);
  CHECK(vl_post_rq(pair.a.qp, nullptr, nullptr) == -1);
  CHECK(errno == EINVAL);
}

TEST_CASE("sends wait for RTS and receives for INIT") {
  FakeFabric fabric(1);
  Endpoint self(&fabric, 0);
  vl_send_wr wr = {};
  wr.opcode = VL_OP_PUSH;
  const vl_recv_wr recv = {1, nullptr, nullptr, 0};
  CHECK(vl_post_rq(self.qp, &recv, nullptr) == -1);
  vl_qp_attr attr = {};
  for (vl_qp_state state : {VL_QPS_INIT, VL_QPS_RTR}) {
    attr.state = state;
    REQUIRE(vl_modify_qp(self.qp, &attr) == 0);
    errno = 0;
    CHECK(vl_post_sq(self.qp, &wr, nullptr) == -1);
    CHECK(errno == EINVAL);
    CHECK(vl_post_rq(self.qp, &recv, nullptr) == 0);
  }
  attr.state = VL_QPS_RTS;
  REQUIRE(vl_modify_qp(self.qp, &attr) == 0);
  CHECK(vl_post_sq(self.qp, &wr, nullptr) == 0);
}

TEST_CASE("a full send queue gives ENOMEM, and room again for each completion polled") {
  Pair pair;
  for (uint64_t i = 0; i < 16; ++i) REQUIRE(pair.Post(i) == 0);
  errno = 0;
  CHECK(pair.Post(16) == -1);
  CHECK(errno == ENOMEM);
  pair.fabric.Step();
  CHECK(pair.Post(16) == -1);  // ended, but not polled
  vl_wc wc;
  REQUIRE(vl_poll_cq(pair.a.cq, 1, &wc) == 1);
  CHECK(wc.wr_id == 0);
  CHECK(pair.Post(16) == 0);
  CHECK(pair.Post(17) == -1);
}

TEST_CASE("a full receive queue gives ENOMEM") {
  Pair pair;
  const vl_recv_wr recv = {1, nullptr, nullptr, 0};
  for (int i = 0; i < 16; ++i) REQUIRE(vl_post_rq(pair.a.qp, &recv, nullptr) == 0);
  errno = 0;
  CHECK(vl_post_rq(pair.a.qp, &recv, nullptr) == -1);
  CHECK(errno == ENOMEM);
}

TEST_CASE("a signaled completion gives back the unsignaled slots before it") {
  Pair pair;
  for (uint64_t i = 0; i < 15; ++i) REQUIRE(pair.Post(i, 8, 0) == 0);
  REQUIRE(pair.Post(15) == 0);
  CHECK(pair.Post(16) == -1);
  pair.fabric.Step();
  vl_wc wc[2];
  REQUIRE(vl_poll_cq(pair.a.cq, 2, wc) == 1);
  CHECK(wc[0].wr_id == 15);
  for (uint64_t i = 0; i < 16; ++i) REQUIRE(pair.Post(16 + i, 8, 0) == 0);
  CHECK(pair.Post(32) == -1);
}

}  // namespace
}  // namespace exrnic
