// SPDX-License-Identifier: BSD-2-Clause
// Turns: what they take, when they end, what happens in ERROR, and rest.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "rtl-model/tiles/work/requester/requester_bench.h"

namespace exrnic::testing {
namespace {

TEST_CASE("While others wait, a turn takes up to eight slots, across page and ring ends") {
  const auto [consumer, posted] = GENERATE(table<uint16_t, uint16_t>(
      {{0, 3}, {0, 20}, {60, 20}, {250, 20}, {0xfffe, 20}, {0xfffc, 3}, {0xfffe, 3}}));
  CAPTURE(consumer, posted);
  Requester requester;
  requester.dut().queues_others_wait_i = 1;
  fill_ring(requester);
  requester.qps[kQpn] = sending_qp(consumer, posted);
  std::size_t turns = 0;
  for (std::size_t taken = 0; taken < posted; taken = requester.submitted.size()) {
    requester.turn(kQpn);
    CHECK(requester.submitted.size() > taken);
    CHECK(requester.submitted.size() <= taken + 8);
    CHECK(requester.wakes.size() == ++turns);  // its next turn, behind the others
  }
  REQUIRE(requester.submitted.size() == posted);
  for (uint16_t i = 0; i < posted; ++i) {
    const auto index = static_cast<uint16_t>(consumer + i);
    CHECK(requester.submitted[i].tag.wqe_index == index);
    CHECK(remote_stag(requester.submitted[i]) == index % (1u << kLog));
  }
  CHECK(requester.qps[kQpn].sq.consumer == static_cast<uint16_t>(consumer + posted));
}

TEST_CASE("A turn does not begin while its peer gets no slots, and comes again") {
  Requester requester;
  fill_ring(requester);
  requester.qps[kQpn] = sending_qp(0, 4);
  requester.quota_start = false;
  requester.turn(kQpn);
  CHECK(requester.submitted.empty());
  CHECK(requester.wqe_reads.empty());
  CHECK(requester.wakes == std::vector<unsigned>{kQpn});
  requester.quota_start = true;
  requester.turn(kQpn);
  CHECK(requester.submitted.size() == 4);
}

// What a queue pair looks like whose message found no receive: `behind` work requests were sent
// behind it, all of them have ended.
Qp refused_qp(uint16_t consumer, uint16_t behind, uint8_t retry) {
  Qp qp = sending_qp(static_cast<uint16_t>(consumer + 1 + behind), 0);
  qp.cfg.rnr_retry = retry;
  qp.status.rnr = qp.status.exact = true;
  qp.ended = {static_cast<uint16_t>(7 + behind), consumer, 3};
  qp.sq.issued = qp.ended.count;
  qp.sq.send_msn = 4u + behind;
  return qp;
}

TEST_CASE("A message that found no receive: the send queue goes back, pauses, and asks alone") {
  Requester requester;
  requester.ring[0] = work(EXRNIC_WQE_OPCODE_SEND, 2 * kMtu);
  requester.ring[sizeof(exrnic_wqe)] = push(16);
  Qp& qp = requester.qps[kQpn] = refused_qp(0, 1, 1);
  requester.turn(kQpn);
  CHECK(qp.sq.consumer == 0);
  CHECK(qp.sq.send_msn == 3);
  CHECK_FALSE(qp.status.rnr);
  CHECK(qp.status.state == EXRNIC_QP_STATE_RTS);
  CHECK(requester.qp_errors == 0);
  CHECK(requester.submitted.empty());
  requester.dut().queues_paused_i = 1;
  requester.turn(kQpn);
  CHECK(requester.submitted.empty());
  requester.dut().queues_paused_i = 0;
  requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 1);
  CHECK(requester.submitted[0].tag.kind == kTxKindProbe);
  CHECK(exrnic_ddp_untagged_msn(requester.submitted[0].ddp.data()) == 4);
  CHECK(qp.sq.issued == 9);
  requester.turn(kQpn);  // it has not ended yet
  CHECK(requester.submitted.size() == 1);
  qp.ended.count = 9;
  requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 3);
  CHECK(requester.submitted[1].tag.kind == kTxKindLast);
  CHECK(exrnic_ddp_untagged_mo(requester.submitted[1].ddp.data()) == kMtu);
  CHECK(exrnic_ddp_untagged_msn(requester.submitted[1].ddp.data()) == 4);
  CHECK(requester.submitted[2].tag.wqe_index == 1);
}

// A message without credit, behind `under_way` work requests.
Qp limited_qp(uint16_t under_way) {
  Qp qp = sending_qp(0, 1);
  qp.sq.send_msn = 0x7fff;
  qp.sq.issued = 5 + under_way;
  qp.ended.count = 5;
  return qp;
}
void set_limit(Requester& requester, uint16_t limit) {
  requester.dut().queues_credit_known_i = 1;
  requester.dut().queues_credit_limit_i = limit;
}

