// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "Vdma_write.h"
#include "rtl-model/testing/bench.h"
#include "rtl-model/testing/records.h"

namespace exrnic::testing {
namespace {

constexpr uint32_t kSeed = 2112;
constexpr unsigned kClients = 2;
constexpr unsigned kInlineBytes = 32;
constexpr uint64_t kPcieBoundary = 4096;
constexpr unsigned kCommandBits =
    2 + 64 + kChunkBits + kRxAddressBits + 8 * kInlineBytes + 1 + kNodeBits;

enum Kind : unsigned { kNone, kFrame, kInline, kMsix };  // dma_write_kind_e

struct Command {
  Kind kind = kNone;
  uint64_t address = 0;
  unsigned length = 0;
  unsigned src = 0;
  std::vector<uint8_t> data;  // kInline
  bool frame_done = false;
  unsigned node = 0;
};

// What came out at the PCIe side: a memory write, or an interrupt.
struct Tlp {
  bool msix = false;
  uint64_t address = 0;
  unsigned length = 0;
  std::vector<uint8_t> data;
};

uint8_t rx_byte(unsigned address) {
  return static_cast<uint8_t>((address % kRxBytes) * 0x9e3779b1u >> 24);
}

class DmaWriteCmd : public Bench<Vdma_write> {
 public:
  DmaWriteCmd() {
    dut().cmd_valid_i = 0;
    dut().wr_ready_i = 0;
    dut().fence_i = 0;
    dut().cfg_max_payload_i = 256;
    reset();
  }

  void cycle() override {
    settle();
    taken_clients = dut().cmd_valid_i & dut().cmd_ready_o;
    const unsigned rx_address = dut().rx_read_address_o;
    accepted = dut().wr_valid_o && dut().wr_ready_i;
    if (accepted) sample_beat();
    tick();
    dut().cmd_valid_i &= static_cast<uint8_t>(~taken_clients);
    drive_rx_data(rx_address);
    settle();
    if (dut().frame_done_o) done_nodes.push_back(dut().frame_done_node_o);
    for (unsigned i = 0; i < EXRNIC_COUNTERS; ++i)
      (i == EXRNIC_COUNTER_MSIX ? interrupts : others_counted) += get_bit(dut().event_o, i);
  }

  void drive_command(unsigned client, const Command& command) {
    dut().cmd_valid_i |= static_cast<uint8_t>(1u << client);
    Packer(dut().cmd_i[client], kCommandBits)
        .field(command.kind, 2)
        .field(command.address, 64)
        .field(command.length, kChunkBits)
        .field(command.src, kRxAddressBits)
        .bytes(command.data, 8 * kInlineBytes)
        .field(command.frame_done, 1)
        .field(command.node, kNodeBits);
  }
  void put(const Command& command, unsigned client = 0) {
    drive_command(client, command);
    wait_for("the command to be taken", 20, [&] { return dut().cmd_valid_i == 0; });
  }
  void drain() {
    dut().wr_ready_i = 1;
    wait_for("idle_o", 2000, [&] { return dut().idle_o != 0; });
  }

  std::deque<Tlp> tlps;  // complete ones
  std::vector<unsigned> done_nodes;
  int interrupts = 0;
  int others_counted = 0;
  int beats = 0;
  bool accepted = false;  // a beat, in the last cycle
  unsigned taken_clients = 0;
  unsigned rx_end = ~0u;  // from here on the receive buffer is being stored to

 private:
  void sample_beat() {
    ++beats;
    if (dut().wr_sop_o) {
      REQUIRE(rest_ == 0);
      tlp_ = Tlp{dut().wr_msix_o != 0, dut().wr_address_o, dut().wr_length_o, {}};
      rest_ = tlp_.length;
    } else {
      REQUIRE(rest_ > 0);
    }
    const unsigned bytes = std::min(rest_, kDataBytes);
    Unpacker fields(dut().wr_data_o, 8 * kDataBytes);
    const std::vector<uint8_t> data = fields.bytes(8 * kDataBytes);
    tlp_.data.insert(tlp_.data.end(), data.begin(), data.begin() + bytes);
    rest_ -= bytes;
    REQUIRE(bool{dut().wr_eop_o != 0} == (rest_ == 0));
    if (rest_ == 0) tlps.push_back(tlp_);
  }

  // The receive buffer: data follows its address by one cycle.
  void drive_rx_data(unsigned address) {
    std::vector<uint8_t> data(kDataBytes);
    for (unsigned i = 0; i < kDataBytes; ++i)
      data[i] = address + i < rx_end ? rx_byte(address + i) : ++stored_;
    Packer(dut().rx_read_data_i, 8 * kDataBytes).bytes(data, 8 * kDataBytes);
  }

