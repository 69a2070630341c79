// SPDX-License-Identifier: BSD-2-Clause
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include "rtl-model/tiles/work/completer/completer_bench.h"

namespace exrnic::testing {
namespace {

TEST_CASE("An acknowledged work request becomes a completion with all its fields") {
  Completer completer;
  connect(completer);
  completer.end(done(0xfffe));
  REQUIRE(completer.writes.size() == 1);
  const exrnic_cqe cqe = completer.cqe(0);
  CHECK(cqe.timestamp == kTime);
  CHECK(cqe.wqe_index == 0xfffe);
  CHECK(cqe.byte_length == 0x1234);
  CHECK(cqe.imm_data == 0);
  CHECK(cqe.qpn == kQpn);
  CHECK(cqe.detail == 0);
  CHECK(cqe.opcode == EXRNIC_WQE_OPCODE_PUSH);
  CHECK(cqe.status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(cqe.phase == 1);
  CHECK(completer.writes[0].address == kPageFrames);
  CHECK(completer.writes[0].length == sizeof(exrnic_cqe));
  CHECK_FALSE(completer.writes[0].frame_done);
  REQUIRE(completer.xlate.requests.size() == 1);
  CHECK(completer.xlate.requests[0].ring);
  CHECK(completer.xlate.requests[0].pbl_address == kPbl);
  CHECK(completer.events[EXRNIC_COUNTER_CQES] == 1);
  CHECK(completer.events.sum() == 1);
}

TEST_CASE("Success without the signaled flag, and segments before the last, leave no completion") {
  Completer completer;
  connect(completer);
  TxDone quiet = done(0);
  quiet.tag.signaled = false;
  completer.end(quiet);
  completer.end(segment(EXRNIC_CQE_STATUS_SUCCESS));
  CHECK(completer.writes.empty());
  CHECK(completer.wakes.empty());
}

TEST_CASE("The phase is one in the first round of the ring and changes with every round") {
  Completer completer;
  connect(completer);
  for (uint32_t i = 0; i < 5 * kEntries; ++i) {
    completer.end(done(static_cast<uint16_t>(i)));
    const DmaWriteCmd& write = completer.writes.at(i);
    CAPTURE(i);
    CHECK(write.address == kPageFrames + i % kEntries * sizeof(exrnic_cqe));
    CHECK(completer.cqe(i).phase == (i / kEntries % 2 == 0));
    completer.ring(bell(i + 1));
  }
}

TEST_CASE("A completion for a full queue is lost, counted, and reported; the others stay") {
  Completer completer;
  connect(completer);
  for (uint16_t i = 0; i < kEntries + 2; ++i) completer.end(done(i));
  CHECK(completer.writes.size() == kEntries);
  CHECK(completer.cq_errors == 2);
  CHECK(completer.overrun == kCqn);
  CHECK(completer.events[EXRNIC_COUNTER_CQ_OVERRUNS] == 2);

  completer.ring(bell(1));
  completer.end(done(0x55));
  CHECK(completer.writes.size() == kEntries + 1);
  CHECK(completer.cqe(kEntries).phase == 0);
  CHECK(completer.writes.back().address == kPageFrames);
}

TEST_CASE("A completion for a queue that does not exist, or whose PBL is unreadable, is lost") {
  Completer completer;
  connect(completer);
  SECTION("unreadable") {
    completer.xlate.answer = [](const XlateReq&) { return XlateRsp{kXlateMemory, 0, 0}; };
  }
  SECTION("destroyed") {
    CqConfig gone = small_cq();
    gone.valid = false;
    completer.create_cq(kCqn, gone);
  }
  completer.end(done(0));
  CHECK(completer.writes.empty());
  CHECK(completer.cq_errors == 1);
  CHECK(completer.overrun == kCqn);
  CHECK(completer.qps[kQpn].status.state == EXRNIC_QP_STATE_ERROR);
}

TEST_CASE("Each work request that ends is counted, and work that waits for the last is woken") {
  Completer completer;
  connect(completer);
  Qp& qp = completer.qps[kQpn];
  qp.sq.issued = 1;
  qp.ended.count = 0xfffe;  // three are under way
  qp.sq.consumer = 7;
  qp.sq_producer = 8;  // and one waits
  completer.end(segment(EXRNIC_CQE_STATUS_SUCCESS));
  CHECK(qp.ended.count == 0xfffe);
  TxDone quiet = done(0);
  quiet.tag.signaled = false;
  completer.end(quiet);
  CHECK(qp.ended.count == 0xffff);
  completer.end(done(1));
  CHECK(qp.ended.count == 0);
  CHECK(completer.wakes.empty());
  completer.end(done(2));
  CHECK(qp.ended.count == 1);
  CHECK(completer.wakes == std::vector<unsigned>{kQpn});
  qp.sq.issued = 2;
  qp.sq_producer = 7;  // nothing waits
  completer.end(done(3));
  CHECK(qp.ended.count == 2);
  CHECK(completer.wakes.size() == 1);
}

TEST_CASE("An end that comes before the requester has counted its work request wakes too") {
  Completer completer;
  connect(completer);
  Qp& qp = completer.qps[kQpn];
  qp.sq_producer = 1;
  completer.end(done(0));
  CHECK(qp.ended.count == 1);
  CHECK(completer.wakes == std::vector<unsigned>{kQpn});
}

TEST_CASE("An armed queue fires its vector once, behind the next completion") {
  Completer completer;
  connect(completer);
  completer.ring(bell(0, true));
  CHECK(completer.writes.empty());
  completer.end(done(0));
  completer.end(done(1));
  REQUIRE(completer.writes.size() == 3);
  CHECK(completer.writes[0].kind == kDmaWriteInline);
  CHECK(completer.writes[1].kind == kDmaWriteMsix);
  CHECK(completer.writes[1].address == kVector);
  CHECK(completer.writes[2].kind == kDmaWriteInline);
}

TEST_CASE("Arming while a completion is pending fires at once, and not again") {
  Completer completer;
  connect(completer);
  completer.end(done(0));
  completer.end(done(1));
  completer.ring(bell(1, true));
  REQUIRE(completer.writes.size() == 3);
  CHECK(completer.writes[2].kind == kDmaWriteMsix);
  CHECK(completer.writes[2].address == kVector);
  completer.end(done(2));
  CHECK(completer.writes.size() == 4);
}

TEST_CASE("A doorbell that only moves the consumer leaves a queue armed") {
  Completer completer;
  connect(completer);
  completer.ring(bell(0, true));
  completer.ring(bell(0));
  completer.end(done(0));
  REQUIRE(completer.writes.size() == 2);
  CHECK(completer.writes[1].kind == kDmaWriteMsix);
}

TEST_CASE("A doorbell whose consumer lies behind the one before takes back nothing, and arms") {
  Completer completer;
  connect(completer);
  for (uint16_t i = 0; i < kEntries; ++i) completer.end(done(i));
  completer.ring(bell(3));
  completer.ring(bell(0, true));
  CHECK(completer.events[EXRNIC_COUNTER_DOORBELLS] == 2);
  REQUIRE(completer.writes.size() == kEntries + 1);
  CHECK(completer.writes.back().kind == kDmaWriteMsix);
  for (uint16_t i = 0; i < 3; ++i) completer.end(done(kEntries + i));
  CHECK(completer.cq_errors == 0);
  completer.end(done(kEntries + 3));
  CHECK(completer.cq_errors == 1);
}

TEST_CASE("A consumer that goes back while an end waits for its place makes no overrun") {
  Completer completer;
  connect(completer);
  for (uint16_t i = 0; i < kEntries; ++i) completer.end(done(i));
  completer.ring(bell(1));
  completer.xlate.silent = true;
  pack(completer.dut().done_i, done(kEntries));
  completer.dut().done_valid_i = 1;
  completer.wait_for("done_ready_o", kLimit, [&] { return completer.dut().done_ready_o != 0; });
  completer.cycle();
  completer.dut().done_valid_i = 0;
  for (int i = 0; i < 20; ++i) completer.cycle();
  pack(completer.dut().bell_data_i, bell(0));
  completer.dut().bell_valid_i = 1;
  completer.wait_for("bell_ready_o", kLimit, [&] { return completer.dut().bell_ready_o != 0; });
  completer.cycle();
  completer.dut().bell_valid_i = 0;
  completer.xlate.silent = false;
  completer.rest();
  CHECK(completer.writes.size() == kEntries + 1);
  completer.end(done(kEntries + 1));
  CHECK(completer.cq_errors == 1);
}

TEST_CASE("Doorbells of another page, of no queue, or beyond the producer are refused") {
  Completer completer;
  connect(completer);
  for (uint16_t i = 0; i < kEntries; ++i) completer.end(done(i));
  CqDoorbell wrong = bell(1, true);
  wrong.page = kPage + 1;
  completer.ring(wrong);
  wrong = bell(1, true);
  wrong.cqn = kCqn + 1;  // was never created
  completer.ring(wrong);
  wrong.cqn = EXRNIC_MAX_CQ + kCqn;
  completer.ring(wrong);
  completer.ring(bell(kEntries + 1, true));
  completer.ring(bell(0xffffffff, true));  // more than a ring behind the producer
  CqConfig gone = small_cq();
  gone.valid = false;
  completer.create_cq(kRecvCqn, gone);
  wrong = bell(0, true);
  wrong.cqn = kRecvCqn;
  completer.ring(wrong);
  CHECK(completer.writes.size() == kEntries);  // nobody was interrupted
  CHECK(completer.events[EXRNIC_COUNTER_DOORBELLS_REFUSED] == 6);
  CHECK(completer.events[EXRNIC_COUNTER_DOORBELLS] == 0);
  completer.end(done(0));
  CHECK(completer.cq_errors == 1);  // nor did anything make room
  CHECK(completer.overrun == kCqn);
}

TEST_CASE("A doorbell and an end that come together are both served, the doorbell first") {
  Completer completer;
  connect(completer);
  pack(completer.dut().done_i, done(0));
  completer.dut().done_valid_i = 1;
  pack(completer.dut().bell_data_i, bell(0, true));
  completer.dut().bell_valid_i = 1;
  completer.settle();
  CHECK(completer.dut().bell_ready_o);
  CHECK_FALSE(completer.dut().done_ready_o);
  completer.ring(bell(0, true));
  completer.end(done(0));
  CHECK(completer.writes.size() == 2);  // the arm was there
}

TEST_CASE("A quiesced completer takes nothing but doorbells, and goes on where it stopped") {
  Completer completer;
  connect(completer);
  completer.dut().quiesce_i = 1;
  pack(completer.dut().done_i, done(0));
  pack(completer.dut().bell_data_i, bell(0, true));
  completer.dut().done_valid_i = completer.dut().bell_valid_i = 1;
  for (int i = 0; i < 20; ++i) completer.cycle();
  completer.ring(bell(0, true));
  CHECK(completer.dut().quiescent_o);
  CHECK(completer.events[EXRNIC_COUNTER_DOORBELLS] > 1);
  CHECK(completer.writes.empty());
  completer.dut().quiesce_i = 0;
  completer.end(done(0));
  CHECK(completer.writes.size() == 2);
}

// So that writes come to an end, whatever processes ring.
TEST_CASE("What is due to fire at a doorbell of a quiesced completer fires behind that, once") {
  Completer completer;
  connect(completer);
  completer.end(done(0));
  REQUIRE(completer.writes.size() == 1);
  completer.dut().quiesce_i = 1;
  for (int i = 0; i < 5; ++i) {
    completer.ring(bell(0, true));
    CHECK(completer.dut().settled_o);
  }
  completer.pass(100);
  CHECK(completer.interrupts() == 0);
  CHECK_FALSE(completer.dut().idle_o);
  completer.dut().quiesce_i = 0;
  completer.pass(100);
  CHECK(completer.interrupts() == 1);
  CHECK(completer.dut().idle_o);
  completer.end(done(1));
  CHECK(completer.interrupts() == 1);  // it was disarmed
}

TEST_CASE(
    "A completer is settled when it rests, and with a doorbell in hand, but not with an end") {
  Completer completer;
  connect(completer);
  completer.end(done(0));
  CHECK(completer.dut().quiescent_o);
  CHECK(completer.dut().settled_o);
  completer.dut().quiesce_i = 1;
  pack(completer.dut().bell_data_i, bell(0, true));
  completer.dut().bell_valid_i = 1;
  completer.wait_for("bell_ready_o", kLimit, [&] { return completer.dut().bell_ready_o != 0; });
  completer.cycle();
  completer.dut().bell_valid_i = 0;
  completer.settle();
  CHECK_FALSE(completer.dut().quiescent_o);
  CHECK(completer.dut().settled_o);
  completer.dut().quiesce_i = 0;
  completer.rest();
  pack(completer.dut().done_i, done(1));
  completer.dut().done_valid_i = 1;
  completer.wait_for("done_ready_o", kLimit, [&] { return completer.dut().done_ready_o != 0; });
  completer.cycle();
  completer.dut().done_valid_i = 0;
  completer.settle();
  CHECK_FALSE(completer.dut().settled_o);
}

TEST_CASE("Who has taken all before the core goes on is not interrupted for what it took") {
  Completer completer;
  connect(completer);
  completer.end(done(0));
  completer.dut().quiesce_i = 1;
  completer.ring(bell(0, true));
  completer.ring(bell(1, true));
  completer.dut().quiesce_i = 0;
  completer.pass(100);
  CHECK(completer.interrupts() == 0);
  completer.end(done(1));
  CHECK(completer.interrupts() == 1);
}

// On the bus, what the page list is read by may stand behind them.
TEST_CASE("Doorbells are taken while an end waits for the place of its completion") {
  const int moment = GENERATE(Catch::Generators::range(0, 24));
  INFO("the first one comes " << moment << " cycles after the end");
  Completer completer(static_cast<uint32_t>(moment) + 1);
  connect(completer);
  completer.xlate.silent = true;
  pack(completer.dut().done_i, done(0));
  completer.dut().done_valid_i = 1;
  completer.wait_for("done_ready_o", kLimit, [&] { return completer.dut().done_ready_o != 0; });
  completer.cycle();
  completer.dut().done_valid_i = 0;
  for (int i = 0; i < moment; ++i) completer.cycle();
  CqDoorbell wild = bell(0, false);
  wild.cqn = EXRNIC_MAX_CQ;
  for (const CqDoorbell& next : {bell(0, true), wild, bell(0, false)}) {
    pack(completer.dut().bell_data_i, next);
    completer.dut().bell_valid_i = 1;
    completer.wait_for("bell_ready_o", kLimit, [&] { return completer.dut().bell_ready_o != 0; });
    completer.cycle();
    completer.dut().bell_valid_i = 0;
  }
  CHECK(completer.writes.empty());
  CHECK_FALSE(completer.dut().settled_o);
  completer.xlate.silent = false;
  completer.rest();
  CHECK(completer.xlate.requests.size() == 1);
  REQUIRE(completer.writes.size() == 2);  // the arm was there
  CHECK(completer.cqe(0).qpn == kQpn);
  CHECK(completer.writes[1].kind == kDmaWriteMsix);
  CHECK(completer.events[EXRNIC_COUNTER_DOORBELLS] == 2);
  CHECK(completer.events[EXRNIC_COUNTER_DOORBELLS_REFUSED] == 1);
}

TEST_CASE("A completion queue that is created again starts empty, disarmed, in its first phase") {
  Completer completer;
  connect(completer);
  for (uint16_t i = 0; i < kEntries; ++i) completer.end(done(i));
  completer.ring(bell(kEntries, true));
  completer.create_cq(kCqn, CqConfig{});
  completer.create_cq(kCqn, small_cq());
  completer.end(done(9));
  REQUIRE(completer.writes.size() == kEntries + 1);
  CHECK(completer.cqe(kEntries).phase == 1);
  CHECK(completer.writes.back().address == kPageFrames);
}

TEST_CASE("The driver's look at a completion queue is answered one cycle later, and stays") {
  Completer completer;
  connect(completer);
  const auto seen = [&] { return unpack<CqConfig>(completer.dut().command_cq_now_o); };
  completer.look_at(kCqn);
  CHECK(seen().pbl == kPbl);
  completer.look_at(kRecvCqn);
  CHECK(seen().pbl == kRecvPbl);
  completer.end(done(0));
  CHECK(seen().pbl == kRecvPbl);
  completer.create_cq(kRecvCqn, CqConfig{});
  completer.look_at(kRecvCqn);
  CHECK(!seen().valid);
}

TEST_CASE("The driver's look tells how far a completion queue is") {
  Completer completer;
  connect(completer);
  const auto seen = [&] {
    completer.look_at(kCqn);
    return std::pair<uint32_t, uint32_t>(completer.dut().command_cq_producer_o,
                                         completer.dut().command_cq_unread_o);
  };
  CHECK(seen() == std::pair(0u, 0u));
  for (uint16_t i = 0; i < 3; ++i) completer.end(done(i));
  CHECK(seen() == std::pair(3u, 3u));
  completer.ring(bell(2));
  CHECK(seen() == std::pair(3u, 1u));
  completer.create_cq(kCqn, small_cq());
  CHECK(seen() == std::pair(0u, 0u));
}

// Entry i stands at i modulo the size of the ring of its time, with the phase of that ring.
TEST_CASE("Completions go on in a new ring, in its rounds, and nothing else of the queue changes") {
  Completer completer;
  connect(completer);
  uint32_t index = 0;
  const auto complete = [&](const CqConfig& cq) {
    const std::size_t at = completer.writes.size();
    completer.end(done(static_cast<uint16_t>(index)));
    CHECK(completer.cqe(at).wqe_index == index);
    CHECK(completer.cqe(at).phase == !(index >> cq.log_entries & 1));
    const uint32_t entry = index++ & ((1u << cq.log_entries) - 1);
    CHECK(completer.xlate.requests.back().pbl_address == cq.pbl);
    CHECK(completer.xlate.requests.back().to == entry * sizeof(exrnic_cqe));
    completer.ring(bell(index));
  };
  CqConfig cq = small_cq();
  for (int i = 0; i < 7; ++i) complete(cq);
  for (const uint8_t log : {4, 1, 3, 2, 5}) {
    cq.log_entries = log;
    cq.pbl += 0x1000;
    completer.resize_cq(kCqn, cq);
    for (int i = 0; i < 37; ++i) complete(cq);
  }
  CHECK(completer.cq_errors == 0);
}

TEST_CASE("A queue has as much room as its new ring has entries that nobody has to take") {
  Completer completer;
  connect(completer);
  for (uint16_t i = 0; i < 3; ++i) completer.end(done(i));
  CqConfig cq = small_cq();
  uint16_t room = 0;
  SECTION("more") { cq.log_entries = 3, room = 5; }
  SECTION("less") { completer.ring(bell(1)), cq.log_entries = 1; }
  completer.resize_cq(kCqn, cq);
  for (uint16_t i = 0; i < room; ++i) completer.end(done(3 + i));
  CHECK(completer.cq_errors == 0);
  completer.end(done(9));
  CHECK(completer.cq_errors == 1);
}

TEST_CASE("A process that rings all the time holds no completion up") {
  Completer completer;
  connect(completer);
  pack(completer.dut().bell_data_i, bell(0));
  completer.dut().bell_valid_i = 1;
  completer.cycle();
  pack(completer.dut().done_i, done(0));
  completer.dut().done_valid_i = 1;
  constexpr int kSoon = 10;
  int waited = 0;
  for (completer.settle(); !completer.dut().done_ready_o; completer.settle()) {
    REQUIRE(++waited < kSoon);
    completer.cycle();
  }
}

}  // namespace
}  // namespace exrnic::testing
