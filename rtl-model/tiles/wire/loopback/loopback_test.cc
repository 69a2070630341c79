// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <deque>
#include <random>
#include <vector>

#include "Vloopback.h"
#include "exrnic_hw.h"
#include "rtl-model/testing/bench.h"
#include "rtl-model/testing/frame_beats.h"
#include "rtl-model/testing/neighbours.h"

namespace exrnic::testing {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr uint8_t kNode = 0x2a;
constexpr uint32_t kGroup = 0x1234;
constexpr size_t kBeat = sizeof(Vloopback::tx_data_i);
constexpr size_t kHeaders = EXRNIC_ETH_BYTES + EXRNIC_EFE_BYTES;

Bytes frame_to(uint64_t mac, size_t size, uint8_t mark) {
  Bytes frame(size, mark);
  exrnic_eth_set_dst(frame.data(), mac);
  return frame;
}
Bytes to_node(uint8_t node, size_t size, uint8_t mark = 0x5a) {
  return frame_to(uint64_t{EXRNIC_MAC_PREFIX} << 16 | node, size, mark);
}
Bytes to_group(size_t size, uint8_t mark = 0x5a) {
  return frame_to(uint64_t{EXRNIC_GROUP_MAC_PREFIX} << 16 | kGroup, size, mark);
}

using Source = FrameSource<kBeat>;
using Drain = FrameDrain<kBeat>;

class Loopback : public Bench<Vloopback> {
 public:
  Source sends, line_sends;
  Drain line_gets;
  Drain gets;                // all that efe_rx gets,
  std::vector<bool> looped;  // and which of them have gone round
  unsigned errors = 0;       // beats of these that are marked
  bool attached = false;
  bool line_open = true;
  bool line_error = false;  // marks all that comes from the line

  Loopback() {
    dut().cfg_node_i = kNode;
    dut().tx_valid_i = dut().line_rx_valid_i = 0;
    reset();
  }
  void cycle() override {
    drive();
    settle();
    dut().group_known_i = dut().group_look_o && dut().group_o == kGroup && attached;
    settle();
    sample();
    tick();
    settle();
  }
  void run(int limit = 2000) {
    wait_for("all frames", limit, [this] { return !sends.waits() && !line_sends.waits(); });
  }

