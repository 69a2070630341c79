// SPDX-License-Identifier: BSD-2-Clause
// Who we are: what a queue pair tells its peer before it sends work, and when.
#include <catch2/catch_test_macros.hpp>

#include "rtl-model/tiles/work/requester/requester_bench.h"

namespace exrnic::testing {
namespace {

void expect_introduction(const TxDesc& desc, uint64_t offset, uint16_t peer) {
  CHECK_FALSE(desc.untagged);
  CHECK(exrnic_ddp_tagged_opcode(desc.ddp.data()) == EXRNIC_RDMAP_OPCODE_WRITE);
  CHECK(exrnic_ddp_tagged_last(desc.ddp.data()));
  CHECK(exrnic_ddp_tagged_stag(desc.ddp.data()) == EXRNIC_INTRODUCTION_STAG);
  CHECK(exrnic_ddp_tagged_to(desc.ddp.data()) == offset);
  CHECK(desc.length == 0);
  CHECK_FALSE(desc.unreliable);
  CHECK(desc.src_generation == 0x5c);
  CHECK(desc.dst_generation == peer);
  CHECK(desc.tag.kind ==
        (offset == EXRNIC_INTRODUCTION_ASKS ? kTxKindSegment : kTxKindIntroduction));
}

Qp stranger(uint16_t posted) {
  Qp qp = sending_qp(0, posted);
  qp.peer = {};
  qp.sq.introduced = false;
  return qp;
}

void post_push(Requester& requester) {
  const unsigned slots = put(requester, 0, push(0), {{0x10000, 0, kStag0}});
  requester.qps[kQpn] = sending_qp(0, static_cast<uint16_t>(slots));
}

TEST_CASE("A queue pair that is connected introduces itself, once") {
  for (const auto service : {EXRNIC_SERVICE_RC, EXRNIC_SERVICE_UC})
    for (const auto state : {EXRNIC_QP_STATE_RTR, EXRNIC_QP_STATE_RTS}) {
      Requester requester;
      requester.qps[kQpn] = stranger(0);
      requester.qps[kQpn].cfg.service = service;
      requester.qps[kQpn].status.state = state;
      for (int i = 0; i < 2; ++i) requester.turn(kQpn);
      REQUIRE(requester.submitted.size() == 1);
      expect_introduction(requester.submitted[0], EXRNIC_INTRODUCTION_PLAIN, 0);
      CHECK(requester.qps[kQpn].sq.introduced);
      CHECK_FALSE(requester.qps[kQpn].sq.asked);
      CHECK(requester.events[EXRNIC_COUNTER_WQES] == 0);
    }
}

TEST_CASE("Datagrams and queue pairs that are not connected introduce nobody") {
  Requester requester;
  requester.qps[kQpn] = stranger(0);
  SECTION("UD") { requester.qps[kQpn].cfg.service = EXRNIC_SERVICE_UD; }
  SECTION("INIT") { requester.qps[kQpn].status.state = EXRNIC_QP_STATE_INIT; }
  SECTION("ERROR") { requester.qps[kQpn].status.state = EXRNIC_QP_STATE_ERROR; }
  requester.turn(kQpn);
  CHECK(requester.submitted.empty());
}

TEST_CASE("Work waits for the peer: it asks once, is answered, and goes") {
  Requester requester;
  post_push(requester);
  requester.qps[kQpn].peer = {};
  for (int i = 0; i < 3; ++i) requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 1);
  expect_introduction(requester.submitted[0], EXRNIC_INTRODUCTION_ASKS, 0);
  CHECK(requester.qps[kQpn].sq.asked);
  requester.qps[kQpn].peer = {kPeerGeneration, true, 1};
  for (int i = 0; i < 3; ++i) requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 3);
  expect_introduction(requester.submitted[1], EXRNIC_INTRODUCTION_PLAIN, kPeerGeneration);
  CHECK(requester.submitted[2].tag.kind == kTxKindLast);
  CHECK(requester.submitted[2].dst_generation == kPeerGeneration);
}

TEST_CASE("Each change at the peer is answered once, with what is known of it then") {
  Requester requester;
  requester.qps[kQpn] = sending_qp(0, 0);
  requester.turn(kQpn);
  CHECK(requester.submitted.empty());
  requester.qps[kQpn].peer = {kPeerGeneration + 1, false, 15};
  for (int i = 0; i < 2; ++i) requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 1);
  expect_introduction(requester.submitted[0], EXRNIC_INTRODUCTION_PLAIN, kPeerGeneration + 1);
  CHECK(requester.qps[kQpn].sq.answered == 15);
}

TEST_CASE("Of whose introduction nothing was heard for long asks again") {
  Requester requester;
  post_push(requester);
  requester.qps[kQpn].peer = {};
  for (int i = 0; i < 2; ++i) requester.turn(kQpn);
  requester.asks = true;
  requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 2);
  expect_introduction(requester.submitted[1], EXRNIC_INTRODUCTION_ASKS, 0);
}

TEST_CASE("What needs no peer waits for none") {
  Requester requester;
  const uint8_t opcode = EXRNIC_WQE_OPCODE_LOCAL_INVALIDATE;
  for (const exrnic_wqe& wqe : {work(opcode), work(0)}) {
    const unsigned slots = put(requester, 0, wqe, {});
    requester.qps[kQpn] = sending_qp(0, static_cast<uint16_t>(slots));
    requester.qps[kQpn].peer = {};
    requester.submitted.clear();
    requester.turn(kQpn);
    REQUIRE(requester.submitted.size() == 1);
    CHECK(requester.submitted[0].unsent);
    CHECK_FALSE(requester.qps[kQpn].sq.needs_peer);
  }
}

TEST_CASE("What needs no peer waits for none, behind work that has waited either") {
  Requester requester;
  post_push(requester);
  requester.qps[kQpn].sq.needs_peer = true;
  requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 1);
  CHECK_FALSE(requester.qps[kQpn].sq.needs_peer);
}

TEST_CASE("UC sends also when nobody is there") {
  Requester requester;
  post_push(requester);
  requester.qps[kQpn].cfg.service = EXRNIC_SERVICE_UC;
  requester.qps[kQpn].peer = {};
  requester.qps[kQpn].status.alone = true;
  requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 1);
  CHECK(requester.submitted[0].unreliable);
  CHECK(requester.submitted[0].dst_generation == 0);
}

}  // namespace
}  // namespace exrnic::testing
