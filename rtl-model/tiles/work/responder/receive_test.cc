// SPDX-License-Identifier: BSD-2-Clause
// Receives that are missing, too short, malformed or unreadable; shared receive queues.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "rtl-model/tiles/work/responder/responder_bench.h"

namespace exrnic::testing {
namespace {

// Its sender is asked for the pause of the queue pair, which lives on.
void check_paused(Responder& responder, const std::string& order = "rd") {
  CHECK(responder.order == order);
  CHECK(responder.refusal_code() == 0x1202);
  CHECK(responder.refusals.back().rnr);
  CHECK(responder.refusals.back().pause == kRnrTimer);
  CHECK(responder.qps[kQpn].status.state == EXRNIC_QP_STATE_RTS);
  CHECK(responder.xlate.requests.empty());
}

TEST_CASE("A message for which no receive is posted is asked to come again") {
  Receiver responder;
  responder.qps[kQpn].cfg.rnr_timer = kRnrTimer;
  responder.qps[kQpn].rq_consumer = responder.qps[kQpn].rq_producer;
  SECTION("send") { responder.receive(send_segment(1, 0, 8)); }
  SECTION("empty send") { responder.receive(send_segment(1, 0, 0)); }
  SECTION("immediate data") { responder.receive(immediate_segment(1, 0)); }
  check_paused(responder);
  CHECK(responder.events[EXRNIC_COUNTER_RNR_NAK_TX] == 1);
}

TEST_CASE("A pause that is put off leaves no trace: the message finds its receive later") {
  Receiver responder;
  responder.qps[kQpn].rq_consumer = responder.qps[kQpn].rq_producer;
  responder.in_force = true;
  responder.receive(send_segment(1, 0, 8, false));
  CHECK(responder.order == "d");
  CHECK(responder.put_offs == 1);
  CHECK(responder.credits.empty());
  CHECK(responder.events[EXRNIC_COUNTER_RNR_NAK_TX] == 0);
  CHECK(responder.events[EXRNIC_COUNTER_REFUSALS_PUT_OFF] == 1);
  responder.order.clear();
  --responder.qps[kQpn].rq_consumer;
  responder.receive(send_segment(1, 0, 8, false));
  responder.receive(send_segment(1, 8, 8));
  responder.receive(write_segment(8));
  CHECK(responder.order == "wdwdcwd");
  CHECK(responder.events[EXRNIC_COUNTER_RECVS] == 1);
}

TEST_CASE("A receive that failed is gone, though its refusal is put off: the sender hears later") {
  Receiver responder({{0x40000, 100, 1}, {0x50000, 50, 2}});
  responder.in_force = true;
  responder.receive(send_segment(1, 0, 151));
  CHECK(responder.order == "csd");
  CHECK(responder.put_offs == 1);
  CHECK(responder.qps[kQpn].status.state == EXRNIC_QP_STATE_ERROR);
  CHECK_FALSE(responder.qps[kQpn].status.told);
  responder.in_force = false;
  responder.receive(send_segment(1, 0, 151));
  CHECK(responder.ended.size() == 1);
  CHECK(responder.refusal_code() == EXRNIC_TERM_CODE_UNTAGGED_TOO_LONG);
  CHECK(responder.qps[kQpn].status.told);
}

TEST_CASE("Until the message comes again what was sent behind it is discarded") {
  Receiver responder;
  responder.qps[kQpn].cfg.rnr_timer = kRnrTimer;
  const uint16_t posted = responder.qps[kQpn].rq_producer;
  responder.qps[kQpn].rq_consumer = posted;
  responder.receive(send_segment(1, 0, 8, false));
  check_paused(responder);
  responder.order.clear();
  responder.receive(send_segment(1, 8, 8));
  responder.receive(send_segment(2, 0, 8));
  responder.receive(immediate_segment(3, 0));
  responder.receive(write_segment(8));
  CHECK(responder.order == "dddd");
  CHECK(responder.events[EXRNIC_COUNTER_RX_DISCARDED] == 4);
  responder.order.clear();
  responder.receive(send_segment(1, 0, 8, false));  // too early
  check_paused(responder);
  responder.order.clear();
  responder.qps[kQpn].rq_consumer = static_cast<uint16_t>(posted - 1);
  responder.receive(send_segment(1, 0, 8, false));
  responder.receive(send_segment(1, 8, 8));
  responder.receive(write_segment(8));
  CHECK(responder.order == "wdwdcwd");
  CHECK(responder.events[EXRNIC_COUNTER_RECVS] == 1);
  CHECK(responder.events[EXRNIC_COUNTER_RX_DISCARDED] == 4);
}

TEST_CASE("Each receive that is taken, or missing, is told with what it leaves to the sender") {
  Receiver responder;
  const uint16_t posted = responder.qps[kQpn].rq_producer;
  RxDesc asks = send_segment(1, 0, 8, false);
  asks.ask = true;
  responder.receive(asks);
  responder.receive(send_segment(1, 8, 8));
  REQUIRE(responder.credits.size() == 1);
  responder.receive(send_segment(2, 0, 8));  // there is none
  REQUIRE(responder.credits.size() == 2);
  for (const CreditTaken& taken : responder.credits) {
    CHECK(taken.qpn == kQpn);
    CHECK(taken.node == kPeer);
    CHECK(taken.peer == kPeerQpn);
    CHECK(taken.messages == 1);
    CHECK(taken.consumer == posted);
    CHECK(taken.lapsed);
  }
  post(responder, recv_wqe({kElement}));
  responder.receive(send_segment(2, 0, 8));
  REQUIRE(responder.credits.size() == 3);
  CHECK(responder.credits[2].messages == 2);
  CHECK(responder.credits[2].consumer == posted + 1);
  CHECK_FALSE(responder.credits[2].lapsed);
}

TEST_CASE("A message too long for its receive fails it; nothing of that segment is written") {
  Receiver responder({{0x40000, 100, 1}, {0x50000, 50, 2}});
  SECTION("at once") {
    responder.receive(send_segment(1, 0, 151));
    responder.check_failed(EXRNIC_CQE_STATUS_LOC_LEN_ERR, 0x1205);
  }
  SECTION("later") {
    responder.receive(send_segment(1, 0, 140, false));
    responder.receive(send_segment(1, 140, 11, false));
    responder.check_failed(EXRNIC_CQE_STATUS_LOC_LEN_ERR, 0x1205, "wwdcrsd");
  }
  CHECK(responder.qps[kQpn].rq_consumer == 1);
  responder.flush(kQpn);  // it has ended
  CHECK(responder.ended.size() == 1);
}

TEST_CASE("An element that its region does not cover fails the receive") {
  const auto status =
      GENERATE(kXlateStag, kXlateStream, kXlateAccess, kXlateWrap, kXlateBounds, kXlateMemory);
  Receiver responder({{0x40000, 100, 1}, {0x50000, 50, 2}});
  responder.region = [status](const XlateReq& request) {
    return request.stag == 1 ? translate_in_place(request) : refuse(status);
  };
  responder.receive(send_segment(1, 0, 101));
  responder.check_failed(EXRNIC_CQE_STATUS_LOC_PROT_ERR, 0x0000, "wcrsd");
  responder.flush(kQpn);
  CHECK(responder.ended.size() == 1);
}

TEST_CASE("A malformed receive completes with its error and is passed over") {
  auto words = recv_wqe({kElement, kElement, kElement});
  exrnic_wqe& wqe = header_of(words);
  uint8_t status = EXRNIC_CQE_STATUS_LOC_QP_OP_ERR;
  uint16_t last = 1;
  SECTION("opcode") { wqe.opcode = EXRNIC_WQE_OPCODE_SEND; }
  SECTION("flags") { wqe.flags = EXRNIC_WQE_FLAGS_SIGNALED; }
  SECTION("immediate data") { wqe.imm_data = 1; }
  SECTION("17 elements") { words = recv_wqe(std::vector<exrnic_sge>(17, kElement)), last = 4; }
  SECTION("more elements than its slots hold") { wqe.num_sge = 7; }
  SECTION("fewer elements than its slots are for") { wqe.num_sge = 2; }
  SECTION("no slots") { wqe.num_slots = 0, last = 0; }
  SECTION("six slots") { wqe.num_slots = 6, last = 0; }
  SECTION("more slots than are posted") { wqe.num_slots = 3, last = 0; }
  SECTION("length") { wqe.length++, status = EXRNIC_CQE_STATUS_LOC_LEN_ERR; }
  SECTION("sum beyond 2^32") {
    for (unsigned i = 2; i < 5; ++i) words[i][11] = 0x80;  // of each length
    wqe.length += 0x80000000;
    status = EXRNIC_CQE_STATUS_LOC_LEN_ERR;
  }
  SECTION("longer than a message can be") {
    for (unsigned i = 2; i < 5; ++i) words[i][11] = 0x40;
    wqe.length += 0xc0000000;
    status = EXRNIC_CQE_STATUS_LOC_LEN_ERR;
  }
  Receiver responder;
  responder.qps[kQpn].rq_producer = 0;
  post(responder, words);
  responder.receive(send_segment(1, 0, 8));
  responder.check_failed(status, 0x0000);
  CHECK(responder.ended.at(0).wqe_index == last);
  CHECK(responder.qps[kQpn].rq_consumer == last + 1);
}

TEST_CASE("A receive of 2^31 bytes is one that can be posted") {
  Receiver responder({{0x40000, 0x80000000, 1}});
  responder.receive(send_segment(1, 0, 8));
  CHECK(responder.order == "wdc");
}

TEST_CASE("A ring that cannot be read fails the receive; what is not needed of it need not be") {
  Receiver responder({kElement, kElement, kElement});
  std::string order = "crsd";
  SECTION("no page") { responder.memory.no_page = true; }
  SECTION("first slot") { responder.memory.refused.insert(kRqPbl); }
  SECTION("second slot") { responder.memory.refused.insert(kRqPbl + kWqeBytes); }
  SECTION("the slot behind it") {
    post(responder, recv_wqe({kElement}));
    responder.memory.refused.insert(kRqPbl + 2 * kWqeBytes);
    order = "wdc";
  }
  responder.receive(send_segment(1, 0, 8));
  CHECK(responder.order == order);
  if (order == "wdc") return;
  responder.check_failed(EXRNIC_CQE_STATUS_LOC_QP_OP_ERR, 0x0000);
  CHECK(responder.ended.at(0).wqe_index == 0);
  CHECK(responder.qps[kQpn].rq_consumer == 1);
}

// ---- Shared receive queues

struct SharedReceiver : Responder {
  explicit SharedReceiver(unsigned receives) {
    Qp qp = receiving_qp();
    qp.cfg.has_srq = true;
    qp.cfg.srqn = kSrqn;
    qp.rq_producer = 1;  // would be a receive, if it were its own
    qps[kQpn] = qps[kQpn + 1] = qp;
    srqs[kSrqn].cfg = {true, 0, kPd, kSrqLog, kSrqPbl};
    srqs[kSrqn].producer = srqs[kSrqn].consumer = 0xfffd;
    for (unsigned i = 0; i < receives; ++i)
      post(memory, kSrqPbl, kSrqLog, srqs[kSrqn].producer,
           recv_wqe({kElement, {0x60000, i, 3}, {0x70000, 0, 4}}));
  }
};

TEST_CASE("Queue pairs with a shared receive queue take its receives in turn") {
  SharedReceiver responder(3);
  RxDesc other = send_segment(1, 0, 200);
  other.dst_qpn++;
  responder.receive(send_segment(1, 0, 100));
  responder.receive(other);
  CHECK(responder.order == "wdcwdc");
  CHECK(responder.ended.at(0).wqe_index == 0xfffe);
  CHECK(responder.ended.at(1).wqe_index == 0);
  CHECK(responder.ended.at(1).qpn == kQpn + 1);
  CHECK(responder.srqs[kSrqn].consumer == 1);
  CHECK(responder.qps[kQpn].rq_consumer == 0);
  CHECK(responder.limit_events == 0);
}

TEST_CASE("A shared receive queue calls once when fewer slots than its limit are left") {
  SharedReceiver responder(3);
  responder.srqs[kSrqn].limit = 4;
  responder.receive(send_segment(1, 0, 1));  // leaves four: not fewer
  CHECK(responder.limit_events == 0);
  CHECK(responder.srqs[kSrqn].limit == 4);
  responder.receive(send_segment(2, 0, 1));  // two
  CHECK(responder.limit_events == 1);
  CHECK(responder.srqs[kSrqn].limit == 0);
  responder.receive(send_segment(3, 0, 1));
  CHECK(responder.limit_events == 1);
}

TEST_CASE("A message that finds a shared receive queue empty or gone is asked to come again") {
  SharedReceiver responder(1);
  SECTION("empty") { responder.receive(send_segment(1, 0, 1)); }
  SECTION("gone") { responder.srqs[kSrqn].cfg.valid = false; }
  responder.order.clear();
  const auto msn = static_cast<uint32_t>(responder.ended.size() + 1);
  responder.qps[kQpn].cfg.rnr_timer = kRnrTimer;
  responder.receive(send_segment(msn, 0, 1));
  CHECK(responder.order == "rd");
  CHECK(responder.refusal_code() == 0x1202);
  CHECK(responder.refusals.back().rnr);
}

}  // namespace
}  // namespace exrnic::testing
