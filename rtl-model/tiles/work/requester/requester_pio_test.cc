// SPDX-License-Identifier: BSD-2-Clause
// Work requests whose slot came through the user page.
#include <catch2/generators/catch_generators.hpp>

#include "rtl-model/tiles/work/requester/requester_bench.h"

namespace exrnic::testing {
namespace {

exrnic_wqe named(uint32_t name, uint32_t length = 8) {
  exrnic_wqe wqe = push(length);
  wqe.remote_stag = name << 8;
  return wqe;
}

exrnic_wqe inlined(uint32_t length) {
  exrnic_wqe wqe = push(0);
  wqe.flags |= EXRNIC_WQE_FLAGS_INLINE;
  wqe.num_sge = 0;
  wqe.length = length;
  auto* bytes = reinterpret_cast<uint8_t*>(&wqe) + 32;
  for (uint32_t i = 0; i < 32; ++i) bytes[i] = static_cast<uint8_t>(i + 1);
  return wqe;
}

TEST_CASE("A held slot is executed without a read of the ring") {
  const uint32_t length = GENERATE(0u, 1u, 16u, 17u, 32u);
  const uint16_t index = GENERATE(uint16_t{0}, uint16_t{37}, uint16_t{0xffff});
  Requester requester;
  requester.qps[kQpn] = sending_qp(index, 1);
  requester.held[kQpn] = {index, inlined(length)};
  requester.turn(kQpn);
  CHECK(requester.wqe_reads.empty());
  CHECK(requester.held.empty());
  REQUIRE(requester.submitted.size() == 1);
  const TxDesc& desc = requester.submitted[0];
  CHECK(desc.tag.kind == kTxKindLast);
  CHECK(desc.tag.wqe_index == index);
  CHECK(desc.length == length);
  CHECK(desc.inlined);
  for (uint32_t i = 0; i < length; ++i) CHECK(desc.inline_data[i] == i + 1);
  CHECK(requester.qps[kQpn].sq.consumer == uint16_t(index + 1));
  CHECK(requester.events[EXRNIC_COUNTER_PIO_SENDS] == 1);
  CHECK(requester.events[EXRNIC_COUNTER_WQES] == 1);
}

TEST_CASE("A held slot may have elements; what is posted behind it comes from the ring") {
  Requester requester;
  fill_ring(requester);
  const uint16_t posted = GENERATE(uint16_t{2}, uint16_t{60});
  requester.qps[kQpn] = sending_qp(5, posted);
  requester.held[kQpn] = {5, gather(100, 200)};
  requester.held[kQpn].wqe.remote_stag = 0xabcd;
  requester.turn(kQpn);
  for (int turns = 0; requester.qps[kQpn].sq.consumer != uint16_t(5 + posted); ++turns) {
    REQUIRE(turns < 60);
    requester.turn(kQpn);
  }
  REQUIRE(requester.submitted.size() == posted);
  for (unsigned i = 1; i < posted; ++i)
    REQUIRE(unsigned{requester.submitted[i].ddp[5]} == ((5 + i) & 0xff));
  CHECK(requester.payload_reads[0].length == 100);
  CHECK(requester.payload_reads[1].length == 200);
  CHECK(requester.events[EXRNIC_COUNTER_PIO_SENDS] == 1);
}

TEST_CASE("A held slot is checked as one from the ring") {
  exrnic_wqe wqe = named(1);
  uint8_t status = EXRNIC_CQE_STATUS_LOC_QP_OP_ERR;
  SECTION("opcode") { wqe.opcode = 99; }
  SECTION("of a receive") { wqe.opcode = EXRNIC_WQE_OPCODE_RECV; }
  SECTION("flags") { wqe.flags = 0x80; }
  SECTION("elements of more slots") { wqe.num_sge = 3; }
  SECTION("more inline data than its slot has") { wqe = inlined(33); }
  SECTION("its length") {
    wqe.length = 9;
    status = EXRNIC_CQE_STATUS_LOC_LEN_ERR;
  }
  Requester requester;
  requester.qps[kQpn] = sending_qp(0, 1);
  requester.held[kQpn] = {0, wqe};
  requester.turn(kQpn);
  CHECK(requester.wqe_reads.empty());
  REQUIRE(requester.submitted.size() == 1);
  CHECK(requester.submitted[0].unsent);
  CHECK(requester.submitted[0].status == status);
  CHECK(requester.events[EXRNIC_COUNTER_WQE_ERRORS] == 1);
  CHECK(requester.qps[kQpn].sq.halted);
}

TEST_CASE("A held slot that is not the first one posted is dropped for the ring") {
  Requester requester;
  fill_ring(requester);
  requester.qps[kQpn] = sending_qp(4, 1);
  requester.held[kQpn] = {GENERATE(uint16_t{3}, uint16_t{5}), named(0x77)};
  requester.turn(kQpn);
  CHECK(requester.held.empty());
  REQUIRE(requester.submitted.size() == 1);
  CHECK(requester.submitted[0].ddp[5] == 4);
  CHECK(requester.events[EXRNIC_COUNTER_PIO_SENDS] == 0);
}

TEST_CASE("In ERROR, or behind a read of the peer, a held slot is dropped; nothing is lost") {
  const bool in_error = GENERATE(false, true);
  Requester requester;
  requester.turn(kQpn);  // for nothing: so a read goes before own work
  requester.ring[0] = named(1);
  requester.qps[kQpn] = sending_qp(0, 1);
  requester.held[kQpn] = {0, named(1)};
  if (in_error) {
    requester.qps[kQpn].status.state = EXRNIC_QP_STATE_ERROR;
  } else {
    requester.reads[kQpn].push_back({});
  }
  requester.turn(kQpn);
  CHECK(requester.held.empty());
  if (!in_error) requester.turn(kQpn);
  CHECK(requester.wqe_reads.size() == 1);
  CHECK(requester.qps[kQpn].sq.consumer == 1);
  CHECK(requester.events[EXRNIC_COUNTER_PIO_SENDS] == 0);
  CHECK(requester.submitted.back().unsent == in_error);
}

TEST_CASE("A held slot of a queue pair that was renewed meanwhile is not sent") {
  Requester requester;
  requester.qps[kQpn] = sending_qp(0, 1);
  requester.held[kQpn] = {0, inlined(8)};
  requester.ring[0] = inlined(8);
  requester.slots_left = false;
  requester.begin_turn(kQpn);
  for (int i = 0; i < 100; ++i) requester.cycle();
  requester.qps[kQpn].cfg.generation++;
  requester.slots_left = true;
  requester.rest();
  REQUIRE(requester.submitted.size() == 1);
  CHECK(requester.submitted[0].tag.kind == kTxKindResponse);  // only the slot goes back
  CHECK(requester.submitted[0].unsent);
  CHECK(requester.qps[kQpn].sq.consumer == 0);
}

}  // namespace
}  // namespace exrnic::testing