TEST_CASE("A message beyond the limit waits, whatever it is; a write does not") {
  const auto opcode = GENERATE(EXRNIC_WQE_OPCODE_SEND, EXRNIC_WQE_OPCODE_SEND_IMM,
                               EXRNIC_WQE_OPCODE_SEND_INVALIDATE, EXRNIC_WQE_OPCODE_PUSH_IMM);
  for (const bool known : {false, true}) {
    for (const uint16_t limit : {0x7fff, 0x0000, 0x7000, 0x0fff}) {
      CAPTURE(opcode, known, limit);
      Requester requester;
      requester.ring[0] = work(static_cast<uint8_t>(opcode), 16);
      Qp& qp = requester.qps[kQpn] = limited_qp(1);
      set_limit(requester, limit);
      requester.dut().queues_credit_known_i = known;
      requester.turn(kQpn);
      const bool waits = known && limit >= 0x7000;  // the number of the message is 0x8000
      CHECK(requester.stalls == waits);
      CHECK(requester.events[EXRNIC_COUNTER_CREDIT_STALLS] == waits);
      CHECK(requester.submitted.empty() == waits);
      CHECK(qp.sq.credit_wait == waits);
      if (waits) CHECK(requester.wakes.empty());
    }
  }
  Requester requester;
  requester.ring[0] = push(16);
  requester.qps[kQpn] = limited_qp(1);
  set_limit(requester, 0x7000);
  requester.turn(kQpn);
  CHECK(requester.stalls == 0);
  CHECK(requester.submitted.size() == 1);
}

TEST_CASE("Behind its wait a message goes with credit, or alone and asks; never beside others") {
  for (const bool raised : {false, true}) {
    CAPTURE(raised);
    Requester requester;
    requester.ring[0] = work(EXRNIC_WQE_OPCODE_SEND, 2 * kMtu);
    Qp& qp = requester.qps[kQpn] = limited_qp(1);
    set_limit(requester, 0x7fff);
    requester.turn(kQpn);
    requester.turn(kQpn);
    CHECK(requester.stalls == 2);  // what is before it has not ended
    CHECK(requester.events[EXRNIC_COUNTER_CREDIT_STALLS] == 1);
    if (raised) set_limit(requester, 0);
    if (!raised) ++qp.ended.count;
    requester.turn(kQpn);
    CHECK(requester.stalls == 2);
    REQUIRE(requester.submitted.size() == (raised ? 2 : 1));
    CHECK(requester.submitted[0].tag.kind == (raised ? kTxKindSegment : kTxKindProbe));
    CHECK(requester.submitted[0].ask == !raised);
    CHECK_FALSE(qp.sq.credit_wait);
    if (raised) continue;
    requester.turn(kQpn);
    CHECK(requester.submitted.size() == 1);
    ++qp.ended.count;  // of the probe
    requester.turn(kQpn);
    REQUIRE(requester.submitted.size() == 2);
    CHECK_FALSE(requester.submitted[1].ask);
  }
}

TEST_CASE("Before all that is under way has ended nothing goes back, in ERROR nothing is flushed") {
  const auto state = GENERATE(EXRNIC_QP_STATE_RTS, EXRNIC_QP_STATE_ERROR);
  Requester requester;
  fill_ring(requester);
  Qp& qp = requester.qps[kQpn] = refused_qp(0, 1, 7);
  qp.sq_producer += 3;
  qp.status.state = state;
  --qp.ended.count;
  requester.turn(kQpn);
  CHECK(requester.submitted.empty());
  CHECK(qp.sq.consumer == 2);
  CHECK(qp.status.rnr);
  ++qp.ended.count;
  requester.turn(kQpn);
  CHECK(qp.sq.consumer == 0);
  CHECK_FALSE(qp.status.rnr);
  CHECK(qp.status.state == state);
}

TEST_CASE(
    "What was withdrawn is flushed from its beginning, behind nothing that was sent to the peer") {
  Requester requester;
  fill_ring(requester);
  Qp& qp = requester.qps[kQpn] = sending_qp(3, 1);  // three are under way
  qp.status.state = EXRNIC_QP_STATE_ERROR;
  qp.status.rnr = GENERATE(false, true);
  qp.sq.progress = 100;
  qp.sq.issued = 13;
  qp.ended = {11, 1, 0};  // one of them has ended
  qp.ended.withdrawn = true;
  requester.withdraw_ready = false;
  requester.begin_turn(kQpn);
  for (int i = 0; i < 50; ++i) requester.cycle();
  CHECK(qp.sq.consumer == 3);
  requester.withdraw_ready = true;
  requester.rest();
  CHECK(requester.withdrawn >= 1);
  CHECK(qp.sq.withdrawn);
  CHECK(qp.sq.consumer == 1);
  CHECK(qp.sq.issued == 11);
  CHECK_FALSE(qp.status.rnr);
  requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 3);
  for (const TxDesc& flushed : requester.submitted) {
    CHECK(flushed.unsent);
    CHECK(flushed.unreliable);
    CHECK_FALSE(flushed.stream);
    CHECK(flushed.node == kOwnNode);
    CHECK(flushed.tag.kind == kTxKindFlush);
    CHECK(flushed.status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
  }
  CHECK(qp.sq.consumer == 4);
  // Once: what was issued by then is of that.
  qp.sq.issued += 2;
  requester.turn(kQpn);
  CHECK(qp.sq.consumer == 4);
}

