// SPDX-License-Identifier: BSD-2-Clause
// Introductions: what a queue pair learns of its peer, and what it takes from no other life of it.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "rtl-model/tiles/work/responder/responder_bench.h"

namespace exrnic::testing {
namespace {

RxDesc introduction(uint16_t from, uint16_t to, uint64_t offset = EXRNIC_INTRODUCTION_PLAIN) {
  RxDesc desc = write_segment(0);
  exrnic_ddp_tagged_set_stag(desc.ddp.data(), EXRNIC_INTRODUCTION_STAG);
  exrnic_ddp_tagged_set_to(desc.ddp.data(), offset);
  desc.src_generation = from;
  desc.dst_generation = to;
  return desc;
}

// Connected, and of its peer nothing is known yet.
Qp stranger() {
  Qp qp = receiving_qp();
  qp.peer = {};
  return qp;
}

TEST_CASE("A peer that does not know this life is answered, and has not met it yet") {
  for (const uint16_t known : {uint16_t{0}, uint16_t{kGeneration - 1}}) {
    Responder responder;
    responder.qps[kQpn] = stranger();
    responder.receive(introduction(kPeerGeneration, known));
    const QpPeer& peer = responder.qps[kQpn].peer;
    CHECK(peer.generation == kPeerGeneration);
    CHECK_FALSE(peer.met);
    CHECK(peer.changes == 1);
    CHECK(responder.wakes == std::vector<unsigned>{kQpn});
    CHECK(responder.order == "d");
    CHECK(responder.events[EXRNIC_COUNTER_SEGMENTS_PLACED] == 0);
  }
}

TEST_CASE("The two have met when the peer knows this life; it wants one more answer if it is new") {
  Responder responder;
  responder.qps[kQpn] = stranger();
  responder.receive(introduction(kPeerGeneration, kGeneration));
  CHECK(responder.qps[kQpn].peer.met);
  CHECK(responder.qps[kQpn].peer.changes == 1);
  responder.receive(introduction(kPeerGeneration, kGeneration));
  CHECK(responder.qps[kQpn].peer.met);
  CHECK(responder.qps[kQpn].peer.changes == 1);
}

TEST_CASE("Who waits for an answer gets one, though nothing is new: the last one may be lost") {
  Responder responder;
  responder.qps[kQpn] = receiving_qp();
  responder.receive(introduction(kPeerGeneration, kGeneration, EXRNIC_INTRODUCTION_ASKS));
  CHECK(responder.qps[kQpn].peer.met);
  CHECK(responder.qps[kQpn].peer.changes == 1);
  CHECK(responder.wakes == std::vector<unsigned>{kQpn});
  CHECK(responder.refusals.empty());
}

// How a peer that was met shows that it is another one now: with a number of its own, or with the
// same, as it does not know us.
RxDesc of_another_life() {
  const bool same_number = GENERATE(false, true);
  return introduction(same_number ? kPeerGeneration : kPeerGeneration + 1, 0,
                      GENERATE(EXRNIC_INTRODUCTION_PLAIN, EXRNIC_INTRODUCTION_ASKS));
}

TEST_CASE(
    "Requests for, or by, an earlier life of the peer end the queue pair: nobody answers them") {
  const RxDesc desc = of_another_life();
  Responder responder;
  responder.qps[kQpn] = receiving_qp();
  SECTION("a PULL of ours") { responder.pulls[kQpn] = {{}}; }
  SECTION("a read of its") { responder.reads[kQpn] = {{}}; }
  SECTION("one that was refused") { responder.qps[kQpn].refused.valid = true; }
  responder.receive(desc);
  const QpStatus& status = responder.qps[kQpn].status;
  CHECK(status.state == EXRNIC_QP_STATE_ERROR);
  CHECK(status.fault);
  CHECK(status.fault_status == EXRNIC_CQE_STATUS_REM_OP_ERR);
  CHECK(status.fault_detail == EXRNIC_TERM_CODE_STREAM);
  CHECK_FALSE(status.exact);
  CHECK_FALSE(status.told);
  CHECK(responder.qps[kQpn].peer.generation == 0);  // what is said of the old one reaches no other
  CHECK(responder.wakes == std::vector<unsigned>{kQpn});
  CHECK(responder.qp_errors == 1);
  CHECK(responder.refusals.empty());
  CHECK(responder.order == "sd");
}

TEST_CASE("Without such requests the queue pair goes on with a new life of its peer") {
  const RxDesc desc = of_another_life();
  Responder responder;
  responder.qps[kQpn] = receiving_qp();
  responder.receive(desc);
  CHECK(responder.qps[kQpn].status.state == EXRNIC_QP_STATE_RTS);
  CHECK(responder.qps[kQpn].peer.generation == desc.src_generation);
  CHECK(responder.qp_errors == 0);
}

TEST_CASE("An introduction is not among what is discarded behind a message without a receive") {
  Responder responder;
  responder.qps[kQpn] = receiving_qp();
  responder.qps[kQpn].rq_producer = responder.qps[kQpn].rq_consumer;
  responder.receive(send_segment(1, 0, 10));
  responder.receive(introduction(kPeerGeneration, kGeneration));
  CHECK(responder.events[EXRNIC_COUNTER_RX_DISCARDED] == 0);
}

TEST_CASE("What a new life of the peer sends waits for no message of the earlier one") {
  Receiver responder;
  responder.qps[kQpn].rq_producer = responder.qps[kQpn].rq_consumer;
  responder.receive(send_segment(1, 0, 10));
  responder.receive(introduction(kPeerGeneration + 1, 0));
  RxDesc desc = write_segment(8);
  desc.src_generation = kPeerGeneration + 1;
  responder.order.clear();
  responder.receive(desc);
  CHECK(responder.order == "wd");
}

TEST_CASE("UC: a new life of the peer counts its frames from the beginning") {
  Receiver responder;
  responder.qps[kQpn].cfg.service = EXRNIC_SERVICE_UC;
  const auto frame = [&](uint32_t number, RxDesc desc) {
    desc.unreliable = desc.first = true;
    desc.seq = number;
    responder.receive(desc);
  };
  for (uint32_t i = 0; i < 3; ++i) frame(i, write_segment(8));
  responder.receive(introduction(kPeerGeneration + 1, 0));
  RxDesc desc = write_segment(8);
  desc.src_generation = kPeerGeneration + 1;
  responder.order.clear();
  frame(0, desc);
  CHECK(responder.order == "wd");
  CHECK(responder.events[EXRNIC_COUNTER_UNRELIABLE_DROPPED] == 0);
}

TEST_CASE("A new life of the peer has not met this one, and what the old one sent is refused") {
  Responder responder;
  responder.qps[kQpn] = receiving_qp();
  responder.receive(introduction(kPeerGeneration + 1, 0));
  CHECK_FALSE(responder.qps[kQpn].peer.met);
  CHECK(responder.qps[kQpn].peer.generation == kPeerGeneration + 1);
  responder.receive(write_segment(8));
  CHECK(responder.refusal_code() == EXRNIC_TERM_CODE_STREAM);
  CHECK(responder.refusals[0].dst_generation == kPeerGeneration);  // whom it concerns
  CHECK(responder.refusals[0].src_generation == kGeneration);
  CHECK(responder.qps[kQpn].status.state == EXRNIC_QP_STATE_RTS);
}

TEST_CASE("An introduction for nobody is dropped, or refused if work waits for the answer") {
  const bool asks = GENERATE(false, true);
  Responder responder;
  responder.qps[kQpn] = stranger();
  RxDesc desc =
      introduction(kPeerGeneration, 0, asks ? EXRNIC_INTRODUCTION_ASKS : EXRNIC_INTRODUCTION_PLAIN);
  SECTION("no queue pair") { responder.qps[kQpn].cfg.valid = false; }
  SECTION("not connected yet") { responder.qps[kQpn].status.state = EXRNIC_QP_STATE_INIT; }
  SECTION("in ERROR") { responder.qps[kQpn].status.state = EXRNIC_QP_STATE_ERROR; }
  SECTION("of another peer") { ++desc.src_qpn; }
  SECTION("of datagrams") { responder.qps[kQpn].cfg.service = EXRNIC_SERVICE_UD; }
  SECTION("number too high") { desc.dst_qpn = EXRNIC_MAX_QP + kQpn; }
  responder.receive(desc);
  CHECK(responder.qps[kQpn].peer.generation == 0);
  CHECK(responder.refusals.size() == (asks ? 1 : 0));
  if (asks) CHECK(responder.refusal_code() == EXRNIC_TERM_CODE_STREAM);
  CHECK(responder.wakes.empty());
}

TEST_CASE("What was sent to, or by, another life is for nobody") {
  Responder responder;
  responder.qps[kQpn] = receiving_qp();
  RxDesc desc = write_segment(8);
  SECTION("to an earlier life") { --desc.dst_generation; }
  SECTION("by an earlier life of the peer") { --desc.src_generation; }
  SECTION("by one that knew nothing") { desc.dst_generation = 0; }
  responder.receive(desc);
  CHECK(responder.refusal_code() == EXRNIC_TERM_CODE_STREAM);
  CHECK(responder.xlate.requests.empty());
  CHECK(responder.qps[kQpn].status.state == EXRNIC_QP_STATE_RTS);
}

TEST_CASE("A terminate message for an earlier life ends nothing; one for this life does") {
  for (const bool mine : {false, true}) {
    Responder responder;
    responder.qps[kQpn] = receiving_qp();
    RxDesc desc = terminate_segment(EXRNIC_TERM_CODE_STREAM);
    desc.src_generation = 0;  // whoever refuses may not know us
    if (!mine) --desc.dst_generation;
    responder.receive(desc);
    CHECK(responder.qps[kQpn].status.state == (mine ? EXRNIC_QP_STATE_ERROR : EXRNIC_QP_STATE_RTS));
    CHECK(responder.qp_errors == (mine ? 1 : 0));
  }
}

TEST_CASE("UC: whose introduction is refused goes on alone, and nothing fails") {
  Responder responder;
  responder.qps[kQpn] = stranger();
  responder.qps[kQpn].cfg.service = EXRNIC_SERVICE_UC;
  responder.receive(terminate_segment(EXRNIC_TERM_CODE_STREAM));
  CHECK(responder.qps[kQpn].status.state == EXRNIC_QP_STATE_RTS);
  CHECK(responder.qps[kQpn].status.alone);
  CHECK(responder.qp_errors == 0);
  CHECK(responder.wakes == std::vector<unsigned>{kQpn});
  responder.receive(introduction(kPeerGeneration, kGeneration));  // it comes after all
  CHECK(responder.qps[kQpn].peer.met);
}

}  // namespace
}  // namespace exrnic::testing
