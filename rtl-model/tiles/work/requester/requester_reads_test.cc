// SPDX-License-Identifier: BSD-2-Clause
// RDMA Read Requests of the peer: answered, refused, and in ERROR.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "rtl-model/tiles/work/requester/requester_bench.h"

namespace exrnic::testing {
namespace {

constexpr uint32_t kSourceStag = 0x5151ab00;
constexpr uint64_t kSource = 0x50000;

Read read_of(uint32_t length, uint32_t done = 0) {
  Read read;
  uint8_t* request = read.request.data();
  exrnic_read_request_set_sink_stag(request, 0x71727374);
  exrnic_read_request_set_sink_to(request, 0xfffffffffffffff0);
  exrnic_read_request_set_length(request, length);
  exrnic_read_request_set_source_stag(request, kSourceStag);
  exrnic_read_request_set_source_to(request, kSource);
  read.msn = 0x01020304;
  read.done = done;
  return read;
}
// A queue pair without work of its own.
void connect(Requester& requester, exrnic_qp_state state = EXRNIC_QP_STATE_RTS) {
  requester.qps[kQpn] = sending_qp(0, 0);
  requester.qps[kQpn].status.state = state;
}
const QpStatus& status(Requester& requester) { return requester.qps[kQpn].status; }

TEST_CASE("A read of the peer is answered by tagged segments that place themselves at its sink") {
  const auto length = GENERATE(0u, 1u, kMtu, 2 * kMtu + 3);
  const auto state = GENERATE(EXRNIC_QP_STATE_RTR, EXRNIC_QP_STATE_RTS);
  CAPTURE(length, state);
  Requester requester;
  connect(requester, state);
  requester.reads[kQpn] = {read_of(length)};
  requester.turn(kQpn);
  const std::size_t segments = length == 0 ? 1 : (length + kMtu - 1) / kMtu;
  REQUIRE(requester.submitted.size() == segments);
  for (uint32_t i = 0; i < segments; ++i) {
    const TxDesc& desc = requester.submitted[i];
    const uint8_t* header = desc.ddp.data();
    CHECK_FALSE(desc.untagged);
    CHECK_FALSE(desc.unsent);
    CHECK_FALSE(desc.inlined);
    CHECK(exrnic_ddp_tagged_opcode(header) == EXRNIC_RDMAP_OPCODE_READ_RESPONSE);
    CHECK(exrnic_ddp_tagged_last(header) == (i + 1 == segments));
    CHECK(exrnic_ddp_tagged_stag(header) == 0x71727374);
    CHECK(exrnic_ddp_tagged_to(header) == 0xfffffffffffffff0 + uint64_t{i} * kMtu);
    CHECK(desc.length == std::min(kMtu, length - i * kMtu));
    CHECK(desc.tag.kind == kTxKindResponse);
    CHECK(desc.dst_qpn == 0x345678);
  }
  CHECK(gathered(requester) == sources_of({{kSource, length, 0}}));
  for (const XlateReq& request : requester.xlate.requests) {
    CHECK(request.stag == kSourceStag);
    CHECK(request.access == EXRNIC_ACCESS_REMOTE_READ);
    CHECK(request.pd == kPd);
    CHECK(request.qpn == kQpn);
    CHECK(request.generation == requester.qps[kQpn].cfg.generation);
    CHECK(request.to + request.length == kSource + length);  // all that is left
  }
  CHECK(requester.xlate.requests.empty() == (length == 0));
  CHECK(requester.reads[kQpn].empty());
  CHECK(requester.wakes.size() == 1);
  CHECK(requester.events[EXRNIC_COUNTER_READS_SERVED] == 1);
  CHECK(requester.events[EXRNIC_COUNTER_WQES] == 0);
}

TEST_CASE("While others wait, a read is left after sixteen segments and goes on in a later turn") {
  Requester requester;
  requester.dut().queues_others_wait_i = 1;
  connect(requester);
  requester.reads[kQpn] = {read_of(20 * kMtu)};
  requester.turn(kQpn);
  CHECK(requester.submitted.size() == 16);
  REQUIRE(requester.reads[kQpn].size() == 1);
  CHECK(requester.reads[kQpn][0].done == 16 * kMtu);
  CHECK(requester.reads[kQpn][0].msn == 0x01020304);
  CHECK(requester.events[EXRNIC_COUNTER_READS_SERVED] == 0);
  requester.turn(kQpn);
  CHECK(gathered(requester) == sources_of({{kSource, 20 * kMtu, 0}}));
  CHECK(requester.reads[kQpn].empty());
}

TEST_CASE("Reads and own work of a queue pair take turns, also within sixteen segments") {
  Requester requester;
  fill_ring(requester);
  requester.qps[kQpn] = sending_qp(0, 20);
  requester.reads[kQpn] = {read_of(20 * kMtu), read_of(1)};
  std::vector<bool> responses;
  for (int turn = 0; turn < 5; ++turn) {
    const std::size_t before = requester.submitted.size();
    requester.turn(kQpn);
    REQUIRE(requester.submitted.size() > before);
    responses.push_back(requester.submitted[before].tag.kind == kTxKindResponse);
  }
  for (std::size_t i = 1; i < responses.size(); ++i) CHECK(responses[i] != responses[i - 1]);
}

// ---- Reads that are refused

// The terminate message about read_of(): its code, and the whole request.
void check_terminate(const TxDesc& desc, uint16_t code) {
  CHECK_FALSE(desc.unsent);
  CHECK(desc.untagged);
  CHECK(desc.node == 0x17);
  CHECK(desc.dst_qpn == 0x345678);
  CHECK(desc.tag.kind == kTxKindTerminate);
  CHECK(exrnic_ddp_untagged_opcode(desc.ddp.data()) == EXRNIC_RDMAP_OPCODE_TERMINATE);
  CHECK(exrnic_ddp_untagged_qn(desc.ddp.data()) == EXRNIC_TERMINATE_QN);
  CHECK(desc.inlined);
  REQUIRE(desc.length == 52);
  const uint8_t* body = desc.inline_data.data();
  CHECK(exrnic_terminate_code(body) == code);
  CHECK(exrnic_terminate_m(body) == 1);
  CHECK(exrnic_terminate_d(body) == 1);
  CHECK(exrnic_terminate_r(body) == 1);
  CHECK(exrnic_terminate_segment_length(body) == 46);
  CHECK(exrnic_ddp_untagged_opcode(body + 6) == EXRNIC_RDMAP_OPCODE_READ_REQUEST);
  CHECK(exrnic_ddp_untagged_last(body + 6) == 1);
  CHECK(exrnic_ddp_untagged_qn(body + 6) == EXRNIC_READ_QN);
  CHECK(exrnic_ddp_untagged_msn(body + 6) == 0x01020304);
  const Read read = read_of(0);
  CHECK(exrnic_read_request_source_stag(body + 24) ==
        exrnic_read_request_source_stag(read.request.data()));
}

TEST_CASE("A read that firmware refuses is answered by a terminate message with its code") {
  Requester requester;
  connect(requester);
  Read read = read_of(3 * kMtu);
  read.answer = kAnswerRefused;
  read.firmware = true;
  read.code = EXRNIC_TERM_CODE_RDMAP_BOUNDS;
  requester.reads[kQpn] = {read};
  requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 1);
  check_terminate(requester.submitted[0], EXRNIC_TERM_CODE_RDMAP_BOUNDS);
  CHECK(requester.xlate.requests.empty());
  CHECK(status(requester).state == EXRNIC_QP_STATE_ERROR);
  CHECK(requester.reads[kQpn].empty());
}

// The peer has sent read_of(), and it was refused as it came.
RefusedRequest refused_read() {
  const Read read = read_of(3 * kMtu);
  return {true, EXRNIC_TERM_CODE_UNTAGGED_MO, false, read.msn, 0x0a0b0c0d, read.request};
}

TEST_CASE("A request that was refused is told behind the answers to those before it") {
  const auto state = GENERATE(EXRNIC_QP_STATE_RTR, EXRNIC_QP_STATE_RTS);
  Requester requester;
  connect(requester, state);
  requester.reads[kQpn] = {read_of(64)};
  requester.qps[kQpn].refused = refused_read();
  requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 1);
  CHECK(requester.submitted[0].tag.kind == kTxKindResponse);
  CHECK(requester.statuses.empty());
  SECTION("of hardware") {}
  SECTION("of firmware") {
    requester.dut().queues_punt_count_i = 1;
    requester.turn(kQpn);
    CHECK(requester.submitted.size() == 1);
    requester.dut().queues_punt_count_i = 0;
  }
  requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 2);
  const uint8_t* body = requester.submitted[1].inline_data.data();
  CHECK(requester.submitted[1].tag.kind == kTxKindTerminate);
  CHECK(exrnic_terminate_code(body) == EXRNIC_TERM_CODE_UNTAGGED_MO);
  CHECK(exrnic_terminate_segment_length(body) == 46);
  CHECK(exrnic_ddp_untagged_opcode(body + 6) == EXRNIC_RDMAP_OPCODE_READ_REQUEST);
  CHECK(exrnic_ddp_untagged_msn(body + 6) == 0x01020304);
  CHECK(exrnic_ddp_untagged_mo(body + 6) == 0x0a0b0c0d);
  CHECK(status(requester).state == EXRNIC_QP_STATE_ERROR);
  CHECK(status(requester).told);
  requester.turn(kQpn);
  CHECK(requester.submitted.size() == 2);
}

