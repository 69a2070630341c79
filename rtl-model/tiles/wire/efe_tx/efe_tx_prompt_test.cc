// SPDX-License-Identifier: BSD-2-Clause
// What is prompt depends on the network alone: on no payload, and on nobody who takes ends.
#include <catch2/catch_test_macros.hpp>

#include "rtl-model/tiles/wire/efe_tx/efe_tx_segments.h"

namespace exrnic::testing {
namespace {

constexpr uint8_t kNode = 2;

TxDesc prompt(EfeTx& tx, uint16_t index = 0) {
  TxDesc desc = tagged(tx.allocate_prompt(), kNode, 8, index);
  desc.inlined = desc.prompt = true;
  put_bytes(desc.inline_data, pattern(8, index));
  desc.tag.kind = kTxKindSegment;
  return desc;
}

bool window_room(EfeTx& tx, bool prompt) {
  tx.dut().window_node_i = kNode;
  tx.dut().window_prompt_i = prompt;
  tx.settle();
  return tx.dut().window_room_o;
}

TEST_CASE(
    "What is prompt passes segments whose payload has not come, and is numbered as it leaves") {
  EfeTx tx;
  const uint8_t first = tx.allocate();
  tx.submit(tagged(first, kNode, 5, 1));
  send(tx, kNode, pattern(5, 2), 2);
  for (const uint16_t i : {3, 4}) {
    tx.submit(prompt(tx, i));
    const Frame frame = tx.next_frame(100);
    CHECK(frame.seq() == kFirst + i - 3);
    CHECK(frame.segment() == join(kTagged, pattern(8, i)));
  }
  tx.run(100);
  REQUIRE(tx.frames.empty());
  tx.load(first, pattern(5, 1));
  for (const uint16_t i : {1, 2}) {
    const Frame frame = tx.next_frame();
    CHECK(frame.seq() == kFirst + 1 + i);
    CHECK(frame.segment() == join(kTagged, pattern(5, i)));
  }
  tx.acknowledge({kNode, session_to(kNode), kFirst + 4});
  tx.run(50);
  REQUIRE(tx.prompt_dones.size() == 2);
  REQUIRE(tx.dones.size() == 2);
  for (unsigned i = 0; i < 2; ++i) {
    CHECK(tx.prompt_dones[i].tag.wqe_index == 3 + i);
    CHECK(tx.dones[i].tag.wqe_index == 1 + i);
    CHECK(tx.dones[i].seq == kFirst + 2 + i);
  }
  CHECK(tx.dut().idle_o);
}

TEST_CASE("Segments that wait for their payload leave slots to what is prompt") {
  EfeTx tx;
  for (uint16_t i = 0; i < kTxPayloadSlots; ++i) tx.submit(tagged(tx.allocate(), kNode, 5, i));
  CHECK_FALSE(tx.dut().alloc_payload_valid_o);
  CHECK_FALSE(window_room(tx, false));
  for (uint16_t i = 0; i < 3 * kTxSlots; ++i) {
    REQUIRE(tx.dut().alloc_valid_o);
    REQUIRE(window_room(tx, true));
    tx.submit(prompt(tx, i));
    REQUIRE(tx.next_frame(100).seq() == kFirst + i);
    tx.acknowledge({kNode, session_to(kNode), kFirst + i + 1});
  }
  CHECK(tx.prompt_dones.size() == 3 * kTxSlots);
  CHECK(tx.dones.empty());
}

TEST_CASE("What is prompt takes no more slots than it leaves") {
  EfeTx tx;
  uint16_t taken = 0;
  for (; window_room(tx, true); ++taken) tx.submit(prompt(tx, taken));
  CHECK(taken == kTxSlots / 2);
  CHECK(tx.dut().alloc_payload_valid_o);
}

TEST_CASE("Nobody takes ends: those of other work keep their slots, and what is prompt goes on") {
  EfeTx tx;
  tx.dut().done_ready_i = 0;
  constexpr uint16_t kRounds = 3 * kTxSlots;
  uint16_t payloads = 0;
  for (uint16_t i = 0; i < kRounds; ++i) {
    const bool payload = tx.dut().alloc_payload_valid_o;
    if (payload) send(tx, kNode, pattern(8, i), payloads++);
    tx.submit(prompt(tx, i));
    const unsigned frames = payload ? 2 : 1;
    for (unsigned frame = 0; frame < frames; ++frame) tx.next_frame(200);
    tx.acknowledge({kNode, session_to(kNode), kFirst + i + 1u + payloads});
  }
  CHECK(payloads == kTxPayloadSlots);
  CHECK(tx.prompt_dones.size() == kRounds);
  CHECK(tx.dones.empty());
  CHECK_FALSE(tx.dut().idle_o);
  tx.dut().done_ready_i = 1;
  tx.run(2 * kTxSlots);
  REQUIRE(tx.dones.size() == kTxPayloadSlots);
  for (uint16_t i = 0; i < kTxPayloadSlots; ++i) CHECK(tx.dones[i].tag.wqe_index == i);
  CHECK(tx.dut().idle_o);
}

TEST_CASE("What is prompt is given up with its node, sent or not, and says so") {
  EfeTx tx;
  const uint8_t waits = tx.allocate();
  tx.submit(tagged(waits, kNode, 5, 1));
  for (uint16_t i = 0; i < kTxSlotsPrompt; ++i) tx.submit(prompt(tx, i));
  tx.wait_for("the end", 30000, [&] { return tx.prompt_dones.size() == kTxSlotsPrompt; });
  for (const TxDone& done : tx.prompt_dones) {
    CHECK(done.node == kNode);
    CHECK(done.status == EXRNIC_CQE_STATUS_RETRY_EXC_ERR);
  }
  CHECK(tx.dones.empty());
  tx.load(waits, pattern(5, 1));
  CHECK(tx.next_done().status == EXRNIC_CQE_STATUS_RETRY_EXC_ERR);
  CHECK(tx.dut().idle_o);
}

}  // namespace
}  // namespace exrnic::testing