  void run_until_one_ends() {
    wait_for("one to end", 200'000, [this] { return !sends.waits() || !line_sends.waits(); });
  }

  int counted() const { return events_[EXRNIC_COUNTER_FRAMES_LOOPED]; }

 private:
  void drive() {
    dut().tx_valid_i = sends.waits();
    if (sends.waits()) {
      dut().tx_sop_i = sends.first();
      dut().tx_eop_i = sends.last();
      dut().tx_bytes_i = static_cast<uint8_t>(sends.bytes());
      sends.put(dut().tx_data_i);
    }
    dut().line_rx_valid_i = line_sends.waits();
    if (line_sends.waits()) {
      dut().line_rx_sop_i = line_sends.first();
      dut().line_rx_eop_i = line_sends.last();
      dut().line_rx_bytes_i = static_cast<uint8_t>(line_sends.bytes());
      line_sends.put(dut().line_rx_data_i);
    }
    dut().line_tx_ready_i = line_open;
    dut().line_rx_error_i = line_error;
  }
  void sample() {
    if (dut().rx_valid_o) {
      if (dut().rx_sop_o) looped.push_back(dut().rx_looped_o);
      gets.broken |= looped.back() != static_cast<bool>(dut().rx_looped_o);
      errors += dut().rx_error_o;
      gets.take(dut().rx_data_o, dut().rx_bytes_o, dut().rx_sop_o, dut().rx_eop_o);
    }
    if (dut().line_tx_valid_o && dut().line_tx_ready_i)
      line_gets.take(dut().tx_data_i, dut().tx_bytes_i, dut().tx_sop_i, dut().tx_eop_i);
    events_.sample();
    const bool sent = dut().tx_valid_i && dut().tx_ready_o;
    const bool came = dut().line_rx_valid_i && dut().line_rx_ready_o;
    if (sent) sends.taken();
    if (came) line_sends.taken();
  }

  Events<Vloopback> events_{dut()};
};

TEST_CASE(
    "A frame to the own node goes round and is on no line; all others are on the line alone") {
  Loopback loop;
  const std::vector<Bytes> others = {to_node(kNode + 1, 100), to_node(0, kHeaders), to_group(200)};
  const std::vector<Bytes> own = {to_node(kNode, 68), to_node(kNode, 4164), to_node(kNode, 61)};
  for (size_t i = 0; i < 3; ++i) {
    loop.sends.frames.push_back(others[i]);
    loop.sends.frames.push_back(own[i]);
  }
  loop.run();
  CHECK(loop.line_gets.frames == others);
  CHECK(loop.gets.frames == own);
  CHECK(loop.looped == std::vector<bool>(3, true));
  CHECK(loop.counted() == 3);
  CHECK_FALSE((loop.gets.broken || loop.line_gets.broken));
}

TEST_CASE("A frame that goes round is padded as a MAC does it") {
  for (size_t size = kHeaders; size < EXRNIC_ETH_FRAME_MIN + 2; ++size) {
    CAPTURE(size);
    Loopback loop;
    loop.sends.frames.push_back(to_node(kNode, size));
    loop.run();
    REQUIRE(loop.gets.frames.size() == 1);
    const Bytes& came = loop.gets.frames[0];
    CHECK(came.size() == std::max<size_t>(size, EXRNIC_ETH_FRAME_MIN));
    CHECK(std::equal(came.begin(), came.begin() + static_cast<long>(size),
                     to_node(kNode, size).begin()));
  }
}

TEST_CASE("Of a datagram to a group a copy goes round if a queue pair of this node is attached") {
  for (const bool attached : {false, true}) {
    Loopback loop;
    loop.attached = attached;
    loop.sends.frames = {to_group(120, 1), to_node(3, 70, 2), to_group(60, 3)};
    loop.run();
    CHECK(loop.line_gets.frames ==
          std::vector<Bytes>{to_group(120, 1), to_node(3, 70, 2), to_group(60, 3)});
    const std::vector<Bytes> copies = {to_group(120, 1), to_group(60, 3)};
    CHECK(loop.gets.frames == (attached ? copies : std::vector<Bytes>{}));
    CHECK(loop.counted() == (attached ? 2 : 0));
  }
}

TEST_CASE("A copy for a group waits for the line without holding up what comes from there") {
  Loopback loop;
  loop.attached = true;
  loop.line_open = false;
  loop.sends.frames = {to_group(120)};
  for (int i = 0; i < 5; ++i) loop.line_sends.frames.push_back(to_node(kNode, 80));
  for (int i = 0; i < 100; ++i) loop.cycle();
  CHECK(loop.gets.frames.size() == 5);
  CHECK(loop.line_gets.frames.empty());
  loop.line_open = true;
  loop.run();
  CHECK(loop.line_gets.frames.size() == 1);
  CHECK(loop.gets.frames.size() == 6);
}

size_t beats(size_t bytes) { return (bytes + kBeat - 1) / kBeat; }

TEST_CASE("The line's mark of an error is with what comes from there, and with nothing else") {
  for (const bool error : {false, true}) {
    Loopback loop;
    loop.line_error = error;
    loop.sends.frames = {to_node(kNode, 100), to_node(kNode, 200)};
    loop.line_sends.frames = {to_node(kNode, 2 * kBeat)};
    while (loop.line_sends.frames.front().size() < EXRNIC_ETH_FRAME_MIN)
      loop.line_sends.frames.front().resize(EXRNIC_ETH_FRAME_MIN);
    const size_t beats = (loop.line_sends.frames.front().size() + kBeat - 1) / kBeat;
    loop.run();
    CHECK(loop.gets.frames.size() == 3);
    CHECK(loop.errors == (error ? beats : 0));
  }
}

TEST_CASE("What goes round and what comes from the line take turns, as many beats of each") {
  for (const auto& [round, line] : {std::pair<size_t, size_t>{300, 100}, {4164, 60}, {68, 4164}}) {
    CAPTURE(round, line);
    Loopback loop;
    for (int i = 0; i < 200; ++i) {
      loop.sends.frames.push_back(to_node(kNode, round));
      loop.line_sends.frames.push_back(to_node(kNode, line));
    }
    std::array<size_t, 2> had{};  // by line, round
    loop.run_until_one_ends();
    for (const bool looped : loop.looped) {
      had[looped] += beats(looped ? round : line);
      const size_t longest = std::max(beats(round), beats(line));
      REQUIRE(std::max(had[0], had[1]) - std::min(had[0], had[1]) <= longest);
    }
  }
}

TEST_CASE("What one sends while the other has nothing to send counts for no turn") {
  constexpr size_t kBytes = 80;
  for (const bool line : {false, true}) {
    CAPTURE(line);
    Loopback loop;
    Source& alone = line ? loop.line_sends : loop.sends;
    for (int i = 0; i < 200; ++i) alone.frames.push_back(to_node(kNode, kBytes));
    loop.run();
    loop.looped.clear();
    for (int i = 0; i < 20; ++i) {
      loop.sends.frames.push_back(to_node(kNode, kBytes));
      loop.line_sends.frames.push_back(to_node(kNode, kBytes));
    }
    loop.run_until_one_ends();
    int ahead = 0;
    for (const bool looped : loop.looped) {
      ahead += looped ? 1 : -1;
      REQUIRE(std::abs(ahead) <= 1);
    }
  }
}

TEST_CASE("Each frame arrives whole and in its order, whatever comes and waits") {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto one_of = [&](unsigned n) { return random() % n; };
    Loopback loop;
    std::vector<Bytes> round, out, in;
    for (int i = 0; i < 60; ++i) {
      const size_t size = EXRNIC_ETH_FRAME_MIN + one_of(i % 5 == 0 ? 4000 : 100);
      const auto mark = static_cast<uint8_t>(random());
      const unsigned kind = one_of(3);
      const Bytes frame = kind == 0   ? to_node(kNode, size, mark)
                          : kind == 1 ? to_node(7, size, mark)
                                      : to_group(size, mark);
      loop.sends.frames.push_back(frame);
      if (kind != 0) out.push_back(frame);
      if (kind != 1) round.push_back(frame);
      in.push_back(to_node(kNode, EXRNIC_ETH_FRAME_MIN + one_of(500), mark));
    }
    loop.attached = true;
    std::deque<Bytes> coming(in.begin(), in.end());
    loop.wait_for("all frames", 60'000, [&] {
      loop.line_open = one_of(4) != 0;
      if (!coming.empty() && one_of(12) == 0) {
        loop.line_sends.frames.push_back(coming.front());
        coming.pop_front();
      }
      return coming.empty() && !loop.sends.waits() && !loop.line_sends.waits();
    });
    std::vector<Bytes> from_line, from_self;
    REQUIRE(loop.looped.size() == loop.gets.frames.size());
    for (size_t i = 0; i < loop.looped.size(); ++i)
      (loop.looped[i] ? from_self : from_line).push_back(loop.gets.frames[i]);
    CHECK(from_self == round);
    CHECK(from_line == in);
    CHECK(loop.line_gets.frames == out);
    CHECK_FALSE((loop.gets.broken || loop.line_gets.broken));
  }
}

}  // namespace
}  // namespace exrnic::testing