TEST_CASE("A refused request that wants its own header quoted whole is quoted whole") {
  Requester requester;
  connect(requester);
  requester.qps[kQpn].refused = refused_read();
  requester.qps[kQpn].refused.code = EXRNIC_TERM_CODE_RDMAP_BOUNDS;
  requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 1);
  check_terminate(requester.submitted[0], EXRNIC_TERM_CODE_RDMAP_BOUNDS);
}

TEST_CASE("In ERROR the peer of a refused request hears that the queue pair has gone, once") {
  Requester requester;
  connect(requester, EXRNIC_QP_STATE_ERROR);
  requester.qps[kQpn].refused = refused_read();
  for (int turn = 0; turn < 2; ++turn) requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 1);
  check_terminate(requester.submitted[0], EXRNIC_TERM_CODE_STREAM);
}

TEST_CASE("A queue pair of which firmware has lost requests tells its peer, and quotes nothing") {
  Requester requester;
  connect(requester);
  requester.dut().lost_i = 1;
  requester.reads[kQpn] = {read_of(64)};
  requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 1);
  const uint8_t* body = requester.submitted[0].inline_data.data();
  CHECK(requester.submitted[0].tag.kind == kTxKindTerminate);
  CHECK(exrnic_terminate_code(body) == EXRNIC_TERM_CODE_STREAM);
  CHECK(exrnic_terminate_d(body) == 0);
  CHECK(status(requester).told);
}