  Tlp tlp_;
  unsigned rest_ = 0;
  uint8_t stored_ = 0;
};

Command frame(uint64_t address, unsigned length, unsigned src) {
  Command command;
  command.kind = kFrame;
  command.address = address;
  command.length = length;
  command.src = src;
  return command;
}

Command inline_write(uint64_t address, std::vector<uint8_t> data) {
  Command command;
  command.kind = kInline;
  command.address = address;
  command.length = static_cast<unsigned>(data.size());
  command.data = std::move(data);
  return command;
}

Command msix(unsigned vector) {
  Command command;
  command.kind = kMsix;
  command.address = vector;
  return command;
}

// The specification: the TLPs of a command.
std::vector<Tlp> oracle(const Command& command, unsigned max_payload) {
  if (command.kind == kNone) return {};
  if (command.kind == kMsix) return {{true, command.address, 0, {}}};
  std::vector<Tlp> tlps;
  for (unsigned at = 0; at < command.length;) {
    Tlp tlp;
    tlp.address = command.address + at;
    const uint64_t to_boundary = kPcieBoundary - tlp.address % kPcieBoundary;
    tlp.length = std::min({command.length - at, max_payload, static_cast<unsigned>(to_boundary)});
    for (unsigned i = 0; i < tlp.length; ++i, ++at)
      tlp.data.push_back(command.kind == kFrame ? rx_byte(command.src + at) : command.data[at]);
    tlps.push_back(tlp);
  }
  return tlps;
}

void check_tlp(const Tlp& got, const Tlp& want) {
  REQUIRE(got.msix == want.msix);
  REQUIRE(got.address == want.address);
  REQUIRE(got.length == want.length);
  REQUIRE(got.data == want.data);
}

TEST_CASE("A frame write is cut at 4 KiB boundaries and at the largest payload") {
  DmaWriteCmd dma;
  dma.put(frame(0x1fe0, 0x150, 0x123));
  dma.drain();
  REQUIRE(dma.tlps.size() == 3);
  CHECK(dma.tlps[0].address == 0x1fe0);
  CHECK(dma.tlps[0].length == 0x20);
  CHECK(dma.tlps[1].address == 0x2000);
  CHECK(dma.tlps[1].length == 0x100);
  CHECK(dma.tlps[2].address == 0x2100);
  CHECK(dma.tlps[2].length == 0x30);
  CHECK(dma.tlps[0].data.front() == rx_byte(0x123));
  CHECK(dma.tlps[1].data.front() == rx_byte(0x143));
  CHECK(dma.tlps[2].data.back() == rx_byte(0x272));
}

TEST_CASE("A frame may wrap round the end of the receive buffer") {
  DmaWriteCmd dma;
  dma.put(frame(0x4000, 8, kRxBytes - 3));
  dma.drain();
  REQUIRE(dma.tlps.size() == 1);
  for (unsigned i = 0; i < 8; ++i) CHECK(dma.tlps[0].data[i] == rx_byte(kRxBytes - 3 + i));
}

TEST_CASE("Inline data is written from the command") {
  DmaWriteCmd dma;
  std::vector<uint8_t> data(kInlineBytes);
  for (unsigned i = 0; i < kInlineBytes; ++i) data[i] = static_cast<uint8_t>(0x40 + i);
  dma.put(inline_write(0x7fe0, data));
  dma.put(inline_write(0x8001, {0xaa}));
  dma.drain();
  REQUIRE(dma.tlps.size() == 2);
  check_tlp(dma.tlps[0], {false, 0x7fe0, 32, data});
  check_tlp(dma.tlps[1], {false, 0x8001, 1, {0xaa}});
}

TEST_CASE("Inline data that crosses a 4 KiB boundary is cut there too") {
  DmaWriteCmd dma;
  dma.put(inline_write(0x7ffd, {1, 2, 3, 4, 5}));
  dma.drain();
  REQUIRE(dma.tlps.size() == 2);
  check_tlp(dma.tlps[0], {false, 0x7ffd, 3, {1, 2, 3}});
  check_tlp(dma.tlps[1], {false, 0x8000, 2, {4, 5}});
}

TEST_CASE("An interrupt keeps its place behind the data that it speaks of, and is counted") {
  DmaWriteCmd dma;
  dma.put(inline_write(0x8000, {1, 2, 3}), 1);
  dma.put(msix(17), 1);
  dma.put(frame(0x9000, 40, 0), 0);
  dma.drain();
  REQUIRE(dma.tlps.size() == 3);
  CHECK_FALSE(dma.tlps[0].msix);
  CHECK(dma.tlps[1].msix);
  CHECK(dma.tlps[1].address == 17);
  CHECK_FALSE(dma.tlps[2].msix);
  CHECK(dma.interrupts == 1);
  CHECK(dma.others_counted == 0);
}

TEST_CASE("A segment is done only when PCIe has taken the last beat of its last write") {
  DmaWriteCmd dma;
  Command command = frame(0x4000, 2 * kDataBytes, 0);
  command.frame_done = true;
  command.node = 0x5a;
  dma.put(command);
  dma.dut().wr_ready_i = 1;
  dma.wait_for("the first beat", 10, [&] { return dma.beats == 1; });
  dma.dut().wr_ready_i = 0;
  for (int i = 0; i < 10; ++i) dma.cycle();
  CHECK(dma.done_nodes.empty());
  dma.dut().wr_ready_i = 1;
  dma.cycle();
  CHECK(dma.beats == 2);
  CHECK(dma.done_nodes == std::vector<unsigned>{0x5a});
  dma.drain();
  CHECK(dma.done_nodes.size() == 1);
}

TEST_CASE("A segment without data is done when all before it is written") {
  DmaWriteCmd dma;
  Command nothing;
  nothing.frame_done = true;
  nothing.node = 3;
  dma.put(nothing);
  for (int i = 0; i < 3; ++i) dma.cycle();
  CHECK(dma.done_nodes == std::vector<unsigned>{3});
  dma.put(frame(0x4000, 8, 0));
  dma.put(nothing);
  for (int i = 0; i < 10; ++i) dma.cycle();
  CHECK(dma.done_nodes.size() == 1);
  dma.drain();
  CHECK(dma.done_nodes.size() == 2);
  CHECK(dma.tlps.size() == 1);
}

TEST_CASE("While a beat waits, the next frame may be stored behind its bytes") {
  DmaWriteCmd dma;
  const Command last_words = frame(0x4000, 2 * kDataBytes + 3, 0x123);
  dma.rx_end = last_words.src + last_words.length;
  dma.put(last_words);
  dma.put(msix(17));
  for (unsigned beats = 1; !dma.dut().idle_o; ++beats) {
    REQUIRE(beats <= 4);
    dma.dut().wr_ready_i = 0;
    for (int i = 0; i < 5; ++i) dma.cycle();
    dma.dut().wr_ready_i = 1;
    dma.cycle();
    dma.dut().wr_ready_i = 0;
    dma.cycle();
  }
  REQUIRE(dma.tlps.size() == 2);
  check_tlp(dma.tlps[0], oracle(last_words, 256)[0]);
  CHECK(dma.tlps[1].msix);
}

TEST_CASE("Four commands are queued behind the one at the output") {
  DmaWriteCmd dma;
  for (int i = 0; i < 5; ++i) dma.put(frame(0x4000, 8, 0));
  dma.drive_command(0, frame(0x4000, 8, 0));
  for (int i = 0; i < 10; ++i) dma.cycle();
  CHECK(dma.dut().cmd_valid_i == 1);
  dma.drain();
  CHECK(dma.tlps.size() == 6);
}

TEST_CASE("A beat leaves in every cycle, across TLPs and commands") {
  DmaWriteCmd dma;
  dma.put(frame(0x4000, 16 * kDataBytes, 1));
  dma.put(inline_write(0x5000, {1, 2, 3}));
  dma.put(frame(0x6ff8, 16, 2));  // two TLPs of one beat
  dma.put(msix(1));
  dma.drive_command(0, frame(0x8000, 4 * kDataBytes, 3));
  constexpr int kBeats = 16 + 1 + 2 + 1 + 4;
  dma.dut().wr_ready_i = 1;
  dma.settle();
  for (int i = 0; i < kBeats; ++i) {
    dma.cycle();
    CHECK(dma.accepted);
  }
  dma.drain();
  CHECK(dma.beats == kBeats);
}

// Both clients keep asking; every TLP is compared with the specification.
class RandomTraffic {
 public:
  RandomTraffic(uint32_t seed, unsigned max_payload, unsigned ready_percent)
      : random_(seed), max_payload_(max_payload), ready_percent_(ready_percent) {
    dma_.dut().cfg_max_payload_i = static_cast<uint16_t>(max_payload);
  }

