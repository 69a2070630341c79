// SPDX-License-Identifier: BSD-2-Clause
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "rtl-model/blocks/completer/completer_bench.h"

namespace exrnic::testing {
namespace {

constexpr unsigned kQpn = 5;
constexpr unsigned kCqn = 3;
constexpr unsigned kRecvCqn = 9;
constexpr uint8_t kPage = 2;
constexpr uint8_t kVector = 7;
constexpr uint8_t kNode = 0x21;
constexpr uint64_t kPbl = 0x90000;
constexpr uint8_t kLog = 2;
constexpr uint32_t kEntries = 1 << kLog;

CqConfig small_cq() {
  CqConfig cq;
  cq.valid = true;
  cq.page = kPage;
  cq.log_entries = kLog;
  cq.msix_vector = kVector;
  cq.pbl = kPbl;
  return cq;
}

// A queue pair in RTS on a completion queue of four entries, another for receives.
void connect(Completer& completer) {
  completer.create_cq(kCqn, small_cq());
  completer.create_cq(kRecvCqn, small_cq());
  Qp qp;
  qp.cfg.valid = true;
  qp.cfg.page = kPage;
  qp.cfg.send_cqn = kCqn;
  qp.cfg.recv_cqn = kRecvCqn;
  qp.cfg.generation = 0x77;
  qp.status.state = EXRNIC_QP_STATE_RTS;
  completer.qps[kQpn] = qp;
}

TxDone done(uint16_t wqe_index, uint8_t status = EXRNIC_CQE_STATUS_SUCCESS) {
  TxDone done;
  done.tag = {kTxLast, kQpn, 0x77, wqe_index, 0x1234, true, EXRNIC_WQE_OPCODE_PUSH};
  done.node = kNode;
  done.seq = 100u + wqe_index;
  done.status = status;
  return done;
}
TxDone segment(uint8_t status) {
  TxDone segment = done(0, status);
  segment.tag.kind = kTxSegment;
  return segment;
}
CqDoorbell bell(uint32_t consumer, bool arm = false, bool solicited = false) {
  return {kCqn, consumer, arm, solicited, kPage};
}

void fail_remotely(Completer& completer, uint32_t first_refused) {
  QpStatus& status = completer.qps[kQpn].status;
  status.state = EXRNIC_QP_STATE_ERROR;
  status.fault = status.exact = true;
  status.fault_status = EXRNIC_CQE_STATUS_REM_ACCESS_ERR;
  status.fault_detail = EXRNIC_TERM_CODE_TAGGED_BOUNDS;
  status.fault_seq = first_refused;
}

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
}

TEST_CASE("Success without the signaled flag, and segments before the last, leave no completion") {
  Completer completer;
  connect(completer);
  TxDone quiet = done(0);
  quiet.tag.is_signaled = false;
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
    const DmaWrite& write = completer.writes.at(i);
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
    completer.xlate.answer = [](const XlateRequest&) { return XlateResponse{kXlateMemory, 0, 0}; };
  }
  SECTION("destroyed") {
    CqConfig gone = small_cq();
    gone.valid = false;
    completer.create_cq(kCqn, gone);
  }
  completer.end(done(0));
  CHECK(completer.writes.empty());
  CHECK(completer.cq_errors == 1);
}

TEST_CASE("An armed queue fires its vector once, behind the next completion") {
  Completer completer;
  connect(completer);
  completer.ring(bell(0, true));
  CHECK(completer.writes.empty());
  completer.end(done(0));
  completer.end(done(1));
  REQUIRE(completer.writes.size() == 3);
  CHECK(completer.writes[0].kind == kWriteInline);
  CHECK(completer.writes[1].kind == kWriteMsix);
  CHECK(completer.writes[1].address == kVector);
  CHECK(completer.writes[2].kind == kWriteInline);
}

TEST_CASE("Arming while a completion is pending fires at once, and not again") {
  Completer completer;
  connect(completer);
  completer.end(done(0));
  completer.end(done(1));
  completer.ring(bell(1, true));
  REQUIRE(completer.writes.size() == 3);
  CHECK(completer.writes[2].kind == kWriteMsix);
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
  CHECK(completer.writes[1].kind == kWriteMsix);
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
}

