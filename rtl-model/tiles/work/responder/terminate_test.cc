// SPDX-License-Identifier: BSD-2-Clause
// Terminate messages of the peer.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "rtl-model/tiles/work/responder/responder_bench.h"

namespace exrnic::testing {
namespace {

TEST_CASE("A terminate message fails the oldest work request with its code") {
  const auto [code, status] = GENERATE(table<uint16_t, uint8_t>(
      {{EXRNIC_TERM_CODE_RDMAP_STAG, EXRNIC_CQE_STATUS_REM_ACCESS_ERR},
       {EXRNIC_TERM_CODE_NOT_INVALIDATED, EXRNIC_CQE_STATUS_REM_ACCESS_ERR},
       {EXRNIC_TERM_CODE_TAGGED_STAG, EXRNIC_CQE_STATUS_REM_ACCESS_ERR},
       {EXRNIC_TERM_CODE_TAGGED_BOUNDS, EXRNIC_CQE_STATUS_REM_ACCESS_ERR},
       {EXRNIC_TERM_CODE_TAGGED_STREAM, EXRNIC_CQE_STATUS_REM_ACCESS_ERR},
       {EXRNIC_TERM_CODE_TAGGED_WRAP, EXRNIC_CQE_STATUS_REM_ACCESS_ERR},
       {EXRNIC_TERM_CODE_ACCESS, EXRNIC_CQE_STATUS_REM_ACCESS_ERR},
       {EXRNIC_TERM_CODE_STREAM, EXRNIC_CQE_STATUS_REM_OP_ERR},
       {EXRNIC_TERM_CODE_OPCODE, EXRNIC_CQE_STATUS_REM_OP_ERR},
       {EXRNIC_TERM_CODE_TAGGED_VERSION, EXRNIC_CQE_STATUS_REM_OP_ERR},
       {EXRNIC_TERM_CODE_UNTAGGED_QN, EXRNIC_CQE_STATUS_REM_OP_ERR},
       {EXRNIC_TERM_CODE_UNTAGGED_NO_BUFFER, EXRNIC_CQE_STATUS_REM_OP_ERR},
       {EXRNIC_TERM_CODE_LOCAL_CATASTROPHIC, EXRNIC_CQE_STATUS_REM_OP_ERR},
       {0xffff, EXRNIC_CQE_STATUS_REM_OP_ERR}}));
  Responder responder;
  responder.qps[kQpn] = receiving_qp();
  RxDesc desc = terminate_segment(code);
  desc.ack = kAck + 3;
  responder.receive(desc);
  const QpStatus& fault = responder.qps[kQpn].status;
  CHECK(fault.state == EXRNIC_QP_STATE_ERROR);
  CHECK(fault.fault);
  CHECK(fault.fault_status == status);
  CHECK(fault.fault_detail == code);
  CHECK(fault.exact);
  CHECK(fault.fault_seq == kAck + 3);  // the peer placed all before this one
  CHECK_FALSE(fault.told);             // it may know nothing of this queue pair
  CHECK(responder.order == "sd");
  CHECK(responder.qp_errors == 1);
  CHECK(responder.wakes == std::vector<unsigned>{kQpn});
  CHECK(responder.events[EXRNIC_COUNTER_TERMINATES_RX] == 1);
}

RxDesc pause_segment(uint16_t code = EXRNIC_TERM_CODE_UNTAGGED_NO_BUFFER) {
  RxDesc desc = terminate_segment(code);
  desc.ack = kAck + 3;
  desc.rnr = true;
  desc.imm = kRnrTimer;
  return desc;
}

TEST_CASE("A queue pair that is asked for a pause knows which frame comes again, and lives on") {
  Responder responder;
  responder.qps[kQpn] = receiving_qp();
  responder.receive(pause_segment());
  const QpStatus& status = responder.qps[kQpn].status;
  CHECK(status.state == EXRNIC_QP_STATE_RTS);
  CHECK(status.rnr);
  CHECK(status.exact);
  CHECK(status.fault_seq == kAck + 3);
  CHECK_FALSE(status.fault);
  CHECK(responder.pauses == std::vector<unsigned>{kRnrTimer});
  CHECK(responder.wakes == std::vector<unsigned>{kQpn});
  CHECK(responder.qp_errors == 0);
  CHECK(responder.events[EXRNIC_COUNTER_RNR_NAK_RX] == 1);
  RxDesc again = pause_segment();  // it has not gone back yet
  again.ack = kAck + 9;
  responder.receive(again);
  CHECK(responder.qps[kQpn].status.fault_seq == kAck + 3);
  CHECK(responder.pauses.size() == 1);
}

TEST_CASE("Whoever asks for a pause of what cannot have been a message is taken to terminate") {
  Responder responder;
  responder.qps[kQpn] = receiving_qp();
  RxDesc desc = pause_segment();
  SECTION("a PULL is under way") { responder.pulls[kQpn].push_back({}); }
  SECTION("the queue pair cannot send yet") {
    responder.qps[kQpn].status.state = EXRNIC_QP_STATE_RTR;
  }
  SECTION("another code") { desc = pause_segment(EXRNIC_TERM_CODE_UNTAGGED_TOO_LONG); }
  responder.receive(desc);
  CHECK(responder.qps[kQpn].status.state == EXRNIC_QP_STATE_ERROR);
  CHECK(responder.pauses.empty());
  CHECK(responder.events[EXRNIC_COUNTER_RNR_NAK_RX] == 0);
}

TEST_CASE("A terminate message keeps what comes again: from there on nothing was placed") {
  Responder responder;
  Qp& qp = responder.qps[kQpn] = receiving_qp();
  qp.status.rnr = qp.status.exact = true;
  qp.status.fault_seq = 17;
  responder.receive(terminate_segment(EXRNIC_TERM_CODE_STREAM));
  CHECK(qp.status.state == EXRNIC_QP_STATE_ERROR);
  CHECK(qp.status.fault);
  CHECK(qp.status.rnr);
  CHECK(qp.status.exact);
  CHECK(qp.status.fault_seq == 17);
}

TEST_CASE("A terminate message too short for a code fails the work request without one") {
  Responder responder;
  responder.qps[kQpn] = receiving_qp();
  RxDesc desc = terminate_segment(0x1101);
  desc.length = 19;
  responder.receive(desc);
  CHECK(responder.qps[kQpn].status.fault_status == EXRNIC_CQE_STATUS_REM_OP_ERR);
  CHECK(responder.qps[kQpn].status.fault_detail == 0);
}

TEST_CASE("A terminate message is never answered, and means nothing to a pair in ERROR") {
  Responder responder;
  Qp qp = receiving_qp();
  RxDesc desc = terminate_segment(0x1101);
  SECTION("no such queue pair") { qp.cfg.valid = false; }
  SECTION("not the sender's peer") { qp.cfg.dest_qpn++; }
  SECTION("in error") { qp.status.state = EXRNIC_QP_STATE_ERROR; }
  SECTION("malformed") {
    qp.cfg.valid = false;
    desc.ddp[0] = 0, desc.ddp[1] = 7, desc.ddp[9] = 3;
  }
  responder.qps[kQpn] = qp;
  responder.receive(desc);
  CHECK(responder.order == "d");
  CHECK(responder.wakes.empty());
  CHECK(responder.qp_errors == 0);
}

}  // namespace
}  // namespace exrnic::testing
