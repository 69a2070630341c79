// SPDX-License-Identifier: BSD-2-Clause
// Ends that the responder reports: messages that took a receive, and PULLs.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "rtl-model/tiles/work/completer/completer_bench.h"

namespace exrnic::testing {
namespace {

RxDone received(uint16_t wqe_index, exrnic_cqe_status status = EXRNIC_CQE_STATUS_SUCCESS) {
  RxDone done;
  done.qpn = kQpn;
  done.generation = kGeneration;
  done.wqe_index = wqe_index;
  done.byte_length = 0x80000000;
  done.signaled = true;
  done.opcode = EXRNIC_WQE_OPCODE_RECV;
  done.status = status;
  return done;
}
RxDone pulled(uint16_t wqe_index, exrnic_cqe_status status = EXRNIC_CQE_STATUS_SUCCESS) {
  RxDone done = received(wqe_index, status);
  done.opcode = EXRNIC_WQE_OPCODE_PULL;
  return done;
}

TEST_CASE("A message becomes a completion of the receive queue, with what it brought") {
  Completer completer;
  connect(completer);
  RxDone done = received(0xfffe);
  done.flags = EXRNIC_CQE_FLAGS_IMM | EXRNIC_CQE_FLAGS_SOLICITED;
  done.imm_data = 0xdeadbeef;
  done.group = 0x1234;
  completer.end(done);
  REQUIRE(completer.writes.size() == 1);
  CHECK(completer.xlate.requests.at(0).pbl_address == kRecvPbl);
  const exrnic_cqe cqe = completer.cqe(0);
  CHECK(cqe.timestamp == kTime);
  CHECK(cqe.wqe_index == 0xfffe);
  CHECK(cqe.group == 0x1234);
  CHECK(cqe.byte_length == 0x80000000);
  CHECK(cqe.imm_data == 0xdeadbeef);
  CHECK(cqe.qpn == kQpn);
  CHECK(cqe.detail == 0);
  CHECK(cqe.opcode == EXRNIC_WQE_OPCODE_RECV);
  CHECK(cqe.status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(cqe.flags == done.flags);
  CHECK(cqe.phase == 1);
  CHECK(completer.qps[kQpn].ended.count == 0);  // not one of the send queue's
}

TEST_CASE("A PULL becomes a completion of the send queue, if it is signaled") {
  Completer completer;
  connect(completer);
  RxDone quiet = pulled(3);
  quiet.signaled = false;
  completer.end(quiet);
  CHECK(completer.writes.empty());
  completer.end(pulled(4));
  CHECK(completer.xlate.requests.at(0).pbl_address == kPbl);
  CHECK(completer.cqe(0).opcode == EXRNIC_WQE_OPCODE_PULL);
  CHECK(completer.cqe(0).wqe_index == 4);
  CHECK(completer.cqe(0).flags == 0);
  CHECK(completer.qps[kQpn].ended.count == 0);
}

TEST_CASE("A receive that failed completes with its status, and changes no state") {
  const auto status = GENERATE(EXRNIC_CQE_STATUS_LOC_LEN_ERR, EXRNIC_CQE_STATUS_LOC_QP_OP_ERR,
                               EXRNIC_CQE_STATUS_LOC_PROT_ERR);
  Completer completer;
  connect(completer);
  RxDone failed = received(4, status);
  failed.signaled = false;
  completer.end(failed);
  CHECK(completer.cqe(0).status == status);
  CHECK(completer.cqe(0).detail == 0);
  CHECK(completer.qps[kQpn].status.state == EXRNIC_QP_STATE_RTS);
  CHECK(completer.qp_errors == 0);
  CHECK(completer.wakes.empty());
}

TEST_CASE("A PULL that is flushed gets the queue pair's cause, once; a receive never does") {
  Completer completer;
  connect(completer);
  fail_remotely(completer, 0);
  completer.end(received(0, EXRNIC_CQE_STATUS_WR_FLUSH_ERR));
  CHECK(completer.cqe(0).status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
  CHECK(completer.cqe(0).detail == 0);
  CHECK(completer.qps[kQpn].status.fault);

  completer.end(pulled(1, EXRNIC_CQE_STATUS_WR_FLUSH_ERR));
  completer.end(pulled(2, EXRNIC_CQE_STATUS_WR_FLUSH_ERR));
  CHECK(completer.cqe(1).status == EXRNIC_CQE_STATUS_REM_ACCESS_ERR);
  CHECK(completer.cqe(1).detail == EXRNIC_TERM_CODE_TAGGED_BOUNDS);
  CHECK_FALSE(completer.qps[kQpn].status.fault);
  CHECK(completer.cqe(2).status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
  CHECK(completer.cqe(2).detail == 0);
  CHECK(completer.qp_errors == 0);
}

TEST_CASE("A message that came before an error is a success in ERROR too") {
  Completer completer;
  connect(completer);
  fail_remotely(completer, 0);
  completer.end(received(0));
  completer.end(pulled(1));
  CHECK(completer.cqe(0).status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(completer.cqe(1).status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(completer.qps[kQpn].status.fault);
}

TEST_CASE("What the responder reports of a destroyed or reset queue pair is forgotten") {
  Completer completer;
  connect(completer);
  completer.qps[kQpn].cfg.generation++;
  completer.end(received(0));
  completer.end(pulled(0, EXRNIC_CQE_STATUS_WR_FLUSH_ERR));
  completer.qps[kQpn].cfg.generation--;
  completer.qps[kQpn].cfg.valid = false;
  completer.end(received(0, EXRNIC_CQE_STATUS_LOC_LEN_ERR));
  CHECK(completer.writes.empty());
  CHECK(completer.cq_errors == 0);
}

TEST_CASE("A receive whose completion is lost takes the queue pair to ERROR") {
  Completer completer;
  connect(completer);
  for (uint16_t i = 0; i < kEntries + 1; ++i) completer.end(received(i));
  CHECK(completer.writes.size() == kEntries);
  CHECK(completer.cq_errors == 1);
  CHECK(completer.overrun == kRecvCqn);
  CHECK(completer.events[EXRNIC_COUNTER_CQ_OVERRUNS] == 1);
  CHECK(completer.qps[kQpn].status.state == EXRNIC_QP_STATE_ERROR);
  CHECK(completer.qp_errors == 1);
  CHECK(completer.wakes == std::vector<unsigned>{kQpn});
}

RxDone drained() {
  RxDone done = received(0, EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
  done.drained = true;
  return done;
}

TEST_CASE("That a send queue has drained is told behind its last completion, and once") {
  Completer completer;
  connect(completer);
  Qp& qp = completer.qps[kQpn];
  qp.status.state = EXRNIC_QP_STATE_SQD;
  qp.status.drains = true;
  qp.status.told = true;  // which stays
  qp.sq.issued = 1;
  pack(completer.dut().done_i, done(0));
  completer.dut().done_valid_i = 1;
  completer.wait_for("done_ready_o", kLimit, [&] { return completer.dut().done_ready_o != 0; });
  completer.cycle();
  completer.dut().done_valid_i = 0;
  completer.end(drained());
  completer.end(drained());
  CHECK(completer.drained == std::vector<std::size_t>{1});
  CHECK(completer.writes.size() == 1);
  CHECK(qp.status.state == EXRNIC_QP_STATE_SQD);
  CHECK(qp.status.drains == qp.ended.drained);
  CHECK(qp.status.told);
  CHECK(completer.qp_errors == 0);
  CHECK(completer.wakes.back() == kQpn);
}

TEST_CASE("A queue pair that has failed, or begun another life, is not told of as drained") {
  Completer completer;
  connect(completer);
  Qp& qp = completer.qps[kQpn];
  qp.status.drains = true;
  SECTION("it has failed") { qp.status.state = EXRNIC_QP_STATE_ERROR; }
  SECTION("another life") {
    qp.status.state = EXRNIC_QP_STATE_SQD;
    qp.cfg.generation = kGeneration + 1;
  }
  completer.end(drained());
  CHECK(completer.drained.empty());
  CHECK(completer.qp_errors == 0);
}

TEST_CASE("What another makes of the status while it is told is not touched") {
  Completer completer;
  connect(completer);
  Qp& qp = completer.qps[kQpn];
  qp.status.state = EXRNIC_QP_STATE_SQD;
  qp.status.drains = true;
  completer.others_status_write = [&qp] { qp.status.told = !qp.status.told; };
  completer.end(drained());
  CHECK(completer.drained.size() == 1);
  CHECK(completer.statuses == 0);
}

// Both sources always have something; which ones are taken, in order: r(esponder), e(fe).
std::string turns(Completer& completer, const RxDone& done, int count) {
  TxDone quiet;
  quiet.tag.generation = kGeneration + 1;  // forgotten, so that there is no other work
  RxDone forgotten = done;
  forgotten.generation = kGeneration + 1;
  pack(completer.dut().done_i, quiet);
  pack(completer.dut().rx_done_i, forgotten);
  completer.dut().done_valid_i = completer.dut().rx_done_valid_i = 1;
  std::string order;
  while (static_cast<int>(order.size()) < count) {
    completer.settle();
    if (completer.dut().rx_done_ready_o) order += 'r';
    if (completer.dut().done_ready_o) order += 'e';
    completer.cycle();
  }
  return order;
}

TEST_CASE(
    "EFE and responder take turns, but the end of a PULL goes before what may have followed") {
  Completer completer;
  connect(completer);
  CHECK(turns(completer, received(0), 6) == "ererer");
  CHECK(turns(completer, pulled(0), 4) == "rrrr");
}

}  // namespace
}  // namespace exrnic::testing
