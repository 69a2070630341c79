// SPDX-License-Identifier: BSD-2-Clause
// Frames between fake cores through whole networks.
#include "sim/topology/fabric.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "exrnic_hw.h"
#include "sim/testbed.h"
#include "sim/testing/fake_core.h"

namespace exrnic {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

constexpr size_t kFrameBytes = 1088;

TestbedOptions options_of(const char* profile, const std::string& topology) {
  TestbedOptions options;
  options.profile = load_profile(profile);
  options.topology = load_topology(topology, 2);
  return options;
}

Frame frame(uint64_t to, unsigned number) {
  Frame frame{Bytes(kFrameBytes)};
  exrnic_eth_set_dst(frame.data.data(), to);
  frame.data[100] = static_cast<uint8_t>(number);
  return frame;
}

void kick(Testbed& testbed, unsigned node) { testbed.node(node).device().mmio_write(0, 0, 4, 0); }

SwitchCounters sum_of(const Testbed& testbed) {
  SwitchCounters sum;
  for (size_t i = 0; i < testbed.fabric().switches(); ++i) {
    const SwitchCounters c = testbed.fabric().ethernet_switch(i).counters();
    sum.received += c.received;
    sum.sent += c.sent;
    sum.dropped += c.dropped;
    sum.unknown_station += c.unknown_station;
  }
  return sum;
}

// Every node sends a frame to every other.
void all_pairs(const TestbedOptions& options) {
  FakeCores cores;
  Testbed testbed(options, cores.factory());
  const unsigned nodes = testbed.nodes();
  for (unsigned from = 0; from < nodes; ++from) {
    for (unsigned to = 0; to < nodes; ++to) {
      if (to != from) cores[from].frames_out.push_back(frame(mac_address(to), from));
    }
    kick(testbed, from);
  }
  testbed.run_while_busy(100'000'000);
  CHECK_FALSE(testbed.busy());
  for (unsigned to = 0; to < nodes; ++to) {
    INFO("node " << to);
    std::vector<bool> from(nodes, false);
    for (const Frame& got : cores[to].frames_in) {
      CHECK(exrnic_eth_dst(got.data.data()) == mac_address(to));
      CHECK_FALSE(got.fcs_error);
      from[got.data[100]] = true;
    }
    CHECK(cores[to].frames_in.size() == nodes - 1);
    for (unsigned i = 0; i < nodes; ++i) CHECK(from[i] == (i != to));
  }
  CHECK(sum_of(testbed).dropped == 0);
  CHECK(sum_of(testbed).unknown_station == 0);
}

TEST_CASE("in every topology every node reaches every other, once") {
  for (const char* topology : {"back-to-back", "star:8", "ring:6", "two-levels:12"}) {
    INFO(topology);
    all_pairs(options_of("dc-25g", topology));
  }
}

TEST_CASE("the same with credits, where that is no circle") {
  for (const char* topology : {"back-to-back", "star:8", "ring:3", "two-levels:12"}) {
    INFO(topology);
    all_pairs(options_of("rhinet2", topology));
  }
}

// Seven nodes fill the line of node 0 for a long time. Returns what arrives there.
size_t incast(const TestbedOptions& options, unsigned frames, SwitchCounters& counters) {
  FakeCores cores;
  Testbed testbed(options, cores.factory());
  for (unsigned from = 1; from < testbed.nodes(); ++from) {
    for (unsigned i = 0; i < frames; ++i) {
      cores[from].frames_out.push_back(frame(mac_address(0), from));
    }
    kick(testbed, from);
  }
  testbed.run_while_busy(1'000'000'000);
  CHECK_FALSE(testbed.busy());
  counters = sum_of(testbed);
  for (size_t i = 0; i < testbed.fabric().switches(); ++i) {
    const SwitchCounters c = testbed.fabric().ethernet_switch(i).counters();
    if (options.profile.ethernet_switch.flow_control) {
      const uint64_t buffers = options.profile.ethernet.buffer_bytes *
                               testbed.fabric().ethernet_switch(i).ports().size();
      CHECK(c.queue_high_water <= buffers);
    } else {
      CHECK(c.queue_high_water <= options.profile.ethernet_switch.queue_bytes);
    }
  }
  return cores[0].frames_in.size();
}

TEST_CASE("with credits nothing is dropped when all send to one, at one switch or at many") {
  for (const char* topology : {"star:8", "two-levels:8"}) {
    INFO(topology);
    SwitchCounters counters;
    CHECK(incast(options_of("rhinet2", topology), 300, counters) == 7 * 300);
    CHECK(counters.dropped == 0);
  }
}

TEST_CASE("without credits the same drops, and what is sent and dropped is all that came") {
  TestbedOptions options = options_of("dc-25g", "star:8");
  options.profile.ethernet_switch.queue_bytes = 65'536;
  SwitchCounters counters;
  const size_t arrived = incast(options, 300, counters);
  CHECK(arrived < 7 * 300);
  CHECK(counters.received == 7 * 300);
  CHECK(counters.sent == arrived);
  CHECK(counters.dropped == 7 * 300 - arrived);
}

TEST_CASE("a circle of credits is refused before anything is built") {
  FakeCores cores;
  CHECK_THROWS_MATCHES(Testbed(options_of("rhinet2", "ring:8"), cores.factory()), DataFileError,
                       MessageMatches(ContainsSubstring("may wait for each other for ever")));
  CHECK(cores.cores.empty());
}

TEST_CASE("a frame to a group reaches every other node once, in a ring too") {
  for (const char* topology : {"star:5", "ring:6", "two-levels:9"}) {
    INFO(topology);
    FakeCores cores;
    Testbed testbed(options_of("dc-25g", topology), cores.factory());
    cores[1].frames_out.push_back(frame(0x01005e000001, 1));
    kick(testbed, 1);
    testbed.run_while_busy(10'000'000);
    CHECK_FALSE(testbed.busy());
    for (unsigned to = 0; to < testbed.nodes(); ++to) {
      CHECK(cores[to].frames_in.size() == (to == 1 ? 0 : 1));
    }
  }
}

TEST_CASE("a link's own rate and latency count, and those of the others stay") {
  TestbedOptions options = options_of("dc-25g", "star:3");
  options.topology->links[1].megabits_per_second = 1000;
  options.topology->links[2].latency_ns = 70'000;
  const auto arrival_ns = [&](unsigned to) {
    FakeCores cores;
    Testbed testbed(options, cores.factory());
    cores[0].frames_out.push_back(frame(mac_address(to), 0));
    kick(testbed, 0);
    REQUIRE(testbed.run_until([&] { return !cores[to].frames_in.empty(); }, 1'000'000) ==
            RunResult::kDone);
    return testbed.now_ns();
  };
  const uint64_t slow = arrival_ns(1), far = arrival_ns(2);
  options.topology->links[1].megabits_per_second.reset();
  const uint64_t plain = arrival_ns(1);
  const uint64_t on_line = (kPreambleBytes + kFrameBytes + kFcsBytes) * 8;
  CHECK(slow - plain >= on_line - on_line / 25 - 8);  // the clock of a core has 4 ns
  CHECK(slow - plain <= on_line - on_line / 25 + 8);
  CHECK(far - plain == 69'500);
}

TEST_CASE("faults strike the line whose end is named, and no other") {
  TestbedOptions options = options_of("dc-25g", "star:3");
  options.faults_at["switch0.1"].rates.drop = 1;
  FakeCores cores;
  Testbed testbed(options, cores.factory());
  for (unsigned from = 0; from < 3; ++from) {
    cores[from].frames_out.push_back(frame(mac_address((from + 1) % 3), from));
    kick(testbed, from);
  }
  testbed.run_while_busy(1'000'000);
  CHECK(cores[0].frames_in.size() == 1);
  CHECK(cores[1].frames_in.size() == 1);
  CHECK(cores[2].frames_in.empty());
  CHECK(testbed.fabric().line_towards("switch0.1")->counters().dropped == 1);
  CHECK(testbed.fabric().line_towards("switch0.2")->counters().dropped == 0);
  options.faults_at["switch0.3"].rates.drop = 1;
  CHECK_THROWS_MATCHES(Testbed(options, cores.factory()), DataFileError,
                       MessageMatches(ContainsSubstring("no link ends at 'switch0.3'")));
}

}  // namespace
}  // namespace exrnic