  void run(int commands) {
    for (int still = 0; taken_ < commands || !dma_.dut().idle_o; ++still) {
      REQUIRE(still < 1000);  // waited in vain for a beat
      if (taken_ < commands) ask();
      dma_.dut().wr_ready_i = random_() % 100 < ready_percent_;
      dma_.cycle();
      follow_commands();
      if (dma_.accepted) still = 0;
      for (; !dma_.tlps.empty(); dma_.tlps.pop_front()) {
        REQUIRE_FALSE(expected_.empty());
        check_tlp(dma_.tlps.front(), expected_.front());
        expected_.pop_front();
      }
    }
    CHECK(expected_.empty());
    CHECK(dma_.done_nodes == expected_nodes_);
    CHECK(dma_.interrupts == expected_interrupts_);
  }

 private:
  void ask() {
    for (unsigned client = 0; client < kClients; ++client) {
      if (dma_.dut().cmd_valid_i >> client & 1 || random_() % 3 == 0) continue;
      asked_[client] = random_command();
      dma_.drive_command(client, asked_[client]);
    }
  }

  Command random_command() {
    Command command;
    command.kind = static_cast<Kind>(random_() % 4);
    command.frame_done = random_() % 2;
    command.node = static_cast<unsigned>(random_() % kNNode);
    command.address = random_();
    if (random_() % 2) command.address = (command.address & ~uint64_t{4095}) - random_() % 40;
    if (command.kind == kMsix) command.address = random_() % EXRNIC_MSIX_VECTORS;
    if (command.kind == kInline) command.data.resize(1 + random_() % kInlineBytes);
    for (uint8_t& byte : command.data) byte = static_cast<uint8_t>(random_());
    command.length = static_cast<unsigned>(command.data.size());
    if (command.kind == kFrame)
      command.length = 1 + static_cast<unsigned>(random_() % (random_() % 2 ? 64 : 4096));
    command.src = static_cast<unsigned>(random_() % kRxBytes);
    return command;
  }

