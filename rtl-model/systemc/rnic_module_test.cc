// SPDX-License-Identifier: BSD-2-Clause
// RnicModule within a node: a core at 250 MHz behind a PCIe link of 1 byte per ns and 100 ns.
#include "rtl-model/systemc/rnic_module.h"

#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "sim/testbed.h"
#include "sim/testing/fake_core.h"

namespace exrnic {
namespace {

TestbedOptions one_node() {
  TestbedOptions options;
  options.nodes = 1;
  options.profile.clock_khz = 250'000;
  options.profile.pcie = {1000, 100, 256, 512, 0, 0};
  return options;
}

TEST_CASE("an idle core is not clocked, and nothing waits") {
  FakeCores cores;
  Testbed testbed(one_node(), cores.factory());
  testbed.run_for(1'000'000);
  CHECK(testbed.node(0).rnic().cycles() == 0);
  CHECK_FALSE(testbed.busy());
  CHECK(testbed.now_ns() == 1'000'000);
}

TEST_CASE("an input wakes the core at the next edge of the grid; it sleeps when it is done") {
  FakeCores cores;
  Testbed testbed(one_node(), cores.factory());
  testbed.run_for(1001);
  testbed.node(0).device().mmio_write(0, 0, 4, 7);  // 28 bytes: arrives at 1001 + 128 = 1129
  testbed.run_for(1'000'000);
  CHECK(cores[0].step_times_ns == std::vector<uint64_t>{1132});
  CHECK(cores[0].registers[0] == 7);
  CHECK(testbed.node(0).rnic().cycles() == 1);
  CHECK_FALSE(testbed.node(0).rnic().clocked());
}

TEST_CASE("an input that arrives on an edge waits for the next one") {
  FakeCores cores;
  Testbed testbed(one_node(), cores.factory());
  testbed.node(0).device().mmio_write(0, 0, 4, 7);  // arrives at 128 = 32 periods
  testbed.run_for(1000);
  CHECK(cores[0].step_times_ns == std::vector<uint64_t>{132});
}

TEST_CASE("a busy core sees every edge once") {
  FakeCores cores;
  Testbed testbed(one_node(), cores.factory());
  // Four writes of 280 ns fill the link's queue; the core waits for room, clocked.
  for (int i = 0; i < 6; ++i) {
    cores[0].writes_out.push_back({PostedWrite::Kind::kMemory, 0, Bytes(256)});
  }
  testbed.node(0).device().mmio_write(0, 0, 4, 0);
  testbed.run_for(10'000);
  const auto& times = cores[0].step_times_ns;
  REQUIRE(times.size() > 100);
  CHECK(times.front() == 132);
  for (size_t i = 1; i < times.size(); ++i) REQUIRE(times[i] == times[i - 1] + 4);
  // The sixth write was taken when the second had left, 132 + 2 * 280.
  CHECK(times.back() == 692);
  CHECK_FALSE(testbed.busy());
}

TEST_CASE("a core gets no edges in the cycles that it can spare, and hears how many those were") {
  FakeCores cores;
  Testbed testbed(one_node(), cores.factory());
  // Two writes of 280 ns leave at once, two wait for room.
  for (int i = 0; i < 6; ++i) {
    cores[0].writes_out.push_back({PostedWrite::Kind::kMemory, 0, Bytes(256)});
  }
  cores[0].spare = 24;
  testbed.node(0).device().mmio_write(0, 0, 4, 0);
  testbed.run_for(10'000);
  const auto& times = cores[0].step_times_ns;
  REQUIRE(times.size() > 2);
  for (size_t i = 1; i < times.size(); ++i) REQUIRE(times[i] == times[i - 1] + 100);
  CHECK(cores[0].skipped == 24 * (times.size() - 1));
  CHECK_FALSE(testbed.busy());
}

TEST_CASE("an input ends the cycles that a core could spare") {
  FakeCores cores;
  Testbed testbed(one_node(), cores.factory());
  for (int i = 0; i < 6; ++i) {
    cores[0].writes_out.push_back({PostedWrite::Kind::kMemory, 0, Bytes(256)});
  }
  cores[0].spare = 1000;
  testbed.node(0).device().mmio_write(0, 0, 4, 0);  // arrives at 128
  testbed.node(0).device().mmio_write(0, 0, 4, 0);  // 28 ns later
  testbed.run_for(200);
  CHECK(cores[0].step_times_ns == std::vector<uint64_t>{132, 160});
  CHECK(cores[0].skipped == 6);
}

TEST_CASE(
    "an idle core gets the edge that it wants to be woken at, and hears of no cycles before") {
  FakeCores cores;
  Testbed testbed(one_node(), cores.factory());
  cores[0].wakes_at = 5001;
  testbed.node(0).device().mmio_write(0, 0, 4, 7);  // arrives at 128
  testbed.run_for(1000);
  CHECK_FALSE(testbed.node(0).rnic().clocked());
  CHECK(testbed.busy());
  testbed.run_for(1'000'000);
  CHECK(cores[0].step_times_ns == std::vector<uint64_t>{132, 5004});
  CHECK(cores[0].skipped == 0);
  CHECK_FALSE(testbed.busy());
}

TEST_CASE("what comes at the very time of that edge is there for the next one") {
  FakeCores cores;
  Testbed testbed(one_node(), cores.factory());
  cores[0].wakes_at = 1000;
  testbed.node(0).device().mmio_write(0, 0, 4, 7);  // arrives at 128
  testbed.run_for(1000 - 128);
  testbed.node(0).device().mmio_write(0, 0, 4, 7);  // arrives at 1000
  testbed.run_for(1000);
  CHECK(cores[0].step_times_ns == std::vector<uint64_t>{132, 1000, 1004});
}

TEST_CASE("a core that does not want to be woken any more leaves nothing to wait for") {
  FakeCores cores;
  Testbed testbed(one_node(), cores.factory());
  cores[0].wakes_at = 5000;
  testbed.node(0).device().mmio_write(0, 0, 4, 7);  // arrives at 128
  testbed.run_for(1000);
  cores[0].wakes_at = Core::kNever;
  SECTION("behind an input") { testbed.node(0).device().mmio_write(0, 0, 4, 7); }
  SECTION("behind a reset") {
    testbed.node(0).device().reset();
    testbed.node(0).device().mmio_write(0, 0, 4, 7);
  }
  testbed.run_for(1000);
  CHECK_FALSE(testbed.busy());
  testbed.run_for(10'000);
  CHECK(cores[0].step_times_ns.size() == 2);
}

TEST_CASE("a core spares no cycle that it wants to be woken at") {
  FakeCores cores;
  Testbed testbed(one_node(), cores.factory());
  for (int i = 0; i < 6; ++i) {
    cores[0].writes_out.push_back({PostedWrite::Kind::kMemory, 0, Bytes(256)});
  }
  cores[0].spare = 1000;
  cores[0].wakes_at = 201;
  testbed.node(0).device().mmio_write(0, 0, 4, 0);  // arrives at 128
  testbed.run_for(1000);
  CHECK(cores[0].step_times_ns == std::vector<uint64_t>{132, 204});
  CHECK(cores[0].skipped == 17);
}

TEST_CASE("a core that is reset hears nothing of the cycles that it could spare before") {
  FakeCores cores;
  Testbed testbed(one_node(), cores.factory());
  for (int i = 0; i < 6; ++i) {
    cores[0].writes_out.push_back({PostedWrite::Kind::kMemory, 0, Bytes(256)});
  }
  cores[0].spare = 1000;
  testbed.node(0).device().mmio_write(0, 0, 4, 0);  // arrives at 128
  testbed.run_for(150);
  testbed.node(0).device().reset();
  cores[0].writes_out.push_back({PostedWrite::Kind::kMemory, 0, Bytes(256)});
  testbed.node(0).device().mmio_write(0, 0, 4, 0);  // arrives at 278
  testbed.run_for(200);
  CHECK(cores[0].step_times_ns == std::vector<uint64_t>{132, 280});
  CHECK(cores[0].skipped == 0);
}

TEST_CASE("the clock keeps its phase when its period is not a whole number of nanoseconds") {
  TestbedOptions options = one_node();
  options.profile.clock_khz = 156'250;  // 6.4 ns
  FakeCores cores;
  Testbed testbed(options, cores.factory());
  testbed.node(0).device().mmio_write(0, 0, 4, 0);  // arrives at 128 = 20 periods
  testbed.node(0).device().mmio_write(0, 0, 4, 0);  // arrives at 156: edges at 153.6 and 160
  testbed.run_for(1000);
  CHECK(cores[0].step_times_ns == std::vector<uint64_t>{134, 160});
  CHECK(testbed.node(0).rnic().period_ps() == 6400);
}

TEST_CASE("a reset reaches the core") {
  FakeCores cores;
  Testbed testbed(one_node(), cores.factory());
  testbed.node(0).device().mmio_write(0, 0, 4, 7);
  testbed.run_for(1000);
  testbed.node(0).device().reset();
  CHECK(cores[0].resets == 1);
  CHECK(cores[0].registers.empty());
}

TEST_CASE("what a core has counted is known when it is reset, and when it counts anew") {
  FakeCores cores;
  Testbed testbed(one_node(), cores.factory());
  const RnicModule& rnic = testbed.node(0).rnic();
  cores[0].counters[3] = 5;
  CHECK(rnic.counted_ever(3) == 5);
  testbed.node(0).device().reset();
  cores[0].counters[3] = 2;
  CHECK(rnic.counted_ever(3) == 7);
  CHECK(rnic.peek_counter(3) == 2);
  CHECK(rnic.counted_ever(4) == 0);
}

TEST_CASE("the core is told its node, its link and its clock") {
  FakeCores cores;
  TestbedOptions options = one_node();
  options.nodes = 3;
  options.profile.pcie.max_payload = 128;
  Testbed testbed(options, cores.factory());
  CHECK(cores[2].config.node_id == 2);
  CHECK(cores[2].config.max_payload == 128);
  CHECK(cores[2].config.max_read == 512);
  CHECK(cores[2].config.clock_khz == 250'000);
  CHECK(cores[2].config.link_up);
}

}  // namespace
}  // namespace exrnic
