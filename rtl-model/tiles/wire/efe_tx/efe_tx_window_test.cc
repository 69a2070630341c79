// SPDX-License-Identifier: BSD-2-Clause
#include <catch2/catch_test_macros.hpp>

#include "rtl-model/tiles/wire/efe_tx/efe_tx_segments.h"

namespace exrnic::testing {
namespace {

constexpr uint8_t kPeer = 2;

// Small frames to one node, counted.
struct Stream {
  Stream() {
    tx.dut().settings_rto_cycles_i = 1'000'000;  // no time-out
  }
  // So many leave within that time.
  std::size_t leave(int cycles = 1200) {
    tx.run(cycles);
    const std::size_t left = tx.frames.size();
    sent += left;
    tx.frames.clear();
    return left;
  }
  void post(unsigned count) {
    for (unsigned i = 0; i < count; ++i) send(tx, kPeer, pattern(8, i));
  }
  void acknowledge(uint32_t count, bool ece = false) {
    RxAck ack{kPeer, session_to(kPeer), acked += count};
    ack.ece = ece;
    tx.acknowledge(ack);
  }

  EfeTx tx;
  std::size_t sent = 0;
  uint32_t acked = kFirst;
};

TEST_CASE("As many frames leave as the window is large, and it doubles while nothing is marked") {
  Stream stream;
  stream.post(110);
  CHECK(stream.leave() == EXRNIC_WINDOW_INITIAL);
  stream.acknowledge(1);
  CHECK(stream.leave() == 2);
  stream.acknowledge(EXRNIC_WINDOW_INITIAL - 1);
  CHECK(stream.leave() == 2 * (EXRNIC_WINDOW_INITIAL - 1));
  stream.acknowledge(10);
  CHECK(stream.leave() == 10);  // the largest window is 64
}

TEST_CASE("An echoed mark takes half a frame off the window for each frame it acknowledges") {
  Stream stream;
  stream.post(110);
  stream.leave();
  stream.acknowledge(16, true);
  CHECK(stream.leave() == 32 - 8 - 16);
  // From here on it grows by a sixteenth for each.
  for (int i = 0; i < 24; ++i) stream.acknowledge(1);
  CHECK(stream.leave() == 25);  // 25.5
  for (int i = 0; i < 25; ++i) stream.acknowledge(1);
  CHECK(stream.leave() > 25);
}

TEST_CASE("A frame that is acknowledged late counts as marked") {
  Stream stream;
  for (const int trip : {200, 7000, 7000, 7000, 7000}) {  // the time-out follows
    stream.post(1);
    CHECK(stream.leave(trip) == 1);
    stream.acknowledge(1);
  }
  stream.post(60);
  CHECK(stream.leave(EXRNIC_DELAY_CYCLES + 1000) == EXRNIC_WINDOW_INITIAL);
  stream.acknowledge(2);  // the others left later
  CHECK(stream.leave(2000) == 1);
  CHECK(stream.tx.counters[EXRNIC_COUNTER_TIMEOUTS] == 0);
}

TEST_CASE("A frame that is lost takes half a frame off the window") {
  Stream stream;
  stream.post(100);
  stream.leave();
  const RxAck sack = selective(kPeer, kFirst, kFirst + 8, 1);  // 8 is missing, 9 is there
  stream.tx.acknowledge(sack);
  CHECK(stream.leave(3000) == 1);  // again
  CHECK(stream.tx.counters[EXRNIC_COUNTER_RETRANSMITS] == 1);
  stream.acknowledge(2);  // the window was 32
  CHECK(stream.leave() == 1);
}

TEST_CASE("A window below a frame leaves one frame under way, spread over several round trips") {
  Stream stream;
  stream.post(32);
  stream.leave(3000);
  stream.acknowledge(32, true);
  for (int i = 0; i < 60; ++i) stream.acknowledge(0, true);
  stream.post(40);
  for (int i = 0; i < 2; ++i) {  // the first one has waited long enough, the second may catch up
    CHECK(stream.leave(1000) == 1);
    stream.acknowledge(1, true);
  }
  CHECK(stream.leave(7000) == 0);
  CHECK(stream.leave(30'000) > 0);
}

TEST_CASE("A peer whose window is closed leaves another its frames") {
  Stream stream;
  stream.post(50);
  stream.leave();
  send(stream.tx, 3, pattern(8, 0));
  CHECK(stream.tx.next_frame(200).dst_node() == 3);
}

TEST_CASE("Marks are echoed in an acknowledgement only while the receive side has some to tell") {
  EfeTx tx;
  tx.rx_states[kPeer] = {true, 0x5555, 7};
  tx.rx_states[kPeer].ece = true;
  tx.request_ack(kPeer);
  tx.wait_for("peer_ack_sent_o", 50, [&] { return tx.dut().peer_ack_sent_o; });
  CHECK(tx.dut().peer_query_node_o == kPeer);
  tx.cycle();
  tx.rx_states[kPeer].ece = false;
  CHECK(tx.next_frame().has(EXRNIC_EFE_FLAGS_ECE));
  tx.request_ack(kPeer);
  CHECK_FALSE(tx.next_frame().has(EXRNIC_EFE_FLAGS_ECE));
}

TEST_CASE("A greeting goes out again until the retries end, or something comes from the node") {
  EfeTx tx;
  tx.request_ack(kPeer);
  for (int i = 0; i <= kRetryLimit; ++i) {
    const Frame frame = tx.next_frame(kRto + 1000);
    CHECK(frame.flags() == EXRNIC_EFE_FLAGS_SYN);
    CHECK(frame.session() == session_to(kPeer));
  }
  tx.run(10 * kRto);
  CHECK(tx.frames.empty());
  CHECK(tx.dut().idle_o);
  CHECK(tx.counters[EXRNIC_COUNTER_TIMEOUTS] == 0);
  tx.request_ack(kPeer);
  tx.next_frame();
  tx.rx_states[kPeer] = {true, 0x5555, kFirst};
  tx.run(2 * kRto);
  CHECK(tx.frames.empty());
  CHECK(tx.dut().idle_o);
}

TEST_CASE("A peer that answers is not given up, however long it takes to place a frame") {
  EfeTx tx;
  send(tx, kPeer, pattern(8, 0));
  for (int i = 0; i < 3 * kRetryLimit; ++i) {
    tx.next_frame();
    tx.acknowledge({kPeer, session_to(kPeer), kFirst});
  }
  CHECK(tx.counters[EXRNIC_COUNTER_PEERS_DEAD] == 0);
  tx.acknowledge({kPeer, session_to(kPeer), kFirst + 1});
  CHECK(tx.next_done().status == EXRNIC_CQE_STATUS_SUCCESS);
}

}  // namespace
}  // namespace exrnic::testing