TEST_CASE("An answer to an atomic goes to its own queue, numbered apart from messages") {
  Requester requester;
  connect(requester);
  requester.qps[kQpn].sq.atomic_msn = 41;
  Read read = read_of(0);
  read.request = {1, 2, 3, 4, 11, 12, 13, 14, 15, 16, 17, 18};
  read.answer = kAnswerAtomic;
  read.atomic = true;
  requester.reads[kQpn] = {read};
  requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 1);
  const TxDesc& desc = requester.submitted[0];
  CHECK(desc.untagged);
  CHECK(desc.inlined);
  CHECK(desc.tag.kind == kTxKindResponse);
  CHECK(exrnic_ddp_untagged_opcode(desc.ddp.data()) == EXRNIC_RDMAP_OPCODE_ATOMIC_RESPONSE);
  CHECK(exrnic_ddp_untagged_qn(desc.ddp.data()) == EXRNIC_ATOMIC_QN);
  CHECK(exrnic_ddp_untagged_msn(desc.ddp.data()) == 42);
  CHECK(exrnic_ddp_untagged_last(desc.ddp.data()) == 1);
  CHECK(desc.length == EXRNIC_ATOMIC_RESPONSE_BYTES);
  for (unsigned i = 0; i < EXRNIC_ATOMIC_RESPONSE_BYTES; ++i)
    CHECK(desc.inline_data[i] == read.request[i]);
  CHECK(requester.qps[kQpn].sq.atomic_msn == 42);
  CHECK(requester.events[EXRNIC_COUNTER_ATOMICS_SERVED] == 1);
  CHECK(requester.events[EXRNIC_COUNTER_READS_SERVED] == 0);
  CHECK(requester.events[EXRNIC_COUNTER_WQES] == 0);
}

