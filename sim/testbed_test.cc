// SPDX-License-Identifier: BSD-2-Clause
#include "sim/testbed.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "exrnic_hw.h"
#include "sim/host/in_process_host.h"
#include "sim/testing/fake_core.h"

namespace exrnic {
namespace {

TestbedOptions options_of(const char* profile, unsigned nodes) {
  TestbedOptions options;
  options.profile = load_profile(profile);
  options.nodes = nodes;
  return options;
}

Frame frame_to(unsigned node, uint8_t fill = 0) {
  Frame frame{Bytes(100, fill)};
  exrnic_eth_set_dst(frame.data.data(), mac_address(node));
  return frame;
}

// Wakes a core, so that it sends what the test has queued.
void kick(Testbed& testbed, unsigned node) { testbed.node(node).device().mmio_write(0, 0, 4, 0); }

TEST_CASE("a node's MAC address is the prefix of the specification and its identifier") {
  CHECK(mac_address(0) == uint64_t{EXRNIC_MAC_PREFIX} << 16);
  CHECK(mac_address(3) == (uint64_t{EXRNIC_MAC_PREFIX} << 16 | 3));
}

TEST_CASE("two nodes are back to back: a frame arrives after line time and latency") {
  FakeCores cores;
  Testbed testbed(options_of("dc-25g", 2), cores.factory());
  CHECK(testbed.fabric().switches() == 0);
  uint64_t sent_ns = 0, received_ns = 0;
  testbed.node(0).mac().observe([&](auto, const Bytes&) { sent_ns = testbed.now_ns(); });
  testbed.node(1).mac().observe([&](auto, const Bytes&) { received_ns = testbed.now_ns(); });
  cores[0].frames_out.push_back(frame_to(1, 0xaa));
  kick(testbed, 0);
  REQUIRE(testbed.run_until([&] { return !cores[1].frames_in.empty(); }, 10'000) ==
          RunResult::kDone);
  CHECK(cores[1].frames_in[0].data == frame_to(1, 0xaa).data);
  CHECK(received_ns - sent_ns == 500 + 35);  // (8 + 100 + 4) * 0.32 ns = 35.84 ns
}

TEST_CASE("with a profile that says so, two nodes have a switch between them") {
  FakeCores cores;
  Testbed testbed(options_of("rhinet2", 2), cores.factory());
  REQUIRE(testbed.fabric().switches() == 1);
  cores[0].frames_out.push_back(frame_to(1));
  kick(testbed, 0);
  testbed.run_for(100'000);
  CHECK(cores[1].frames_in.size() == 1);
  CHECK(testbed.fabric().ethernet_switch(0).counters().sent == 1);
}

TEST_CASE("among many nodes each frame reaches the node in its destination address only") {
  FakeCores cores;
  Testbed testbed(options_of("dc-25g", 5), cores.factory());
  for (unsigned to = 0; to < 5; ++to) {
    if (to != 2) cores[2].frames_out.push_back(frame_to(to, static_cast<uint8_t>(to)));
  }
  cores[2].frames_out.push_back(frame_to(77));
  kick(testbed, 2);
  testbed.run_for(100'000);
  for (unsigned to = 0; to < 5; ++to) {
    REQUIRE(cores[to].frames_in.size() == (to == 2 ? 0 : 1));
    if (to != 2) CHECK(cores[to].frames_in[0].data.back() == to);
  }
  CHECK(testbed.fabric().ethernet_switch(0).counters().unknown_station == 1);
}

TEST_CASE("one node alone has its link down") {
  FakeCores cores;
  Testbed testbed(options_of("dc-25g", 1), cores.factory());
  cores[0].frames_out.push_back(frame_to(1));
  kick(testbed, 0);
  testbed.run_for(10'000);
  CHECK(testbed.node(0).mac().counters().dropped_link_down == 1);
  CHECK(testbed.line_towards(0) == nullptr);
  CHECK_FALSE(cores[0].config.link_up);
}

TEST_CASE("a scripted fault strikes exactly its frame of its direction, with or without a switch") {
  const unsigned nodes = GENERATE(2u, 3u);
  TestbedOptions options = options_of("dc-25g", nodes);
  options.faults_towards[1].script[1] = Fault::kDrop;
  options.faults_towards[1].script[2] = Fault::kCorrupt;
  FakeCores cores;
  Testbed testbed(options, cores.factory());
  for (uint8_t i = 0; i < 4; ++i) {
    cores[0].frames_out.push_back(frame_to(1, i));
    cores[1].frames_out.push_back(frame_to(0, i));
  }
  kick(testbed, 0);
  kick(testbed, 1);
  testbed.run_for(100'000);
  CHECK(cores[0].frames_in.size() == 4);
  REQUIRE(cores[1].frames_in.size() == 3);
  CHECK_FALSE(cores[1].frames_in[0].fcs_error);
  CHECK(cores[1].frames_in[1].fcs_error);
  CHECK(cores[1].frames_in[2].data == frame_to(1, 3).data);
}

TEST_CASE("the same seed gives the same run, another seed another") {
  const auto received = [](uint64_t seed) {
    TestbedOptions options = options_of("dc-25g", 2);
    options.seed = seed;
    options.faults = parse_faults("drop=0.2,duplicate=0.2,reorder=0.2,corrupt=0.1");
    FakeCores cores;
    Testbed testbed(options, cores.factory());
    for (int i = 0; i < 200; ++i) cores[0].frames_out.push_back(frame_to(1, i));
    kick(testbed, 0);
    testbed.run_for(1'000'000);
    std::vector<Bytes> frames;
    for (const Frame& frame : cores[1].frames_in) frames.push_back(frame.data);
    return frames;
  };
  CHECK(received(1) == received(1));
  CHECK(received(1) != received(2));
}

TEST_CASE("run_until tells done, idle and time limit apart") {
  FakeCores cores;
  Testbed testbed(options_of("dc-25g", 2), cores.factory());
  const auto never = [] { return false; };
  CHECK(testbed.run_until([] { return true; }, 0) == RunResult::kDone);
  CHECK(testbed.run_until(never, 1000) == RunResult::kIdle);
  kick(testbed, 0);
  CHECK(testbed.run_until(never, 10) == RunResult::kTimeLimit);
  CHECK(testbed.run_until(never, 1000) == RunResult::kIdle);
}

TEST_CASE("run_while_busy ends with the last event, run_for at its time") {
  FakeCores cores;
  Testbed testbed(options_of("dc-25g", 2), cores.factory());
  kick(testbed, 0);
  testbed.run_while_busy(1'000'000);
  CHECK(testbed.now_ns() < 1000);
  CHECK_FALSE(testbed.busy());
  testbed.run_for(1'000'000);
  CHECK(testbed.now_ns() > 1'000'000);
}

TEST_CASE("a thousand testbeds may live and die in one process") {
  for (int i = 0; i < 1000; ++i) {
    FakeCores cores;
    Testbed testbed(options_of("dc-25g", 2), cores.factory());
    cores[0].frames_out.push_back(frame_to(1));
    kick(testbed, 0);
    REQUIRE(testbed.run_until([&] { return !cores[1].frames_in.empty(); }, 10'000) ==
            RunResult::kDone);
  }
}

TEST_CASE("a testbed may be destroyed while everything is in flight") {
  FakeCores cores;
  Testbed testbed(options_of("dc-25g", 3), cores.factory());
  for (int i = 0; i < 100; ++i) cores[0].frames_out.push_back(frame_to(1));
  kick(testbed, 0);
  testbed.run_for(500);
  CHECK(testbed.busy());
}

// The core, like the fake one, answers a register read in the cycle that takes it. The load's way
// to that clock edge depends on when it starts, so the mean over a whole period is what counts.
TEST_CASE("a register read takes 580 ns in the mean with the profile expether-gbe") {
  FakeCores cores;
  Testbed testbed(options_of("expether-gbe", 1), cores.factory());
  InProcessHost host(testbed, 0);
  const uint64_t period_ns = testbed.node(0).rnic().period_ps() / kPsPerNs;
  uint64_t sum_ns = 0;
  for (uint64_t phase_ns = 0; phase_ns < period_ns; ++phase_ns) {
    testbed.run_for(2 * period_ns - testbed.now_ns() % period_ns + phase_ns);
    const uint64_t before = testbed.now_ns();
    host.load(0, 0, 1);
    sum_ns += testbed.now_ns() - before;
  }
  CHECK(sum_ns / period_ns >= 579);
  CHECK(sum_ns / period_ns <= 581);
}

}  // namespace
}  // namespace exrnic