TEST_CASE(
    "Who was withdrawn is flushed also if the responder writes behind that what it read before") {
  Requester requester;
  fill_ring(requester);
  Qp& qp = requester.qps[kQpn] = sending_qp(3, 1);
  qp.status.state = EXRNIC_QP_STATE_ERROR;
  qp.sq.issued = 13;
  qp.ended = {11, 1, 0};
  qp.ended.withdrawn = true;
  requester.turn(kQpn);
  REQUIRE(qp.sq.withdrawn);
  qp.status.told = true;
  qp.status.rnr = qp.status.exact = true;
  requester.turn(kQpn);
  CHECK_FALSE(qp.status.rnr);
  CHECK(qp.sq.consumer == 1);
  requester.turn(kQpn);
  CHECK(requester.submitted.size() == 3);
  CHECK(qp.sq.consumer == 4);
}

TEST_CASE("Beside PULLs nothing else is withdrawn: the send queue stays where it is") {
  Requester requester;
  fill_ring(requester);
  Qp& qp = requester.qps[kQpn] = sending_qp(3, 1);
  qp.status.state = EXRNIC_QP_STATE_ERROR;
  qp.ended = {qp.sq.issued, 1, 0};
  qp.ended.withdrawn = true;
  requester.pulls[kQpn].resize(1);
  requester.turn(kQpn);
  CHECK(qp.sq.withdrawn);
  CHECK(qp.sq.consumer == 3);
  requester.turn(kQpn);
  CHECK(requester.submitted.empty());
  CHECK(requester.flushes.size() == 1);
}

TEST_CASE("With a time-out each segment of its own work is told, but nothing else") {
  static constexpr int kPush = 0, kLocal = 1, kBad = 2, kNoTimeOut = 3, kUc = 4;
  const int what = GENERATE(kPush, kLocal, kBad, kNoTimeOut, kUc);
  Requester requester;
  requester.ring[0] = push(2 * kMtu);
  if (what == kLocal) requester.ring[0] = work(EXRNIC_WQE_OPCODE_LOCAL_INVALIDATE, 0);
  if (what == kBad) requester.ring[0] = work(99, 0);
  Qp& qp = requester.qps[kQpn] = sending_qp(0, 1);
  qp.cfg.timeout = what == kNoTimeOut ? 0 : 1;
  if (what == kUc) qp.cfg.service = EXRNIC_SERVICE_UC;
  requester.turn(kQpn);
  CHECK(requester.submitted.size() == (what == kLocal || what == kBad ? 1 : 2));
  CHECK(requester.sends == (what == kPush ? 2 : 0));
}

TEST_CASE("A message that has been sent again as often as it may fails; 7 is for ever") {
  const auto [retry, again, fails] = GENERATE(table<uint8_t, uint8_t, bool>(
      {{0, 0, true}, {1, 0, false}, {1, 1, true}, {6, 5, false}, {6, 6, true}, {7, 6, false}}));
  CAPTURE(retry, again);
  Requester requester;
  Qp& qp = requester.qps[kQpn] = refused_qp(5, 0, retry);
  qp.sq.rnr_msn = 3;
  qp.sq.rnr_count = again;
  requester.turn(kQpn);
  CHECK((qp.status.state == EXRNIC_QP_STATE_ERROR) == fails);
  CHECK(qp.status.fault == fails);
  CHECK(qp.status.fault_status == (fails ? EXRNIC_CQE_STATUS_RNR_RETRY_EXC_ERR : 0));
  CHECK(qp.sq.consumer == 5);
  CHECK(requester.qp_errors == fails);
}

// ---- SQD

void drain(Qp& qp) {
  qp.status.state = EXRNIC_QP_STATE_SQD;
  qp.status.drains = true;
}

TEST_CASE(
    "In SQD what has begun goes on to its end, nothing else begins, and the responder hears of "
    "it") {
  Requester requester;
  requester.dut().queues_others_wait_i = 1;
  put(requester, 0, work(EXRNIC_WQE_OPCODE_PUSH), {{0x10000, 40 * kMtu, kStag0}});
  put(requester, 1, work(EXRNIC_WQE_OPCODE_PUSH), {{0x10000, 16, kStag0}});
  Qp& qp = requester.qps[kQpn] = sending_qp(0, 2);
  requester.turn(kQpn);
  CHECK(requester.submitted.size() == 16);
  drain(qp);
  for (int i = 0; i < 4; ++i) requester.turn(kQpn);
  CHECK(requester.submitted.size() == 40);
  CHECK(requester.submitted.back().tag.kind == kTxKindLast);
  CHECK(qp.sq.consumer == 1);
  CHECK(requester.flushes.empty());
  CHECK(qp.status.drains != qp.ended.drained);
  qp.ended.count = qp.sq.issued;
  requester.turn(kQpn);
  CHECK(requester.flushes == std::vector<unsigned>{kQpn});
  qp.ended.drained = qp.status.drains;
  for (int i = 0; i < 3; ++i) requester.turn(kQpn);
  CHECK(requester.flushes.size() == 1);
  CHECK(requester.submitted.size() == 40);
  CHECK(requester.qp_errors == 0);
  qp.status.state = EXRNIC_QP_STATE_RTS;
  requester.turn(kQpn);
  CHECK(requester.submitted.size() == 41);
}