TEST_CASE("A read that its region refuses is answered by a terminate message, then ERROR") {
  const auto [verdict, code] =
      GENERATE(table<XlateStatus, uint16_t>({{kXlateStag, EXRNIC_TERM_CODE_RDMAP_STAG},
                                             {kXlateStream, EXRNIC_TERM_CODE_RDMAP_STREAM},
                                             {kXlateAccess, EXRNIC_TERM_CODE_ACCESS},
                                             {kXlateWrap, EXRNIC_TERM_CODE_RDMAP_WRAP},
                                             {kXlateBounds, EXRNIC_TERM_CODE_RDMAP_BOUNDS},
                                             {kXlateMemory, EXRNIC_TERM_CODE_STREAM}}));
  CAPTURE(int{verdict});
  Requester requester;
  connect(requester);
  requester.reads[kQpn] = {read_of(3 * kMtu), read_of(1)};
  requester.region = [verdict = verdict](const XlateReq&) { return XlateRsp{verdict, 0, 0}; };
  requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 1);
  check_terminate(requester.submitted[0], code);
  REQUIRE(requester.statuses.size() == 1);
  CHECK(status(requester).state == EXRNIC_QP_STATE_ERROR);
  CHECK(status(requester).told);
  CHECK_FALSE(status(requester).fault);
  CHECK(requester.qp_errors == 1);
  CHECK(requester.reads[kQpn].size() == 1);
  CHECK(requester.wakes.size() == 1);
  CHECK(requester.events[EXRNIC_COUNTER_READS_SERVED] == 0);
}

TEST_CASE("A slot that awaits payload goes back when the rest of its segment is refused") {
  Requester requester;
  connect(requester);
  requester.reads[kQpn] = {read_of(EXRNIC_MTU_MAX)};
  requester.dut().settings_mtu_i = EXRNIC_MTU_MAX;
  exrnic_read_request_set_source_to(requester.reads[kQpn][0].request.data(), kSource + 100);
  int looks = 0;
  requester.region = [&](const XlateReq& request) {
    return ++looks == 1 ? translate_in_place(request) : XlateRsp{kXlateMemory, 0, 0};
  };
  requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 2);
  CHECK(requester.submitted[0].unsent);
  CHECK(requester.submitted[0].status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(requester.submitted[0].tag.kind == kTxKindResponse);
  CHECK(requester.submitted[0].length == EXRNIC_MTU_MAX - 100);
  CHECK(requester.submitted[0].slot != requester.submitted[1].slot);
  check_terminate(requester.submitted[1], EXRNIC_TERM_CODE_STREAM);
  CHECK(requester.reads[kQpn].empty());
  CHECK(status(requester).state == EXRNIC_QP_STATE_ERROR);
}

TEST_CASE("What others write into the status meanwhile is kept") {
  for (uint32_t seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    Requester requester(seed);
    connect(requester);
    requester.reads[kQpn] = {read_of(1)};
    requester.region = [](const XlateReq&) { return XlateRsp{kXlateStag, 0, 0}; };
    uint16_t writes = 0;
    uint16_t writes_before = 0;
    requester.others_status_write = [&] {
      if (requester.submitted.empty()) return;
      ++writes;
      if (requester.statuses.empty()) ++writes_before;
      QpStatus& written = requester.qps[kQpn].status;
      written.state = EXRNIC_QP_STATE_ERROR;
      written.fault = true;
      ++written.fault_detail;
    };
    requester.turn(kQpn);
    CHECK(status(requester).told);
    CHECK(status(requester).state == EXRNIC_QP_STATE_ERROR);
    CHECK(status(requester).fault_detail == writes);
    CHECK(requester.qp_errors == (writes_before == 0));
  }
}

