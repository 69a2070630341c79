// SPDX-License-Identifier: BSD-2-Clause
// vl_poll_cq: phase, rounds, wrap, accounting.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cerrno>
#include <cstring>

#include "cq.h"
#include "rig.h"

namespace exrnic {
namespace {

TEST_CASE("a PUSH moves its bytes and completes with what the device said") {
  Pair pair;
  for (size_t i = 0; i < 100; ++i) pair.a.buffer[i] = static_cast<uint8_t>(i * 7 + 1);
  REQUIRE(pair.Post(0xfeedfacecafebeef, 100) == 0);
  vl_wc wc;
  CHECK(vl_poll_cq(pair.a.cq, 1, &wc) == 0);
  pair.fabric.Step();
  REQUIRE(vl_poll_cq(pair.a.cq, 1, &wc) == 1);
  CHECK(wc.wr_id == 0xfeedfacecafebeef);
  CHECK(wc.status == VL_WC_SUCCESS);
  CHECK(wc.opcode == VL_WC_PUSH);
  CHECK(wc.byte_len == 100);
  CHECK(wc.qpn == vl_qp_number(pair.a.qp));
  CHECK(wc.timestamp_ns == pair.fabric.device(0).time_ns);
  CHECK(memcmp(pair.a.buffer.data(), pair.b.buffer.data(), 100) == 0);
  CHECK(pair.b.buffer[100] == 0);
  CHECK(vl_poll_cq(pair.a.cq, 1, &wc) == 0);
}

TEST_CASE("completions come once each and in order over many rounds of both rings") {
  EndpointSize size;
  size.cq_entries = GENERATE_COPY(4u, 5u, 16u);
  size.send_wr = 4;
  Pair pair(size);
  uint64_t posted = 0;
  uint64_t polled = 0;
  // 2^16 is where the slot indices wrap.
  while (polled < 70000) {
    while (posted - polled < 4) REQUIRE(pair.Post(posted++) == 0);
    pair.fabric.Step();
    vl_wc wc[3];
    const int count = vl_poll_cq(pair.a.cq, 3, wc);
    REQUIRE(count == 3);
    for (int i = 0; i < count; ++i) REQUIRE(wc[i].wr_id == polled++);
  }
  CHECK(pair.fabric.device(0).counters().cq_overruns == 0);
  CHECK(pair.fabric.device(0).counters().doorbells_refused == 0);
}

TEST_CASE("the device learns of taken completions each quarter of the ring, and not before") {
  EndpointSize size;
  size.cq_entries = 13;  // a ring of 16
  Pair pair(size);
  vl_wc wc;
  FakeDevice& device = pair.fabric.device(0);
  for (int i = 1; i <= 32; ++i) {
    REQUIRE(pair.Post(1) == 0);
    pair.fabric.Step();
    const uint64_t before = device.counters().doorbells;
    REQUIRE(vl_poll_cq(pair.a.cq, 1, &wc) == 1);
    pair.fabric.Step();
    INFO("completion " << i);
    CHECK(device.counters().doorbells - before == (i % 4 == 0 ? 1 : 0));
    CHECK(device.cqs.begin()->second.consumed == static_cast<uint32_t>(i) / 4 * 4);
  }
}

TEST_CASE("a completion queue holds as many as were asked for, at any place of its ring") {
  const uint32_t entries = GENERATE(1u, 4u, 5u, 13u, 14u, 64u);
  EndpointSize size;
  size.cq_entries = entries;
  size.send_wr = 64;
  Pair pair(size);
  std::vector<vl_wc> wc(entries);
  for (int round = 0; round < 50; ++round) {
    // Move on by one, so that what the device has not been told varies.
    REQUIRE(pair.Post(0) == 0);
    pair.fabric.Step();
    REQUIRE(vl_poll_cq(pair.a.cq, 1, wc.data()) == 1);
    for (uint32_t i = 0; i < entries; ++i) REQUIRE(pair.Post(i) == 0);
    pair.fabric.Step();
    REQUIRE(vl_poll_cq(pair.a.cq, static_cast<int>(entries), wc.data()) ==
            static_cast<int>(entries));
  }
  CHECK(pair.fabric.device(0).counters().cq_overruns == 0);
}

TEST_CASE("every status of the device has its name in the library") {
  const std::vector<vl_wc_status> expected = {
      VL_WC_SUCCESS,           VL_WC_LOC_LEN_ERR,    VL_WC_LOC_QP_OP_ERR, VL_WC_LOC_PROT_ERR,
      VL_WC_WR_FLUSH_ERR,      VL_WC_REM_ACCESS_ERR, VL_WC_REM_OP_ERR,    VL_WC_RETRY_EXC_ERR,
      VL_WC_RNR_RETRY_EXC_ERR, VL_WC_MW_BIND_ERR,    VL_WC_GENERAL_ERR};
  for (uint8_t status = 0; status < expected.size(); ++status) {
    Pair pair;
    REQUIRE(pair.Post(1) == 0);
    // Not stepped: the completion is written by hand.
    uint8_t* cqe = static_cast<uint8_t*>(pair.a.cq->memory.data());
    memset(cqe, 0, 32);
    cqe[20] = static_cast<uint8_t>(vl_qp_number(pair.a.qp));
    cqe[24] = 0x02;
    cqe[25] = 0x11;
    cqe[28] = 1;
    cqe[29] = status;
    cqe[31] = 1;
    vl_wc wc;
    REQUIRE(vl_poll_cq(pair.a.cq, 1, &wc) == 1);
    CHECK(wc.status == expected[status]);
    CHECK(wc.detail == 0x1102);
    CHECK(strlen(vl_status_string(wc.status)) > 0);
  }
  CHECK(vl_status_string(static_cast<vl_wc_status>(1000)) == std::string("no such status"));
}

TEST_CASE("every operation completes as what it is called, and what the device does not know too") {
  const std::vector<vl_wc_opcode> expected = {
      VL_WC_UNKNOWN,   VL_WC_PUSH,         VL_WC_PUSH,          VL_WC_SEND,
      VL_WC_SEND,      VL_WC_SEND,         VL_WC_PULL,          VL_WC_LOCAL_INVALIDATE,
      VL_WC_FETCH_ADD, VL_WC_COMPARE_SWAP, VL_WC_FAST_REGISTER, VL_WC_BIND_MW,
      VL_WC_UNKNOWN};
  for (uint8_t opcode = 0; opcode < expected.size(); ++opcode) {
    Pair pair;
    REQUIRE(pair.Post(1) == 0);
    exrnic_cqe cqe = {};
    cqe.qpn = vl_qp_number(pair.a.qp);
    cqe.opcode = opcode;
    cqe.phase = 1;
    memcpy(pair.a.cq->memory.data(), &cqe, sizeof(cqe));
    vl_wc wc;
    REQUIRE(vl_poll_cq(pair.a.cq, 1, &wc) == 1);
    INFO("opcode " << int{opcode});
    CHECK(wc.opcode == expected[opcode]);
  }
}

TEST_CASE("completions that belong to no outstanding work are skipped") {
  Pair pair;
  REQUIRE(pair.Post(42) == 0);
  uint8_t* ring = static_cast<uint8_t*>(pair.a.cq->memory.data());
  auto write = [&](int entry, uint32_t qpn, uint32_t index, uint8_t opcode) {
    uint8_t* cqe = ring + 32 * entry;
    memcpy(cqe + 8, &index, 4);
    memcpy(cqe + 20, &qpn, 4);
    cqe[28] = opcode;
    cqe[31] = 1;
  };
  const uint32_t qpn = vl_qp_number(pair.a.qp);
  write(0, 0xffffffff, 0, 1);  // no number of a queue pair
  write(1, 1023, 0, 1);        // no such queue pair
  write(2, qpn, 1, 1);         // a slot that was not posted
  write(3, qpn, 0x10000, 1);   // not an index
  write(4, qpn, 0, 128);       // no receive is posted
  write(5, qpn, 0, 1);
  write(6, qpn, 0, 1);  // has ended already
  vl_wc wc[8];
  REQUIRE(vl_poll_cq(pair.a.cq, 8, wc) == 1);
  CHECK(wc[0].wr_id == 42);
}

TEST_CASE("a poll takes no more than asked for, and a bad argument gives EINVAL") {
  Pair pair;
  for (uint64_t i = 0; i < 5; ++i) REQUIRE(pair.Post(i) == 0);
  pair.fabric.Step();
  vl_wc wc[8];
  CHECK(vl_poll_cq(pair.a.cq, 0, nullptr) == 0);
  CHECK(vl_poll_cq(pair.a.cq, 2, wc) == 2);
  CHECK(vl_poll_cq(pair.a.cq, 8, wc) == 3);
  CHECK(wc[2].wr_id == 4);
  errno = 0;
  CHECK(vl_poll_cq(nullptr, 1, wc) == -1);
  CHECK(errno == EINVAL);
  errno = 0;
  CHECK(vl_poll_cq(pair.a.cq, -1, wc) == -1);
  CHECK(errno == EINVAL);
  errno = 0;
  CHECK(vl_poll_cq(pair.a.cq, 1, nullptr) == -1);
  CHECK(errno == EINVAL);
}

TEST_CASE("after a refusal at the peer the cause comes first and the rest is flushed in order") {
  Pair pair;
  vl_send_wr wrs[4];
  for (uint64_t i = 0; i < 4; ++i) wrs[i] = pair.Push(i, 8, i == 1 ? VL_SEND_SIGNALED : 0);
  for (int i = 0; i < 3; ++i) wrs[i].next = &wrs[i + 1];
  wrs[1].remote_stag ^= 0x55;
  REQUIRE(vl_post_sq(pair.a.qp, wrs, nullptr) == 0);
  pair.fabric.Step();
  REQUIRE(pair.Post(4) == 0);  // into the error state
  pair.fabric.Step();
  vl_wc wc[8];
  REQUIRE(vl_poll_cq(pair.a.cq, 8, wc) == 4);
  CHECK(wc[0].wr_id == 1);
  CHECK(wc[0].status == VL_WC_REM_ACCESS_ERR);
  CHECK(wc[0].detail == 0x1100);  // RFC 5041, 8: tagged buffer, invalid STag
  for (int i = 1; i < 4; ++i) {
    CHECK(wc[i].wr_id == static_cast<uint64_t>(i) + 1);
    CHECK(wc[i].status == VL_WC_WR_FLUSH_ERR);
  }
}

}  // namespace
}  // namespace exrnic