TEST_CASE("In SQD work that is posted is not even fetched, whatever it is") {
  Requester requester;
  fill_ring(requester);
  Qp& qp = requester.qps[kQpn] = sending_qp(0, 3);
  qp.sq.credit_wait = true;
  drain(qp);
  requester.turn(kQpn);
  CHECK(requester.flushes == std::vector<unsigned>{kQpn});
  qp.ended.drained = qp.status.drains;
  requester.turn(kQpn);
  CHECK(requester.wqe_reads.empty());
  CHECK(requester.submitted.empty());
}

TEST_CASE("A send queue is not drained while PULLs are under way, and asks for them") {
  Requester requester;
  Qp& qp = requester.qps[kQpn] = sending_qp(0, 0);
  drain(qp);
  requester.pulls[kQpn].resize(1);
  requester.asks = true;
  requester.turn(kQpn);
  CHECK(requester.asked == 1);
  requester.turn(kQpn);
  CHECK(requester.flushes.empty());
  requester.pulls[kQpn].clear();
  requester.turn(kQpn);
  CHECK(requester.flushes.size() == 1);
}

TEST_CASE(
    "In SQD a message that found no receive comes again, and what was sent behind it does not") {
  Requester requester;
  requester.ring[0] = work(EXRNIC_WQE_OPCODE_SEND, 2 * kMtu);
  requester.ring[sizeof(exrnic_wqe)] = push(16);
  Qp& qp = requester.qps[kQpn] = refused_qp(0, 1, 1);
  drain(qp);
  requester.turn(kQpn);
  CHECK_FALSE(qp.status.rnr);
  requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 1);
  CHECK(requester.submitted[0].tag.kind == kTxKindProbe);
  qp.ended.count = qp.sq.issued;
  requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 2);
  CHECK(requester.submitted[1].tag.kind == kTxKindLast);
  CHECK(requester.flushes.empty());
  qp.ended.count = qp.sq.issued;
  requester.turn(kQpn);
  CHECK(requester.submitted.size() == 2);
  CHECK(requester.flushes.size() == 1);
}

TEST_CASE("A work request that waits for its first slot when SQD comes has not begun") {
  Requester requester;
  fill_ring(requester);
  Qp& qp = requester.qps[kQpn] = sending_qp(0, 1);
  requester.slots_left = false;
  requester.begin_turn(kQpn);
  for (int i = 0; i < 200; ++i) requester.cycle();
  drain(qp);
  requester.slots_left = true;
  requester.rest();
  CHECK(qp.sq.consumer == 0);
  REQUIRE(requester.submitted.size() == 1);
  CHECK(requester.submitted[0].unsent);
  requester.turn(kQpn);
  CHECK(requester.flushes.size() == 1);
}

TEST_CASE("One that waits for its next slot has, also for the Immediate Data message alone") {
  Requester requester;
  put(requester, 0, work(EXRNIC_WQE_OPCODE_PUSH_IMM), {});
  put(requester, 1, work(EXRNIC_WQE_OPCODE_PUSH_IMM), {});
  Qp& qp = requester.qps[kQpn] = sending_qp(0, 2);
  requester.begin_turn(kQpn);
  requester.wait_for("a segment", kLimit, [&] { return !requester.submitted.empty(); });
  requester.slots_left = false;
  for (int i = 0; i < 50; ++i) requester.cycle();
  REQUIRE(requester.submitted.size() == 1);
  drain(qp);
  requester.slots_left = true;
  requester.rest();
  CHECK(requester.submitted.size() == 2);
  CHECK(qp.sq.consumer == 1);
  CHECK(qp.sq.issued == 1);
}

TEST_CASE("Another message has all its retries") {
  Requester requester;
  Qp& qp = requester.qps[kQpn] = refused_qp(5, 0, 2);
  qp.sq.rnr_msn = 2;
  qp.sq.rnr_count = 2;
  requester.turn(kQpn);
  CHECK(qp.status.state == EXRNIC_QP_STATE_RTS);
  CHECK(qp.sq.rnr_count == 1);
}

