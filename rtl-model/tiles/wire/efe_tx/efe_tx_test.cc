// SPDX-License-Identifier: BSD-2-Clause
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <set>

#include "rtl-model/tiles/wire/efe_tx/efe_tx_segments.h"

namespace exrnic::testing {
namespace {

TEST_CASE("Frames to a node leave in the order of submission, and wait for no other node") {
  EfeTx tx;
  const uint8_t first = tx.allocate();
  const uint8_t second = tx.allocate();
  const uint8_t other = tx.allocate();
  tx.submit(tagged(first, 2, 5, 1));
  tx.submit(tagged(second, 2, 5, 2));
  tx.submit(tagged(other, 3, 5, 3));
  tx.load(second, pattern(5, 2));
  tx.load(other, pattern(5, 3));
  CHECK(tx.next_frame(100).dst_node() == 3);
  tx.run(200);
  REQUIRE(tx.frames.empty());
  tx.load(first, pattern(5, 1));
  CHECK(tx.next_frame().segment() == join(kTagged, pattern(5, 1)));
  CHECK(tx.next_frame().segment() == join(kTagged, pattern(5, 2)));
}

// How many bytes of the frames so far went to each node.
std::map<uint8_t, std::size_t> bytes_to_nodes(const EfeTx& tx) {
  std::map<uint8_t, std::size_t> bytes;
  for (std::size_t i = 0; i < tx.frames.size(); ++i) bytes[tx.frames[i].dst_node()] += tx.sizes[i];
  return bytes;
}

TEST_CASE(
    "Nodes with frames of different sizes send as many bytes each, while they all have some") {
  EfeTx tx;
  tx.dut().enable_i = 0;
  tx.dut().settings_rto_cycles_i = 1'000'000;  // first copies only
  // The more frames are small, the earlier they must be out if bytes counted for nothing.
  for (uint16_t i = 0; i < 6; ++i) send(tx, 4, pattern(4096, i), i);
  for (uint16_t i = 0; i < 8; ++i) send(tx, 2, pattern(3000, i), i);
  for (uint16_t i = 0; i < 40; ++i) send(tx, 3, pattern(600, i), i);
  tx.run(12000);  // all payload is there
  tx.dut().enable_i = 1;
  tx.wait_for("two thirds of the frames", 20000, [&] { return tx.frames.size() == 36; });
  for (const auto& [node, bytes] : bytes_to_nodes(tx)) {
    CAPTURE(node, bytes);
    CHECK(bytes > 12000);
    CHECK(bytes < 23000);
  }
}

TEST_CASE("A node may hold as many slots as are free, and begin work with a quarter less") {
  EfeTx tx;
  const auto quota = [&](uint8_t node) {
    tx.dut().quota_node_i = node;
    tx.settle();
    return std::pair{tx.dut().quota_start_o != 0, tx.dut().quota_room_o != 0};
  };
  for (uint16_t held = 0; held < kTxPayloadSlots; ++held) {
    CAPTURE(held);
    const unsigned free = kTxSlots - held;
    const unsigned spare = free >= kTxSlots / 2 ? free : free - kTxSlotsPrompt;
    CHECK(quota(2) == std::pair{held == 0 || held < spare - spare / 4, held < spare});
    CHECK(quota(3) == std::pair{true, true});  // it holds nothing
    send(tx, 2, pattern(8, held), held);
  }
  CHECK(quota(2) == std::pair{false, false});
  CHECK_FALSE(quota(3).first);
  tx.dut().settings_rto_cycles_i = 100'000;
  acknowledge_all(tx, 2, kTxPayloadSlots);
  tx.run(200);
  CHECK(quota(2) == std::pair{true, true});
}

TEST_CASE("Work for a node that does not answer begins no more until it does") {
  EfeTx tx;
  send(tx, 2, pattern(8, 0), 0);
  tx.dut().quota_node_i = 2;
  tx.wait_for("a time-out", 10000, [&] { return tx.counters[EXRNIC_COUNTER_TIMEOUTS] == 1; });
  tx.run(10);
  CHECK_FALSE(tx.dut().quota_start_o);
  tx.acknowledge({2, session_to(2), kFirst + 1});
  tx.run(10);
  CHECK(tx.dut().quota_start_o);
}

TEST_CASE("A node that is given up delays no other") {
  EfeTx tx;
  for (uint16_t i = 0; i < 20; ++i) send(tx, 2, pattern(300, i), i);
  uint32_t sent = 0;
  for (; tx.counters[EXRNIC_COUNTER_PEERS_DEAD] == 0; ++sent) {
    REQUIRE(sent < 2000);
    send(tx, 3, pattern(300, sent), 0);
    // Behind the copies of one round for node 2 at most.
    for (int i = 0; i < 25; ++i) {
      const Frame frame = tx.next_frame(200);
      if (frame.dst_node() != 3) continue;
      CHECK(frame.seq() == kFirst + sent);
      break;
    }
    tx.acknowledge({3, session_to(3), kFirst + sent + 1});
    REQUIRE(tx.counters[EXRNIC_COUNTER_FRAMES_TX] < 100000);
  }
  CHECK(sent > 20);
}

TEST_CASE("A cumulative acknowledgement ends slots in order and frees them") {
  EfeTx tx;
  tx.dut().settings_rto_cycles_i = 100'000;
  for (uint16_t i = 0; i < kTxPayloadSlots; ++i) send(tx, 2, pattern(8, i), i);
  tx.run(1500);
  REQUIRE(tx.frames.size() == EXRNIC_WINDOW_INITIAL);
  CHECK_FALSE(tx.dut().alloc_payload_valid_o);
  CHECK(tx.dut().alloc_valid_o);
  CHECK_FALSE(tx.dut().idle_o);
  tx.acknowledge({2, session_to(2), kFirst + 20});
  tx.run(200);
  REQUIRE(tx.dones.size() == 20);
  acknowledge_all(tx, 2, kTxPayloadSlots);
  tx.run(200);
  REQUIRE(tx.dones.size() == kTxPayloadSlots);
  for (uint16_t i = 0; i < kTxPayloadSlots; ++i) {
    CHECK(tx.dones[i].tag.wqe_index == i);
    CHECK(tx.dones[i].seq == kFirst + i);
    CHECK(tx.dones[i].status == EXRNIC_CQE_STATUS_SUCCESS);
  }
  CHECK(tx.dut().idle_o);
  std::set<uint8_t> slots;
  for (unsigned i = 0; i < kTxSlots; ++i) slots.insert(tx.allocate_prompt());
  CHECK(slots.size() == kTxSlots);
}

TEST_CASE("A slot that is not sent takes no number, but its done comes in order") {
  EfeTx tx;
  send(tx, 2, pattern(8, 0), 0);
  const uint8_t poisoned = tx.allocate();
  tx.submit(tagged(poisoned, 2, 100, 1));
  tx.fail(poisoned, 100);
  TxDesc failed = tagged(tx.allocate(), 2, 16, 2);
  failed.unsent = true;
  failed.status = EXRNIC_CQE_STATUS_LOC_QP_OP_ERR;
  tx.load(failed.slot, pattern(16, 2));
  tx.submit(failed);
  send(tx, 2, pattern(8, 3), 3);
  CHECK(tx.next_frame().seq() == kFirst);
  CHECK(tx.next_frame().seq() == kFirst + 1);
  tx.run(100);
  CHECK(tx.dones.empty());
  tx.acknowledge({2, session_to(2), kFirst + 2});
  tx.run(50);
  REQUIRE(tx.dones.size() == 4);
  CHECK(tx.dones[0].status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(tx.dones[1].status == EXRNIC_CQE_STATUS_LOC_PROT_ERR);
  CHECK(tx.dones[2].status == EXRNIC_CQE_STATUS_LOC_QP_OP_ERR);
  CHECK(tx.dones[3].status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(tx.dones[3].seq == kFirst + 1);
}

TEST_CASE("An unsent slot ends with the status that it came with, even if its peer is given up") {
  EfeTx tx;
  send(tx, 2, pattern(8, 0), 0);
  TxDesc unsent = tagged(tx.allocate(), 2, 0, 1);
  unsent.unsent = true;
  tx.submit(unsent);  // with success: its work is done at home
  unsent.slot = tx.allocate();
  unsent.tag.wqe_index = 2;
  unsent.status = EXRNIC_CQE_STATUS_WR_FLUSH_ERR;
  tx.submit(unsent);
  CHECK(tx.next_done().status == EXRNIC_CQE_STATUS_RETRY_EXC_ERR);
  CHECK(tx.next_done().status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(tx.next_done().status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
  CHECK(tx.counters[EXRNIC_COUNTER_FRAMES_TX] == kRetryLimit + 1);
}

TEST_CASE("A slot that is not sent ends at once when nothing is before it, and is clean again") {
  EfeTx tx;
  const uint8_t slot = tx.allocate();
  tx.submit(tagged(slot, 2, 100));
  tx.fail(slot, 100);
  CHECK(tx.next_done(100).status == EXRNIC_CQE_STATUS_LOC_PROT_ERR);
  for (unsigned i = 0; i < kTxSlots; ++i) {
    send(tx, 2, pattern(10, i));
    REQUIRE(tx.next_frame().seq() == kFirst + i);
    tx.acknowledge({2, session_to(2), kFirst + i + 1});
    REQUIRE(tx.next_done().status == EXRNIC_CQE_STATUS_SUCCESS);
  }
}

TEST_CASE("A slot is not handed out again while its frame still leaves") {
  EfeTx tx;
  tx.dut().settings_rto_cycles_i = 100'000;
  constexpr uint16_t kFrames = EXRNIC_WINDOW_INITIAL;
  for (uint16_t i = 0; i < kFrames; ++i) send(tx, 2, pattern(64, i), i);
  tx.run(1500);
  tx.frames.clear();
  tx.dut().settings_rto_cycles_i = 1000;  // what is older than a quarter of that may be lost
  tx.acknowledge(selective(2, kFirst, kFirst, 1u << 30));
  tx.dut().tx_ready_i = 0;
  tx.acknowledge({2, session_to(2), kFirst + kFrames});
  tx.run(1000);
  const std::size_t dones = tx.dones.size();
  CHECK(dones < kFrames);
  tx.dut().tx_ready_i = 1;
  tx.run(1000);
  CHECK(tx.dones.size() == kFrames);
}

}  // namespace
}  // namespace exrnic::testing