TEST_CASE("A work request that fails takes the queue pair to ERROR, wakes it, and is reported") {
  const uint8_t status = GENERATE_COPY(uint8_t{EXRNIC_CQE_STATUS_LOC_PROT_ERR},
                                       uint8_t{EXRNIC_CQE_STATUS_RETRY_EXC_ERR});
  Completer completer;
  connect(completer);
  TxDone failed = done(4, status);
  failed.tag.is_signaled = false;
  completer.end(failed);
  CHECK(completer.cqe(0).status == status);
  CHECK(completer.cqe(0).wqe_index == 4);
  CHECK(completer.qps[kQpn].status.state == EXRNIC_QP_STATE_ERROR);
  CHECK_FALSE(completer.qps[kQpn].status.fault);
  CHECK(completer.qp_errors == 1);
  CHECK(completer.wakes == std::vector<unsigned>{kQpn});

  // What follows is flushed, whether it was acknowledged or not, and is no new error.
  completer.end(done(5));
  completer.end(done(6, EXRNIC_CQE_STATUS_RETRY_EXC_ERR));
  CHECK(completer.cqe(1).status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
  CHECK(completer.cqe(2).status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
  CHECK(completer.qp_errors == 1);
}

TEST_CASE("A segment that fails gives its status to the work request that it is part of") {
  Completer completer;
  connect(completer);
  completer.end(segment(EXRNIC_CQE_STATUS_LOC_PROT_ERR));
  CHECK(completer.writes.empty());
  CHECK(completer.qps[kQpn].status.state == EXRNIC_QP_STATE_ERROR);
  completer.end(segment(EXRNIC_CQE_STATUS_SUCCESS));
  completer.end(done(0));  // its last segment arrived, the message did not
  completer.end(done(1));
  REQUIRE(completer.writes.size() == 2);
  CHECK(completer.cqe(0).status == EXRNIC_CQE_STATUS_LOC_PROT_ERR);
  CHECK(completer.cqe(1).status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
  CHECK(completer.qp_errors == 1);
}

TEST_CASE("The peer's refusal fails the request with the refused frame, not those placed before") {
  Completer completer;
  connect(completer);
  fail_remotely(completer, 102);  // frames 100 and 101 were placed
  completer.end(done(0));
  TxDone quiet = done(1);
  quiet.tag.is_signaled = false;
  completer.end(quiet);
  completer.end(done(2));
  completer.end(done(3));
  REQUIRE(completer.writes.size() == 3);
  CHECK(completer.cqe(0).status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(completer.cqe(0).detail == 0);
  CHECK(completer.cqe(1).status == EXRNIC_CQE_STATUS_REM_ACCESS_ERR);
  CHECK(completer.cqe(1).wqe_index == 2);
  CHECK(completer.cqe(1).detail == EXRNIC_TERM_CODE_TAGGED_BOUNDS);
  CHECK(completer.cqe(2).status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
  CHECK(completer.cqe(2).detail == 0);
  CHECK(completer.qp_errors == 0);  // whoever set ERROR reported it
}

TEST_CASE("Frames before the refused one are told from it across the wrap of sequence numbers") {
  Completer completer;
  connect(completer);
  fail_remotely(completer, 1);
  TxDone last_before = done(0);
  last_before.seq = 0xffffffff;
  completer.end(last_before);
  TxDone refused = done(1);
  refused.seq = 1;
  completer.end(refused);
  CHECK(completer.cqe(0).status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(completer.cqe(1).status == EXRNIC_CQE_STATUS_REM_ACCESS_ERR);
}

TEST_CASE("Without a refusal by the peer nothing that ends in ERROR is a success") {
  Completer completer;
  connect(completer);
  QpStatus& status = completer.qps[kQpn].status;
  status.fault_seq = 1000;  // left from before
  SECTION("the driver's ERROR") { status.state = EXRNIC_QP_STATE_ERROR; }
  SECTION("a failure of our own") {
    status.exact = true;
    completer.end(segment(EXRNIC_CQE_STATUS_LOC_PROT_ERR));
    status.fault = false;
  }
  completer.end(done(0));
  CHECK(completer.cqe(0).status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
}

TEST_CASE("A frame before the refused one that was never acknowledged is no success") {
  Completer completer;
  connect(completer);
  fail_remotely(completer, 200);
  completer.end(done(0, EXRNIC_CQE_STATUS_RETRY_EXC_ERR));
  CHECK(completer.cqe(0).status == EXRNIC_CQE_STATUS_REM_ACCESS_ERR);
}

TEST_CASE("Receives are flushed to the completion queue of the receive queue") {
  Completer completer;
  connect(completer);
  completer.qps[kQpn].status.state = EXRNIC_QP_STATE_ERROR;
  CqConfig other = small_cq();
  other.pbl = 0xa0000;
  completer.create_cq(kRecvCqn, other);
  TxDone receive = done(0, EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
  receive.tag.opcode = EXRNIC_WQE_OPCODE_RECV;
  completer.end(receive);
  CHECK(completer.xlate.requests.at(0).pbl_address == 0xa0000);
  CHECK(completer.cqe(0).opcode == EXRNIC_WQE_OPCODE_RECV);
  CHECK(completer.cqe(0).status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
}

TEST_CASE("What a destroyed or reset queue pair left behind changes nothing") {
  Completer completer;
  connect(completer);
  completer.qps[kQpn].cfg.generation++;
  completer.end(done(0));
  completer.end(done(1, EXRNIC_CQE_STATUS_RETRY_EXC_ERR));
  completer.end(segment(EXRNIC_CQE_STATUS_LOC_PROT_ERR));
  completer.qps[kQpn].cfg.generation--;
  completer.qps[kQpn].cfg.valid = false;
  completer.end(done(2, EXRNIC_CQE_STATUS_RETRY_EXC_ERR));
  CHECK(completer.writes.empty());
  CHECK(completer.wakes.empty());
  CHECK(completer.qps[kQpn].status.state == EXRNIC_QP_STATE_RTS);
}

TEST_CASE("The end of a terminate message, arrived or given up, completes nothing") {
  Completer completer;
  connect(completer);
  TxDone terminate = done(0);
  terminate.tag.kind = kTxTerminate;
  completer.end(terminate);
  terminate.status = EXRNIC_CQE_STATUS_RETRY_EXC_ERR;
  completer.end(terminate);
  CHECK(completer.writes.empty());
  CHECK(completer.qps[kQpn].status.state == EXRNIC_QP_STATE_RTS);
}

TEST_CASE("A doorbell and an end that come together are both served, the doorbell first") {
  Completer completer;
  connect(completer);
  pack(completer.dut().done_i, done(0));
  completer.dut().done_valid_i = 1;
  pack(completer.dut().bell_i, bell(0, true));
  completer.dut().bell_valid_i = 1;
  completer.settle();
  CHECK(completer.dut().bell_ready_o);
  CHECK_FALSE(completer.dut().done_ready_o);
  completer.ring(bell(0, true));
  completer.end(done(0));
  CHECK(completer.writes.size() == 2);  // the arm was there
}

TEST_CASE("A quiesced completer takes nothing, and goes on where it stopped") {
  Completer completer;
  connect(completer);
  completer.dut().quiesce_i = 1;
  pack(completer.dut().done_i, done(0));
  pack(completer.dut().bell_i, bell(0, true));
  completer.dut().done_valid_i = completer.dut().bell_valid_i = 1;
  for (int i = 0; i < 20; ++i) completer.cycle();
  CHECK(completer.dut().quiescent_o);
  CHECK(completer.writes.empty());
  completer.dut().quiesce_i = 0;
  completer.ring(bell(0, true));
  completer.end(done(0));
  CHECK(completer.writes.size() == 2);
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

}  // namespace
}  // namespace exrnic::testing