TEST_CASE("Immediate data comes again without the bytes before it") {
  Requester requester;
  requester.ring[0] = work(EXRNIC_WQE_OPCODE_PUSH_IMM, 3 * kMtu);
  requester.ring[0].imm_data = 0x1234;
  Qp& qp = requester.qps[kQpn] = refused_qp(0, 0, 7);
  requester.turn(kQpn);
  requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 1);
  CHECK(requester.submitted[0].tag.kind == kTxKindLast);
  CHECK(exrnic_ddp_untagged_opcode(requester.submitted[0].ddp.data()) ==
        EXRNIC_RDMAP_OPCODE_IMMEDIATE);
  CHECK(requester.payload_reads.empty());
  CHECK(qp.sq.consumer == 1);
}

TEST_CASE("A turn ends with the segment that takes the last slot of its peer's share") {
  Requester requester;
  fill_ring(requester);
  requester.qps[kQpn] = sending_qp(0, 4);
  requester.quota_room = false;
  for (std::size_t turns = 1; turns <= 4; ++turns) {
    requester.turn(kQpn);
    CHECK(requester.submitted.size() == turns);
    CHECK(requester.wakes.size() == turns);
  }
  for (uint16_t i = 0; i < 4; ++i) CHECK(requester.submitted[i].tag.wqe_index == i);
}

TEST_CASE("Turn by turn all work is taken in order, across the wrap of the index") {
  Requester requester;
  requester.dut().queues_others_wait_i = 1;
  fill_ring(requester);
  requester.qps[kQpn] = sending_qp(0xffd0, 200);
  for (unsigned turns = 0; turns <= requester.wakes.size(); ++turns) requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 200);
  for (uint16_t i = 0; i < 200; ++i)
    CHECK(requester.submitted[i].tag.wqe_index == static_cast<uint16_t>(0xffd0 + i));
}

TEST_CASE("A batch goes on across the end of a small ring") {
  Requester requester;
  fill_ring(requester);
  requester.qps[kQpn] = sending_qp(6, 4);
  requester.qps[kQpn].cfg.sq_log = EXRNIC_RING_LOG_MIN;
  requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 4);
  const uint32_t slots[] = {6, 7, 0, 1};
  for (int i = 0; i < 4; ++i) CHECK(remote_stag(requester.submitted[i]) == slots[i]);
}

TEST_CASE("Nothing of a work request reaches the next one") {
  Requester requester;
  requester.qps[kQpn] = sending_qp(0, 2);
  requester.ring[0] = gather(10, 20);
  requester.ring[64] = gather(30, 40);
  requester.turn(kQpn);
  CHECK(requester.payload_reads.at(2).address == kPageFrames + 0x10000);
  CHECK(requester.payload_reads.at(2).length == 30);
  CHECK(requester.payload_reads.at(3).length == 40);
  requester.qps[kQpn].sq_producer++;
  requester.qps[kQpn].status.state = EXRNIC_QP_STATE_ERROR;
  requester.bad_slots.insert(2 * sizeof(exrnic_wqe));
  requester.turn(kQpn);
  CHECK(requester.submitted.at(2).tag.byte_length == 0);  // was flushed unseen
  CHECK_FALSE(requester.submitted[2].tag.signaled);
}

TEST_CASE("A turn of a queue pair that has nothing to send, or may not, does nothing") {
  Requester requester;
  Qp qp = sending_qp(4, 1);
  SECTION("nothing posted") { qp.sq_producer = 4; }
  SECTION("destroyed") { qp.cfg.valid = false; }
  SECTION("halted") { qp.sq.halted = true; }
  SECTION("ready to receive") { qp.status.state = EXRNIC_QP_STATE_RTR; }
  SECTION("receives only") { qp.sq_producer = 4, qp.rq_producer = 9; }
  SECTION("in error, all flushed") {
    qp.sq_producer = 4;
    qp.status.state = EXRNIC_QP_STATE_ERROR;
  }
  requester.qps[kQpn] = qp;
  requester.turn(kQpn);
  CHECK(requester.submitted.empty());
  CHECK(requester.wakes.empty());
  CHECK(requester.wqe_reads.empty());
}

// ---- The end of a turn

