// SPDX-License-Identifier: BSD-2-Clause
// Work that fails, and what becomes of its queue pair.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "rtl-model/tiles/work/completer/completer_bench.h"

namespace exrnic::testing {
namespace {

TEST_CASE("A lost completion takes its queue pair to ERROR without a cause, and wakes it") {
  Completer completer;
  connect(completer);
  QpStatus& status = completer.qps[kQpn].status;
  status.fault = status.exact = status.answer_lost = true;  // left from before
  for (uint16_t i = 0; i < kEntries; ++i) completer.end(done(i));
  CHECK(status.state == EXRNIC_QP_STATE_RTS);
  completer.end(done(9));
  CHECK(status.state == EXRNIC_QP_STATE_ERROR);
  CHECK_FALSE(status.fault);
  CHECK_FALSE(status.exact);
  CHECK_FALSE(status.answer_lost);
  CHECK(completer.qp_errors == 1);
  CHECK(completer.wakes == std::vector<unsigned>{kQpn});
  CHECK(completer.qps[kQpn].ended.count == kEntries + 1);  // it counts once
}

TEST_CASE("A completion that is lost in ERROR leaves the queue pair as it is") {
  Completer completer;
  connect(completer);
  CqConfig gone = small_cq();
  gone.valid = false;
  completer.create_cq(kCqn, gone);
  completer.qps[kQpn].status.state = EXRNIC_QP_STATE_ERROR;
  completer.qps[kQpn].status.told = true;
  completer.end(done(0, EXRNIC_CQE_STATUS_WR_FLUSH_ERR));
  CHECK(completer.cq_errors == 1);
  CHECK(completer.overrun == kCqn);
  CHECK(completer.qp_errors == 0);
  CHECK(completer.wakes.empty());
  CHECK(completer.qps[kQpn].status.told);
}

TEST_CASE("A failure whose completion is lost takes the queue pair to ERROR once") {
  Completer completer;
  connect(completer);
  CqConfig gone = small_cq();
  gone.valid = false;
  completer.create_cq(kCqn, gone);
  completer.end(done(0, EXRNIC_CQE_STATUS_LOC_PROT_ERR));
  CHECK(completer.cq_errors == 1);
  CHECK(completer.overrun == kCqn);
  CHECK(completer.qp_errors == 1);
  CHECK(completer.wakes.size() == 1);
}

TEST_CASE("From the frame that found no receive on nothing completes, but all counts") {
  Completer completer;
  connect(completer);
  Qp& qp = completer.qps[kQpn];
  qp.status.rnr = qp.status.exact = true;
  qp.status.fault_seq = 0xffff'ffff;
  const bool in_error = GENERATE(false, true);
  if (in_error) qp.status.state = EXRNIC_QP_STATE_ERROR;
  qp.sq.issued = 4;
  TxDone before = done(3);
  before.tag.opcode = EXRNIC_WQE_OPCODE_SEND;
  before.seq = 0xffff'fffe;
  completer.end(before);
  CHECK(completer.cqe(0).status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(qp.ended.slots == 4);
  CHECK(qp.ended.msn == 1);
  TxDone behind = before;
  behind.tag.wqe_index = 4;
  behind.seq = 0;
  completer.end(behind);
  behind.status = EXRNIC_CQE_STATUS_LOC_QP_OP_ERR;  // it will fail again
  completer.end(behind);
  CHECK(completer.wakes.empty());
  TxDone probe = before;
  probe.tag.kind = kTxKindProbe;
  probe.seq = 1;
  completer.end(probe);
  CHECK(completer.writes.size() == 1);
  CHECK(qp.ended.count == 4);
  CHECK(qp.ended.slots == 4);
  CHECK(qp.ended.msn == 1);
  CHECK(completer.wakes == std::vector<unsigned>{kQpn});  // nothing is left
  CHECK(completer.qp_errors == 0);
}

TEST_CASE("A message that comes again fails if its peer is given up") {
  Completer completer;
  connect(completer);
  Qp& qp = completer.qps[kQpn];
  qp.status.rnr = qp.status.exact = true;
  completer.end(done(0, EXRNIC_CQE_STATUS_RETRY_EXC_ERR));
  CHECK(qp.status.state == EXRNIC_QP_STATE_ERROR);
  CHECK(qp.status.fault);
  CHECK(qp.status.fault_status == EXRNIC_CQE_STATUS_RETRY_EXC_ERR);
  CHECK(qp.status.rnr);  // so that the send queue goes back, and is flushed from there
  CHECK(completer.writes.empty());
}

TEST_CASE("Ends are counted in ERROR too, and of failures") {
  Completer completer;
  connect(completer);
  completer.end(done(0, EXRNIC_CQE_STATUS_RETRY_EXC_ERR));
  completer.end(done(1, EXRNIC_CQE_STATUS_WR_FLUSH_ERR));
  CHECK(completer.qps[kQpn].ended.count == 2);
}

TxDone response(exrnic_cqe_status status) {
  TxDone response = done(0, status);
  response.tag.kind = kTxKindResponse;
  return response;
}

TEST_CASE("A response whose payload could not be read takes the queue pair to ERROR: to be told") {
  const auto state = GENERATE(EXRNIC_QP_STATE_RTR, EXRNIC_QP_STATE_RTS);
  Completer completer;
  connect(completer);
  QpStatus& status = completer.qps[kQpn].status;
  status.state = state;
  completer.end(response(EXRNIC_CQE_STATUS_LOC_PROT_ERR));
  CHECK(status.state == EXRNIC_QP_STATE_ERROR);
  CHECK(status.answer_lost);
  CHECK_FALSE(status.fault);
  CHECK_FALSE(status.told);
  CHECK(completer.qp_errors == 1);
  CHECK(completer.wakes == std::vector<unsigned>{kQpn});
  CHECK(completer.writes.empty());
  CHECK(completer.qps[kQpn].ended.count == 0);

  status.told = true;  // the peer has heard
  status.answer_lost = false;
  completer.end(response(EXRNIC_CQE_STATUS_LOC_PROT_ERR));
  CHECK_FALSE(status.answer_lost);
  CHECK(completer.wakes.size() == 1);
}

TEST_CASE("A response that is lost after its queue pair went to ERROR is one to be told of, too") {
  Completer completer;
  connect(completer);
  QpStatus& status = completer.qps[kQpn].status;
  status.state = EXRNIC_QP_STATE_ERROR;
  status.fault = true;
  status.fault_status = EXRNIC_CQE_STATUS_REM_OP_ERR;
  completer.end(response(EXRNIC_CQE_STATUS_LOC_PROT_ERR));
  CHECK(status.answer_lost);
  CHECK(status.fault);  // for the next work request that ends
  CHECK(status.fault_status == EXRNIC_CQE_STATUS_REM_OP_ERR);
  CHECK(completer.wakes == std::vector<unsigned>{kQpn});
  CHECK(completer.qp_errors == 0);
  CHECK(completer.writes.empty());
}

TEST_CASE("A response that is given up takes the queue pair to ERROR: there is no other for it") {
  const auto state = GENERATE(EXRNIC_QP_STATE_RTR, EXRNIC_QP_STATE_RTS);
  Completer completer;
  connect(completer);
  QpStatus& status = completer.qps[kQpn].status;
  status.state = state;
  for (int i = 0; i < 2; ++i) completer.end(response(EXRNIC_CQE_STATUS_RETRY_EXC_ERR));
  CHECK(status.state == EXRNIC_QP_STATE_ERROR);
  CHECK_FALSE(status.told);  // the peer hears of it when it asks
  CHECK_FALSE(status.answer_lost);
  CHECK_FALSE(status.fault);
  CHECK(completer.qp_errors == 1);
  CHECK(completer.wakes == std::vector<unsigned>{kQpn});
  CHECK(completer.writes.empty());
}

TEST_CASE("The end of a response that arrived, or was of another life, changes nothing") {
  Completer completer;
  connect(completer);
  completer.end(response(EXRNIC_CQE_STATUS_SUCCESS));
  completer.qps[kQpn].cfg.generation++;
  completer.end(response(EXRNIC_CQE_STATUS_LOC_PROT_ERR));
  completer.end(response(EXRNIC_CQE_STATUS_RETRY_EXC_ERR));
  CHECK(completer.qps[kQpn].status.state == EXRNIC_QP_STATE_RTS);
  CHECK(completer.qps[kQpn].ended.count == 0);
  CHECK(completer.wakes.empty());
  CHECK(completer.writes.empty());
}

TEST_CASE("A work request that fails takes the queue pair to ERROR, wakes it, and is reported") {
  const auto status = GENERATE(EXRNIC_CQE_STATUS_LOC_PROT_ERR, EXRNIC_CQE_STATUS_RETRY_EXC_ERR);
  Completer completer;
  connect(completer);
  TxDone failed = done(4, status);
  failed.tag.signaled = false;
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

TEST_CASE("A work request of the send queue completes on its queue, whatever opcode it has") {
  Completer completer;
  connect(completer);
  TxDone odd = done(0, EXRNIC_CQE_STATUS_LOC_QP_OP_ERR);
  odd.tag.opcode = EXRNIC_WQE_OPCODE_RECV;
  completer.end(odd);
  CHECK(completer.xlate.requests.at(0).pbl_address == kPbl);
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

TEST_CASE("A segment that fails leaves no detail of an earlier error") {
  Completer completer;
  connect(completer);
  Qp& qp = completer.qps[kQpn];
  qp.status.fault_detail = 0x207;
  completer.end(segment(EXRNIC_CQE_STATUS_LOC_PROT_ERR));
  CHECK(qp.status.fault);
  CHECK(qp.status.fault_status == EXRNIC_CQE_STATUS_LOC_PROT_ERR);
  CHECK(qp.status.fault_detail == 0);
}

TEST_CASE("A queue pair of UC whose introduction is given up goes on alone; one of RC fails") {
  for (const auto service : {EXRNIC_SERVICE_UC, EXRNIC_SERVICE_RC}) {
    Completer completer;
    connect(completer);
    Qp& qp = completer.qps[kQpn];
    qp.cfg.service = service;
    completer.end(segment(EXRNIC_CQE_STATUS_RETRY_EXC_ERR));
    const bool is_alone = service == EXRNIC_SERVICE_UC;
    CHECK(qp.status.alone == is_alone);
    CHECK(qp.status.state == (is_alone ? EXRNIC_QP_STATE_RTS : EXRNIC_QP_STATE_ERROR));
    CHECK(qp.status.fault == !is_alone);
  }
}

TEST_CASE("The peer's refusal fails the request with the refused frame, not those placed before") {
  Completer completer;
  connect(completer);
  fail_remotely(completer, 102);  // frames 100 and 101 were placed
  completer.end(done(0));
  TxDone quiet = done(1);
  quiet.tag.signaled = false;
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

TEST_CASE("A local invalidation that was done is a success, whatever was refused meanwhile") {
  Completer completer;
  connect(completer);
  fail_remotely(completer, 102);
  TxDone invalidation = done(0);
  invalidation.tag.opcode = EXRNIC_WQE_OPCODE_LOCAL_INVALIDATE;
  invalidation.seq = 102;  // it has no frame: the number is that of the next one, the refused one
  completer.end(invalidation);
  completer.end(done(2));
  REQUIRE(completer.writes.size() == 2);
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
  terminate.tag.kind = kTxKindTerminate;
  completer.end(terminate);
  terminate.status = EXRNIC_CQE_STATUS_RETRY_EXC_ERR;
  completer.end(terminate);
  CHECK(completer.writes.empty());
  CHECK(completer.qps[kQpn].status.state == EXRNIC_QP_STATE_RTS);
}

TEST_CASE("Whose terminate message is given up has told its peer nothing") {
  for (const bool given_up : {false, true}) {
    Completer completer;
    connect(completer);
    QpStatus& status = completer.qps[kQpn].status;
    status.state = EXRNIC_QP_STATE_ERROR;
    status.told = true;
    TxDone terminate = done(0);
    terminate.tag.kind = kTxKindTerminate;
    if (given_up) terminate.status = EXRNIC_CQE_STATUS_RETRY_EXC_ERR;
    completer.end(terminate);
    CHECK(status.told == !given_up);
    CHECK(status.state == EXRNIC_QP_STATE_ERROR);
    CHECK(completer.qp_errors == 0);
  }
}

TEST_CASE("Of whom nothing was heard fails, and what it has sent ends without a trace") {
  Completer completer;
  connect(completer);
  Qp& qp = completer.qps[kQpn];
  qp.status.state = GENERATE(EXRNIC_QP_STATE_RTS, EXRNIC_QP_STATE_SQD);
  qp.status.rnr = qp.status.exact = GENERATE(false, true);
  qp.sq.issued = 3;
  completer.silent(kQpn);
  CHECK(qp.status.state == EXRNIC_QP_STATE_ERROR);
  CHECK(qp.status.fault);
  CHECK(qp.status.fault_status == EXRNIC_CQE_STATUS_RETRY_EXC_ERR);
  CHECK_FALSE(qp.status.exact);
  CHECK(qp.ended.withdrawn);
  CHECK(completer.qp_causes == std::vector<unsigned>{EXRNIC_QP_CAUSE_NO_ANSWER});
  CHECK(completer.wakes == std::vector<unsigned>{kQpn});
  CHECK(completer.events[EXRNIC_COUNTER_QP_TIMEOUTS] == 1);
  completer.end(done(0));
  completer.end(done(1, EXRNIC_CQE_STATUS_RETRY_EXC_ERR));
  completer.end(segment(EXRNIC_CQE_STATUS_WR_FLUSH_ERR));
  CHECK(completer.writes.empty());
  CHECK(qp.ended.count == 0);
  CHECK(qp.ended.slots == 0);
  CHECK(qp.status.fault);
  qp.status.rnr = false;  // the requester has gone back
  TxDone flush = done(0, EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
  flush.tag.kind = kTxKindFlush;
  completer.end(flush);
  flush.tag.wqe_index = 1;
  completer.end(flush);
  REQUIRE(completer.writes.size() == 2);
  CHECK(completer.cqe(0).status == EXRNIC_CQE_STATUS_RETRY_EXC_ERR);
  CHECK(completer.cqe(1).status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
}

TEST_CASE("A word that comes while an end, or a look at the queue pair, is in hand counts") {
  Completer completer;
  connect(completer);
  Qp& qp = completer.qps[kQpn];
  qp.sq.issued = 1;
  completer.dut().queues_silent_valid_i = 1;
  completer.dut().queues_silent_qpn_i = kQpn;
  SECTION("an end goes first") {
    pack(completer.dut().done_i, done(0));
    completer.dut().done_valid_i = 1;
    completer.wait_for("heard", kLimit, [&] { return !completer.heard.empty(); });
    CHECK(completer.heard == std::vector<bool>{true});
    CHECK_FALSE(qp.ended.withdrawn);
  }
  SECTION("it is withdrawn") { completer.cycle(); }
  SECTION("it is another's by then") {
    completer.cycle();
    completer.dut().queues_silent_qpn_i = kQpn + 1;
    completer.cycle();
  }
  completer.dut().done_valid_i = completer.dut().queues_silent_valid_i = 0;
  completer.rest();
  CHECK(qp.status.state == EXRNIC_QP_STATE_RTS);
  CHECK(completer.qp_errors == 0);
}

TEST_CASE("Who does not send, or is gone, does not fail for want of a word") {
  const auto state = GENERATE(EXRNIC_QP_STATE_RESET, EXRNIC_QP_STATE_RTR, EXRNIC_QP_STATE_ERROR);
  Completer completer;
  connect(completer);
  Qp& qp = completer.qps[kQpn];
  qp.status.state = state;
  qp.cfg.valid = state != EXRNIC_QP_STATE_RESET;
  completer.silent(kQpn);
  CHECK(qp.status.state == state);
  CHECK_FALSE(qp.ended.withdrawn);
  CHECK(completer.wakes.empty());
}

TEST_CASE("In ERROR whatever ends says that nothing is awaited") {
  Completer completer;
  connect(completer);
  Qp& qp = completer.qps[kQpn];
  qp.status.state = EXRNIC_QP_STATE_ERROR;
  qp.sq.issued = 7;
  completer.end(done(0));
  completer.end(done(1, EXRNIC_CQE_STATUS_WR_FLUSH_ERR));
  completer.end(segment(EXRNIC_CQE_STATUS_SUCCESS));
  CHECK(completer.heard == std::vector<bool>{true, true, true});
}

TEST_CASE("An acknowledgement is a word, that of a request or a question is not") {
  Completer completer;
  connect(completer);
  Qp& qp = completer.qps[kQpn];
  qp.sq.issued = 2;
  completer.end(segment(EXRNIC_CQE_STATUS_SUCCESS));
  completer.end(done(0));
  CHECK(completer.heard == std::vector<bool>{false, false});
  qp.sq.progress = 5;
  completer.end(done(1));
  CHECK(completer.heard.back() == false);
  qp.sq.issued = 3;
  qp.status.rnr = true;
  completer.end(done(2));
  CHECK(completer.heard.back() == true);
  qp.status.rnr = false;
  TxDone request = segment(EXRNIC_CQE_STATUS_SUCCESS);
  request.tag.opcode = GENERATE(EXRNIC_WQE_OPCODE_PULL, EXRNIC_WQE_OPCODE_FETCH_ADD);
  completer.end(request);
  CHECK(completer.heard.size() == 4);
  completer.end(done(3, EXRNIC_CQE_STATUS_LOC_PROT_ERR));
  CHECK(completer.heard.size() == 4);
}

}  // namespace
}  // namespace exrnic::testing
