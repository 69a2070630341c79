// SPDX-License-Identifier: BSD-2-Clause
#include <catch2/catch_test_macros.hpp>

#include "rtl-model/tiles/wire/efe_tx/efe_tx_segments.h"

namespace exrnic::testing {
namespace {

// With kRto a frame counts as lost when it is so old and a later one has arrived.
constexpr int kPatience = kRto / 4;

TEST_CASE("A frame counts as lost when a later one has arrived and it is old; it alone is resent") {
  EfeTx tx;
  for (uint16_t i = 0; i < 4; ++i) send(tx, 2, pattern(20, i), i);
  tx.wait_for("four frames", 300, [&] { return tx.frames.size() == 4; });
  tx.frames.clear();
  const RxAck sack = selective(2, kFirst + 1, kFirst + 1, 3);
  tx.acknowledge(sack);
  tx.run(kPatience / 2);
  CHECK(tx.frames.empty());
  const Frame frame = tx.next_frame(kPatience + 300);
  CHECK(frame.seq() == kFirst + 1);
  CHECK(frame.segment() == join(kTagged, pattern(20, 1)));
  for (int i = 0; i < 3; ++i) tx.acknowledge(sack);  // says nothing of the copy
  tx.run(kPatience + 300);
  CHECK(tx.frames.empty());
  send(tx, 2, pattern(20, 4), 4);
  CHECK(tx.next_frame().seq() == kFirst + 4);
  tx.acknowledge(selective(2, kFirst + 1, kFirst + 1, 7));  // so the copy is lost, too
  CHECK(tx.next_frame(kPatience + 300).seq() == kFirst + 1);
  CHECK(tx.counters[EXRNIC_COUNTER_RETRANSMITS] == 2);
  CHECK(tx.counters[EXRNIC_COUNTER_TIMEOUTS] == 0);
}

TEST_CASE(
    "Each of several lost frames is resent with its own number, past those that have arrived") {
  EfeTx tx;
  for (uint16_t i = 0; i < 8; ++i) send(tx, 2, pattern(20, i), i);
  tx.wait_for("eight frames", 600, [&] { return tx.frames.size() == 8; });
  tx.frames.clear();
  tx.run(kPatience);
  tx.acknowledge(selective(2, kFirst, kFirst, 0b1101110));  // 0, 1 and 5 are missing
  for (const uint16_t lost : {0, 1, 5}) {
    const Frame frame = tx.next_frame(600);
    CHECK(frame.seq() == kFirst + lost);
    CHECK(frame.segment() == join(kTagged, pattern(20, lost)));
  }
  tx.run(100);
  CHECK(tx.frames.empty());
}

TEST_CASE("Frames that arrive in another order are not resent") {
  EfeTx tx;
  for (uint16_t i = 0; i < 8; ++i) send(tx, 2, pattern(20, i), i);
  tx.wait_for("eight frames", 300, [&] { return tx.frames.size() == 8; });
  tx.acknowledge(selective(2, kFirst, kFirst, 1));
  tx.acknowledge(selective(2, kFirst, kFirst, 7));
  tx.acknowledge(selective(2, kFirst + 4, kFirst + 4, 1));
  tx.acknowledge({2, session_to(2), kFirst + 8});
  tx.run(2 * kRto);
  CHECK(tx.dones.size() == 8);
  CHECK(tx.counters[EXRNIC_COUNTER_RETRANSMITS] == 0);
}

TEST_CASE("An acknowledgement during a resend skips what has arrived") {
  EfeTx tx;
  for (uint16_t i = 0; i < 8; ++i) send(tx, 2, pattern(1000, i), i);
  tx.wait_for("eight frames", 1400, [&] { return tx.frames.size() == 8; });
  tx.frames.clear();
  tx.run(kPatience);
  tx.acknowledge(selective(2, kFirst, kFirst, 1 << 6));
  tx.acknowledge({2, session_to(2), kFirst + 6});
  tx.run(600);
  std::vector<uint32_t> resent;
  for (const Frame& frame : tx.frames) resent.push_back(frame.seq() - kFirst);
  REQUIRE(resent.size() >= 2);
  CHECK(resent.size() <= 4);
  CHECK(resent.back() == 6);
}

TEST_CASE("The time-out follows the round trip time, and doubles without an answer") {
  constexpr uint32_t kLongest = 60'000;
  EfeTx tx;
  tx.dut().settings_rto_cycles_i = kLongest;
  uint32_t seq = kFirst;
  const auto round_trip = [&](int cycles) {
    send(tx, 2, pattern(20, 1), 1);
    tx.next_frame();
    tx.run(cycles);
    tx.acknowledge({2, session_to(2), ++seq});
    tx.run(20);
  };
  const auto time_out = [&] {
    uint32_t cycles = 0;
    while (tx.frames.empty() && cycles < 2 * kLongest) tx.run(10), cycles += 10;
    tx.frames.clear();
    return cycles;
  };
  send(tx, 2, pattern(20, 1), 1);
  tx.next_frame();
  CHECK(time_out() > EXRNIC_RTO_CYCLES_FIRST - 100);  // nothing is known of the peer
  tx.acknowledge({2, session_to(2), ++seq});
  tx.run(20);
  for (int i = 0; i < 30; ++i) round_trip(3000);
  send(tx, 2, pattern(20, 1), 1);
  tx.next_frame();
  const uint32_t first = time_out();
  CHECK(first >= EXRNIC_RTO_CYCLES_LEAST - 100);
  CHECK(first < EXRNIC_RTO_CYCLES_LEAST + 400);
  const uint32_t second = time_out();
  CHECK(second >= 2 * EXRNIC_RTO_CYCLES_LEAST - 100);
  CHECK(second < 2 * EXRNIC_RTO_CYCLES_LEAST + 400);
}

TEST_CASE("A time-out resends the first missing frame; the others follow when it has arrived") {
  EfeTx tx;
  for (uint16_t i = 0; i < 4; ++i) send(tx, 2, pattern(20, i), i);
  tx.run(200);
  tx.acknowledge({2, session_to(2), kFirst + 1});
  tx.frames.clear();
  CHECK(tx.next_frame().seq() == kFirst + 1);
  tx.run(200);
  CHECK(tx.frames.empty());
  tx.acknowledge({2, session_to(2), kFirst + 2});
  CHECK(tx.next_frame(100).seq() == kFirst + 2);
  CHECK(tx.next_frame(100).seq() == kFirst + 3);
  tx.acknowledge({2, session_to(2), kFirst + 3});
  tx.run(200);
  CHECK(tx.frames.empty());
  CHECK(tx.counters[EXRNIC_COUNTER_TIMEOUTS] == 1);
}

TEST_CASE("A silent peer is given up after the retry limit, and a new session starts") {
  EfeTx tx;
  send(tx, 2, pattern(8, 0), 0);
  send(tx, 2, pattern(8, 1), 1);
  const uint8_t waiting = tx.allocate();
  tx.submit(tagged(waiting, 2, 8, 2));  // its payload takes long
  tx.run((kRetryLimit + 1) * (kRto + 300));
  REQUIRE(tx.dones.size() == 2);
  CHECK(tx.counters[EXRNIC_COUNTER_TIMEOUTS] == kRetryLimit + 1);
  CHECK(tx.counters[EXRNIC_COUNTER_RETRANSMITS] == kRetryLimit);
  CHECK(tx.counters[EXRNIC_COUNTER_PEERS_DEAD] == 1);
  CHECK(tx.frames.size() == 2 + kRetryLimit);
  tx.load(waiting, pattern(8, 2));
  for (uint16_t i = 0; i < 3; ++i) {
    const TxDone done = tx.next_done(100);
    CHECK(done.tag.wqe_index == i);
    CHECK(done.status == EXRNIC_CQE_STATUS_RETRY_EXC_ERR);
  }
  tx.frames.clear();
  send(tx, 2, pattern(8, 3), 3);
  const Frame frame = tx.next_frame();
  CHECK(frame.session() == session_to(2) + 1);
  CHECK(frame.seq() == kFirst);
  CHECK(frame.has(EXRNIC_EFE_FLAGS_SYN));
}

TEST_CASE("A restarted peer has its frames given up; one that knows our session has not") {
  EfeTx tx;
  send(tx, 2, pattern(8, 0), 0);
  tx.next_frame();
  tx.acknowledge({2, session_to(2), kFirst});
  tx.restart_peer(2, session_to(2));
  CHECK(tx.dones.empty());
  tx.restart_peer(2, 0);
  CHECK(tx.next_done(50).status == EXRNIC_CQE_STATUS_RETRY_EXC_ERR);
  send(tx, 2, pattern(8, 1), 1);
  const Frame frame = tx.next_frame();
  CHECK(frame.session() == session_to(2) + 1);
  CHECK(frame.seq() == kFirst);
  CHECK(frame.has(EXRNIC_EFE_FLAGS_SYN));
  CHECK(tx.counters[EXRNIC_COUNTER_PEERS_DEAD] == 0);
}

// Such as the answer to what a restarted peer says first.
TEST_CASE("What is submitted while frames are given up belongs to the new session") {
  EfeTx tx;
  constexpr uint16_t kCount = 20;
  for (uint16_t i = 0; i < kCount; ++i) send(tx, 2, pattern(8, i), i);
  for (uint16_t i = 0; i < kCount; ++i) tx.next_frame();
  tx.acknowledge({2, session_to(2), kFirst});
  const uint8_t slot = tx.allocate();
  tx.load(slot, pattern(8, kCount));
  tx.restart_peer(2, 0);
  CHECK(tx.dones.size() < kCount);
  tx.submit(tagged(slot, 2, 8, kCount));
  const Frame frame = tx.next_frame();
  CHECK(frame.session() == session_to(2) + 1);
  CHECK(frame.seq() == kFirst);
  CHECK(tx.dones.size() == kCount);
}

TEST_CASE("A peer that knows an older session of ours makes nothing lost while ours has SYN") {
  EfeTx tx;
  send(tx, 2, pattern(8, 0), 0);
  tx.next_frame();
  tx.restart_peer(2, 0x0bad);
  CHECK(tx.dones.empty());
  tx.acknowledge({2, session_to(2), kFirst});
  tx.restart_peer(2, 0x0bad);
  CHECK(tx.next_done(50).status == EXRNIC_CQE_STATUS_RETRY_EXC_ERR);
}

TEST_CASE("A new frame waits until the older ones to its node are resent") {
  EfeTx tx;
  for (uint16_t i = 0; i < 5; ++i) send(tx, 2, pattern(200, i), i);
  tx.run(300);
  tx.frames.clear();
  tx.run(kPatience);
  tx.acknowledge(selective(2, kFirst, kFirst, 1 << 3));
  send(tx, 2, pattern(8, 5), 5);
  for (const uint32_t i : {0, 1, 2, 3, 5}) CHECK(tx.next_frame(300).seq() == kFirst + i);
}

TEST_CASE("A resend to one peer does not keep another waiting") {
  EfeTx tx;
  for (uint16_t i = 0; i < 30; ++i) send(tx, 2, pattern(300, i), i);
  tx.run(1200);
  REQUIRE(tx.frames.size() == 30);
  tx.frames.clear();
  tx.acknowledge(selective(2, kFirst, kFirst, 1 << 28));
  send(tx, 3, pattern(8, 0));
  tx.run(200);
  REQUIRE(tx.frames.size() >= 3);
  CHECK((tx.frames[0].dst_node() == 3 || tx.frames[1].dst_node() == 3 ||
         tx.frames[2].dst_node() == 3));
}

}  // namespace
}  // namespace exrnic::testing