TEST_CASE(
    "While others wait, a message is left after sixteen segments and goes on in a later turn") {
  const auto opcode = GENERATE(uint8_t{EXRNIC_WQE_OPCODE_PUSH}, uint8_t{EXRNIC_WQE_OPCODE_SEND},
                               uint8_t{EXRNIC_WQE_OPCODE_PUSH_IMM});
  Requester requester;
  requester.dut().queues_others_wait_i = 1;
  const std::vector<exrnic_sge> elements = {
      {0x10000, 5 * kMtu + 7, kStag0}, {0x90000, 0, kStag0}, {0xa0000, 35 * kMtu, kStag1}};
  const unsigned slots = put(requester, 254, work(opcode), elements);
  requester.qps[kQpn] = sending_qp(254, static_cast<uint16_t>(slots));
  requester.turn(kQpn);
  CHECK(requester.submitted.size() == 16);
  CHECK(requester.wakes.size() == 1);
  CHECK(requester.qps[kQpn].sq.progress == 16 * kMtu);
  CHECK(requester.qps[kQpn].sq.consumer == 254);
  CHECK(requester.qps[kQpn].sq.issued == 0);
  requester.turn(kQpn);
  CHECK(requester.submitted.size() == 32);
  requester.turn(kQpn);
  const bool push = opcode != EXRNIC_WQE_OPCODE_SEND;
  const bool imm = opcode == EXRNIC_WQE_OPCODE_PUSH_IMM;
  REQUIRE(requester.submitted.size() == (imm ? 42 : 41));
  for (uint32_t i = 0; i < 41; ++i) {
    const TxDesc& desc = requester.submitted[i];
    if (push) {
      uint64_t to = 0;
      for (unsigned byte = 6; byte < 14; ++byte) to = to << 8 | desc.ddp[byte];
      CHECK(to == 0x0102030405060708 + uint64_t{i} * kMtu);
    } else {
      CHECK(exrnic_ddp_untagged_mo(desc.ddp.data()) == i * kMtu);
      CHECK(exrnic_ddp_untagged_msn(desc.ddp.data()) == 1);
    }
  }
  if (imm) requester.submitted.pop_back();
  CHECK(gathered(requester) == sources_of(elements));
  CHECK(requester.qps[kQpn].sq.progress == 0);
  CHECK(requester.qps[kQpn].sq.issued == 1);
  CHECK(requester.qps[kQpn].sq.send_msn == (opcode == EXRNIC_WQE_OPCODE_PUSH ? 0 : 1));
}

TEST_CASE("While nobody waits, a message is sent in one turn") {
  Requester requester;
  put(requester, 0, work(EXRNIC_WQE_OPCODE_PUSH), {{0x10000, 40 * kMtu, kStag0}});
  requester.qps[kQpn] = sending_qp(0, 1);
  requester.turn(kQpn);
  CHECK(requester.submitted.size() == 40);
  CHECK(requester.submitted.back().tag.kind == kTxKindLast);
}

TEST_CASE("A turn also ends between work requests after sixteen segments") {
  Requester requester;
  requester.dut().queues_others_wait_i = 1;
  for (uint32_t i = 0; i < 4; ++i)
    put(requester, i, work(EXRNIC_WQE_OPCODE_PUSH_IMM), {{0x10000, 7 * kMtu, kStag0}});
  requester.qps[kQpn] = sending_qp(0, 4);
  requester.turn(kQpn);
  CHECK(requester.submitted.size() == 16);
  CHECK(requester.qps[kQpn].sq.consumer == 2);
  CHECK(requester.qps[kQpn].sq.progress == 0);
  CHECK(requester.wakes.size() == 1);
}

TEST_CASE("A turn does not end between the bytes and the Immediate Data message of a PUSH_IMM") {
  Requester requester;
  requester.dut().queues_others_wait_i = 1;
  put(requester, 0, work(EXRNIC_WQE_OPCODE_PUSH_IMM), {{0x10000, 16 * kMtu, kStag0}});
  requester.qps[kQpn] = sending_qp(0, 1);
  requester.turn(kQpn);
  CHECK(requester.submitted.size() == 17);
  CHECK(requester.submitted.back().untagged);
  CHECK(requester.qps[kQpn].sq.consumer == 1);
}

TEST_CASE("A message that the ring says to be shorter when its turn comes again does no harm") {
  Requester requester;
  put(requester, 0, work(EXRNIC_WQE_OPCODE_PUSH), {{0x10000, 10, kStag0}});
  requester.qps[kQpn] = sending_qp(0, 1);
  requester.qps[kQpn].sq.progress = 16 * kMtu;
  requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 1);
  CHECK(requester.submitted[0].length == 0);
  CHECK(requester.qps[kQpn].sq.consumer == 1);
  CHECK(requester.qps[kQpn].sq.progress == 0);
}

TEST_CASE("A slot behind the first that cannot be read fails the work request, as one slot") {
  Requester requester;
  put(requester, 0, push(0), std::vector<exrnic_sge>(7, {0x20000, 10, kStag0}));
  requester.bad_slots.insert(2 * sizeof(exrnic_wqe));
  requester.qps[kQpn] = sending_qp(0, 3);
  requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 1);
  CHECK(requester.submitted[0].status == EXRNIC_CQE_STATUS_LOC_QP_OP_ERR);
  CHECK(requester.submitted[0].tag.wqe_index == 0);
  CHECK(requester.qps[kQpn].sq.consumer == 1);
}

TEST_CASE("Work requests before a slot that cannot be read are executed") {
  for (uint32_t seed = 1; seed <= 10; ++seed) {  // data comes in another order each time
    CAPTURE(seed);
    Requester requester(seed);
    fill_ring(requester);
    for (const unsigned slot : {3, 5, 6}) requester.bad_slots.insert(slot * sizeof(exrnic_wqe));
    requester.qps[kQpn] = sending_qp(0, 8);
    requester.turn(kQpn);
    CHECK(requester.submitted.size() == 3);
    requester.turn(kQpn);
    REQUIRE(requester.submitted.size() == 4);
    for (unsigned i = 0; i < 3; ++i) CHECK_FALSE(requester.submitted[i].unsent);
    CHECK(requester.submitted[3].status == EXRNIC_CQE_STATUS_LOC_QP_OP_ERR);
    CHECK(requester.qps[kQpn].sq.consumer == 4);
  }
}