// ---- ERROR

TEST_CASE("In ERROR a peer with reads is told once, and its reads are dropped one a turn") {
  Requester requester;
  connect(requester, EXRNIC_QP_STATE_ERROR);
  requester.qps[kQpn].status.answer_lost = true;
  requester.reads[kQpn] = {read_of(5, 3), read_of(6), read_of(7)};
  requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 1);
  check_terminate(requester.submitted[0], EXRNIC_TERM_CODE_STREAM);
  CHECK(status(requester).told);
  CHECK_FALSE(status(requester).answer_lost);
  CHECK(requester.qp_errors == 0);
  CHECK(requester.reads[kQpn].size() == 2);
  for (int turn = 0; turn < 2; ++turn) requester.turn(kQpn);
  CHECK(requester.reads[kQpn].empty());
  CHECK(requester.submitted.size() == 1);
  CHECK(requester.wakes.size() == 3);
  CHECK(requester.flushes.empty());
}

TEST_CASE("A peer that is told by the responder while a slot is awaited is not told again") {
  Requester requester;
  connect(requester, EXRNIC_QP_STATE_ERROR);
  requester.reads[kQpn] = {read_of(5)};
  requester.slots_left = false;
  requester.begin_turn(kQpn);
  requester.wait_for("alloc", kLimit, [&] { return requester.dut().transmit_alloc_ready_o != 0; });
  requester.qps[kQpn].status.told = true;
  requester.slots_left = true;
  requester.rest();
  REQUIRE(requester.submitted.size() == 1);
  CHECK(requester.submitted[0].unsent);
  CHECK(requester.reads[kQpn].size() == 1);
  requester.turn(kQpn);
  CHECK(requester.submitted.size() == 1);
  CHECK(requester.reads[kQpn].empty());
}

TEST_CASE("In ERROR a peer that waits for a lost answer is told, without a quotation") {
  Requester requester;
  connect(requester, EXRNIC_QP_STATE_ERROR);
  requester.qps[kQpn].status.answer_lost = true;
  requester.qps[kQpn].status.fault = true;
  requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 1);
  const TxDesc& desc = requester.submitted[0];
  CHECK(desc.tag.kind == kTxKindTerminate);
  REQUIRE(desc.length == 6);
  for (unsigned i = 0; i < 6; ++i)
    CHECK(desc.inline_data[i] ==
          (i == 0 ? EXRNIC_TERM_CODE_STREAM >> 8 : (i == 1 ? EXRNIC_TERM_CODE_STREAM & 0xff : 0)));
  CHECK(status(requester).told);
  CHECK(status(requester).fault);
  CHECK_FALSE(status(requester).answer_lost);
  CHECK(requester.wakes.size() == 1);
  CHECK(requester.reads[kQpn].empty());
}

TEST_CASE(
    "A read whose queue pair goes to ERROR while a slot is awaited is left to its next turn") {
  Requester requester;
  connect(requester);
  requester.reads[kQpn] = {read_of(3 * kMtu)};
  requester.begin_turn(kQpn);
  requester.wait_for("a segment", kLimit, [&] { return !requester.submitted.empty(); });
  requester.slots_left = false;
  requester.wait_for("alloc", kLimit, [&] { return requester.dut().transmit_alloc_ready_o != 0; });
  requester.qps[kQpn].status.state = EXRNIC_QP_STATE_ERROR;
  const bool told = GENERATE(false, true);
  requester.qps[kQpn].status.told = told;
  requester.slots_left = true;
  requester.rest();
  REQUIRE(requester.submitted.size() == 2);
  CHECK(requester.submitted[1].unsent);
  CHECK(requester.wakes.size() == 1);
  requester.turn(kQpn);
  CHECK(requester.reads[kQpn].empty());
  CHECK(requester.submitted.size() == (told ? 2 : 3));
}

}  // namespace
}  // namespace exrnic::testing