  void follow_commands() {
    for (unsigned client = 0; client < kClients; ++client) {
      if (!(dma_.taken_clients >> client & 1)) continue;
      const Command& command = asked_[client];
      for (const Tlp& tlp : oracle(command, max_payload_)) expected_.push_back(tlp);
      if (command.frame_done) expected_nodes_.push_back(command.node);
      expected_interrupts_ += command.kind == kMsix;
      ++taken_;
    }
  }

  std::mt19937_64 random_;
  unsigned max_payload_;
  unsigned ready_percent_;
  DmaWriteCmd dma_;
  std::array<Command, kClients> asked_;
  std::deque<Tlp> expected_;
  std::vector<unsigned> expected_nodes_;
  int expected_interrupts_ = 0;
  int taken_ = 0;
};

TEST_CASE("Random commands come out byte by byte in the order of acceptance") {
  for (unsigned max_payload : {128u, 256u, 4096u}) {
    for (unsigned ready_percent : {100u, 60u, 20u}) {
      const uint32_t seed = kSeed + max_payload + ready_percent;
      INFO("seed " << seed << ", max_payload " << max_payload << ", ready " << ready_percent);
      RandomTraffic(seed, max_payload, ready_percent).run(1000);
    }
  }
}

TEST_CASE("A fence ends when the writes before it have left, whatever comes behind") {
  DmaWriteCmd dma;
  const auto ask = [&dma] {
    dma.dut().fence_i = 1;
    dma.cycle();
    dma.dut().fence_i = 0;
  };
  ask();
  CHECK(dma.dut().fence_done_o);  // there are none
  dma.cycle();
  CHECK_FALSE(dma.dut().fence_done_o);
  dma.put(frame(0x1000, 300, 0));
  dma.put(inline_write(0x2000, {1, 2, 3}));
  ask();
  dma.put(inline_write(0x3000, {4}));
  for (int i = 0; i < 10; ++i) {
    CHECK_FALSE(dma.dut().fence_done_o);
    dma.cycle();
  }
  dma.dut().wr_ready_i = 1;
  dma.wait_for("the fence", 100, [&] { return dma.dut().fence_done_o != 0; });
  CHECK(dma.tlps.back().address == 0x2000);
  dma.cycle();
  CHECK_FALSE(dma.dut().fence_done_o);
  dma.drain();
  CHECK(dma.tlps.back().address == 0x3000);
}

TEST_CASE("A reset in the midst of writes and of a fence leaves nothing of them") {
  DmaWriteCmd dma;
  Command command = frame(0x4fff, 2 * kDataBytes, 0x123);
  command.frame_done = true;
  for (int i = 0; i < 4; ++i) dma.put(command, i % 2);
  dma.dut().wr_ready_i = 1;
  dma.wait_for("the first beat", 10, [&] { return dma.beats == 1; });
  dma.dut().wr_ready_i = 0;
  dma.dut().fence_i = 1;
  dma.cycle();
  dma.dut().fence_i = 0;
  dma.reset();
  CHECK(dma.dut().idle_o);
  CHECK_FALSE(dma.dut().wr_valid_o);
  for (int i = 0; i < 10; ++i) {
    CHECK_FALSE(dma.dut().fence_done_o);
    dma.cycle();
  }
  CHECK(dma.done_nodes.empty());
}

}  // namespace
}  // namespace exrnic::testing