// ---- ERROR

TEST_CASE("In ERROR work requests are flushed, then the responder gets the queue pair") {
  Requester requester;
  Qp qp = sending_qp(0xffff, 6);
  qp.status.state = EXRNIC_QP_STATE_ERROR;
  qp.sq.halted = true;
  qp.sq.progress = 77;
  requester.qps[kQpn] = qp;
  requester.ring[255 * sizeof(exrnic_wqe)] = work(EXRNIC_WQE_OPCODE_SEND, 9);
  put(requester, 0, work(EXRNIC_WQE_OPCODE_PULL), {{0, 1, 0}, {0, 2, 0}, {0, 3, 0}});
  requester.ring[2 * sizeof(exrnic_wqe)] = push(5);
  requester.ring[2 * sizeof(exrnic_wqe)].num_slots = 0;  // counts as one
  requester.ring[3 * sizeof(exrnic_wqe)] = push(5);
  requester.ring[3 * sizeof(exrnic_wqe)].num_slots = 3;  // more than are left: one
  requester.ring[4 * sizeof(exrnic_wqe)] = push(5);
  requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 5);
  const uint16_t indices[] = {0xffff, 1, 2, 3, 4};
  for (int i = 0; i < 5; ++i) {
    const TxDesc& desc = requester.submitted[i];
    CHECK(desc.unsent);
    CHECK(desc.status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
    CHECK(desc.tag.kind == kTxKindLast);
    CHECK(desc.tag.wqe_index == indices[i]);
    CHECK(desc.length == 0);
    CHECK(desc.node == 0x17);
  }
  CHECK(requester.submitted[0].tag.opcode == EXRNIC_WQE_OPCODE_SEND);
  CHECK(requester.submitted[0].tag.byte_length == 0);  // only its kind is looked at
  CHECK(requester.submitted[1].tag.opcode == EXRNIC_WQE_OPCODE_PULL);
  CHECK(requester.qps[kQpn].sq.consumer == 5);
  CHECK(requester.qps[kQpn].sq.issued == 5);
  CHECK(requester.qps[kQpn].sq.progress == 0);
  CHECK(requester.wakes.size() == 1);
  CHECK(requester.flushes.empty());
  CHECK(requester.events[EXRNIC_COUNTER_WQES] == 5);
  CHECK(requester.events[EXRNIC_COUNTER_WQE_ERRORS] == 0);
  CHECK(requester.pulls[kQpn].empty());

  requester.turn(kQpn);
  CHECK(requester.flushes == std::vector<unsigned>{kQpn});
  CHECK(requester.wakes.size() == 1);  // the responder's business
}

TEST_CASE("A work request that cannot be read is flushed as one slot") {
  Requester requester;
  fill_ring(requester);
  requester.bad_slots.insert(1 * sizeof(exrnic_wqe));
  requester.qps[kQpn] = sending_qp(0, 3);
  requester.qps[kQpn].status.state = EXRNIC_QP_STATE_ERROR;
  while (requester.qps[kQpn].sq.consumer != 3) requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 3);
  for (uint16_t i = 0; i < 3; ++i) CHECK(requester.submitted[i].tag.wqe_index == i);
  CHECK(requester.wakes.size() >= 2);
}

TEST_CASE("In ERROR the responder gets PULLs under way before work requests are flushed") {
  Requester requester;
  fill_ring(requester);
  requester.qps[kQpn] = sending_qp(0, 2);
  requester.qps[kQpn].status.state = EXRNIC_QP_STATE_ERROR;
  requester.pulls[kQpn].push_back({});
  requester.turn(kQpn);
  CHECK(requester.flushes == std::vector<unsigned>{kQpn});
  CHECK(requester.wakes.empty());
  CHECK(requester.submitted.empty());
  requester.pulls[kQpn].clear();
  requester.turn(kQpn);
  CHECK(requester.submitted.size() == 2);
}

// ---- Changes meanwhile, and rest

// Leaves the requester waiting for a slot after the first segment of two work requests.
void stop_between_segments(Requester& requester) {
  requester.qps[kQpn] = sending_qp(0, 2);
  requester.ring[0] = push(2 * kMtu);
  requester.ring[64] = push(1);
  requester.begin_turn(kQpn);
  requester.wait_for("a segment", kLimit, [&] { return !requester.submitted.empty(); });
  requester.slots_left = false;
  requester.wait_for("transmit_alloc_ready_o", kLimit,
                     [&] { return requester.dut().transmit_alloc_ready_o != 0; });
}

// A slot that is not needed any more: its end completes nothing.
void check_returned(const TxDesc& desc) {
  CHECK(desc.unsent);
  CHECK(desc.status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(desc.tag.kind == kTxKindResponse);
  CHECK(desc.length == 0);
}

TEST_CASE("A message in the middle of which its queue pair goes to ERROR is flushed") {
  Requester requester;
  stop_between_segments(requester);
  requester.qps[kQpn].status.state = EXRNIC_QP_STATE_ERROR;
  requester.slots_left = true;
  requester.rest();
  REQUIRE(requester.submitted.size() == 2);
  check_returned(requester.submitted[1]);
  CHECK(requester.wakes.size() == 1);
  requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 4);
  CHECK(requester.submitted[2].status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
  CHECK(requester.submitted[2].tag.kind == kTxKindLast);
  CHECK(requester.submitted[2].tag.wqe_index == 0);
  CHECK(requester.submitted[2].length == 0);
  CHECK(requester.qps[kQpn].sq.consumer == 2);
  CHECK(requester.payload_reads.size() == 1);
}

TEST_CASE(
    "Work of a queue pair that is another one meanwhile ends without a trace in the new one") {
  Requester requester;
  stop_between_segments(requester);
  Qp& qp = requester.qps[kQpn];
  SECTION("destroyed") { qp.cfg.valid = false; }
  SECTION("destroyed and created anew, in RTS again") {
    qp = sending_qp(0, 0);
    qp.cfg.generation = 0x5d;
  }
  SECTION("reset") {
    qp = sending_qp(0, 0);
    qp.cfg.generation = 0x5d;
    qp.status.state = EXRNIC_QP_STATE_RESET;
  }
  requester.slots_left = true;
  requester.rest();
  REQUIRE(requester.submitted.size() == 2);
  check_returned(requester.submitted[1]);
  CHECK(requester.submitted[1].tag.generation == 0x5c);
  CHECK(requester.payload_reads.size() == 1);
  CHECK(qp.sq.consumer == 0);
  CHECK_FALSE(qp.sq.halted);
}

TEST_CASE("A quiesced requester begins no turn and takes no slot, then goes on") {
  Requester requester;
  stop_between_segments(requester);
  requester.dut().quiesce_i = 1;
  requester.slots_left = true;
  for (int i = 0; i < 50; ++i) requester.cycle();
  CHECK(requester.dut().quiescent_o);
  CHECK(requester.submitted.size() == 1);
  requester.dut().quiesce_i = 0;
  requester.rest();
  CHECK(requester.submitted.size() == 3);

  requester.dut().quiesce_i = requester.dut().turns_valid_i = 1;
  for (int i = 0; i < 50; ++i) requester.cycle();
  CHECK(requester.dut().idle_o);
  CHECK_FALSE(requester.dut().turns_ready_o);
}
TEST_CASE("What was translated before a time of rest is translated again") {
  Requester requester;
  put(requester, 0, push(0), {{0x10000, 16, kStag0}});
  requester.qps[kQpn] = sending_qp(0, 1);
  requester.slots_left = false;
  requester.begin_turn(kQpn);
  requester.wait_for("alloc", kLimit, [&] { return requester.dut().transmit_alloc_ready_o != 0; });
  for (int i = 0; i < 50; ++i) requester.cycle();
  CHECK(requester.xlate.requests.size() == 1);  // ahead of the slot
  requester.dut().quiesce_i = 1;
  requester.wait_for("rest", kLimit, [&] { return requester.dut().quiescent_o != 0; });
  requester.region = [](const XlateReq&) { return XlateRsp{kXlateStag, 0, 0}; };
  for (int i = 0; i < 50; ++i) requester.cycle();
  CHECK(requester.xlate.requests.size() == 1);
  requester.dut().quiesce_i = 0;
  requester.slots_left = true;
  requester.rest();
  CHECK(requester.payload_reads.empty());
  REQUIRE(requester.submitted.size() == 1);
  CHECK(requester.submitted[0].status == EXRNIC_CQE_STATUS_LOC_PROT_ERR);
}

TEST_CASE("What was translated before an invalidation is let go, and translated again") {
  Requester requester;
  put(requester, 0, push(0), {{0x10000, 16, kStag0}});
  requester.qps[kQpn] = sending_qp(0, 1);
  requester.slots_left = false;
  requester.begin_turn(kQpn);
  requester.wait_for("the place", kLimit, [&] { return requester.dut().xlate_hold_o != 0; });
  for (int i = 0; i < 20; ++i) requester.cycle();
  CHECK(requester.dut().xlate_hold_o);
  requester.dut().xlate_let_go_i = 1;
  requester.cycle();
  CHECK_FALSE(requester.dut().xlate_hold_o);
  requester.region = [](const XlateReq&) { return XlateRsp{kXlateStag, 0, 0}; };
  requester.dut().xlate_let_go_i = 0;
  requester.slots_left = true;
  requester.rest();
  CHECK_FALSE(requester.dut().xlate_hold_o);
  CHECK(requester.payload_reads.empty());
  REQUIRE(requester.submitted.size() == 1);
  CHECK(requester.submitted[0].status == EXRNIC_CQE_STATUS_LOC_PROT_ERR);
}

}  // namespace
}  // namespace exrnic::testing
