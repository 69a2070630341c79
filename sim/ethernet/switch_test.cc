// SPDX-License-Identifier: BSD-2-Clause
#include "sim/ethernet/switch.h"

#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "exrnic_hw.h"
#include "sim/ethernet/mac.h"
#include "sim/testing/test_kernel.h"

namespace exrnic {
namespace {

constexpr uint64_t kStations[] = {0x020000000001, 0x020000000002};

// Two stations at a switch of 300 ns latency with room for two frames of 64 bytes per output;
// lines of 8 Gb/s without latency of their own.
struct Bench {
  struct Station final : WireReceiver {
    explicit Station(TestKernel& kernel) : kernel(kernel) {}
    void receive_wire(Bytes&& wire) override {
      frames.push_back(std::move(wire));
      times_ns.push_back(kernel.context.now() / kPsPerNs);
    }
    TestKernel& kernel;
    std::vector<Bytes> frames;
    std::vector<uint64_t> times_ns;
  };

  Bench() : ethernet_switch(kernel.scheduler(), {300, 2 * 84}) {
    ports[0] = &ethernet_switch.add_port(kStations[0], to_first);
    ports[1] = &ethernet_switch.add_port(kStations[1], to_second);
  }

  TestKernel kernel;
  Station first{kernel}, second{kernel};
  EthernetLink to_first{kernel.scheduler(), {8000, 0}, {}, 1, first};
  EthernetLink to_second{kernel.scheduler(), {8000, 0}, {}, 1, second};
  Switch ethernet_switch;
  WireReceiver* ports[2];
};

Bytes frame_to(uint64_t station) {
  Bytes frame(60);
  exrnic_eth_set_dst(frame.data(), station);
  append_fcs(frame);
  return frame;
}

TEST_CASE("a frame leaves through its destination's port, whole, after the switch's latency") {
  Bench bench;
  const Bytes frame = frame_to(kStations[1]);
  bench.ports[0]->receive_wire(Bytes(frame));
  bench.kernel.run_all();
  CHECK(bench.first.frames.empty());
  REQUIRE(bench.second.frames.size() == 1);
  CHECK(bench.second.frames[0] == frame);
  CHECK(bench.second.times_ns[0] == 300 + 8 + 64);
  CHECK(bench.ethernet_switch.counters().forwarded == 1);
}

TEST_CASE("a frame for an unknown station, or back to where it came from, is dropped") {
  Bench bench;
  bench.ports[0]->receive_wire(frame_to(0x020000000009));
  bench.ports[0]->receive_wire(frame_to(kStations[0]));
  bench.kernel.run_all();
  CHECK(bench.first.frames.empty());
  CHECK(bench.second.frames.empty());
  CHECK(bench.ethernet_switch.counters().unknown_station == 2);
}

TEST_CASE("a frame with a wrong FCS is not forwarded") {
  Bench bench;
  Bytes frame = frame_to(kStations[1]);
  frame[30] ^= 1;
  bench.ports[0]->receive_wire(std::move(frame));
  bench.ports[0]->receive_wire(Bytes(2));
  bench.kernel.run_all();
  CHECK(bench.second.frames.empty());
  CHECK(bench.ethernet_switch.counters().fcs_errors == 2);
}

TEST_CASE("a full output queue drops its newest frame") {
  Bench bench;
  for (int i = 0; i < 3; ++i) bench.ports[0]->receive_wire(frame_to(kStations[1]));
  bench.kernel.run_all();
  CHECK(bench.second.frames.size() == 2);
  CHECK(bench.ethernet_switch.counters().tail_dropped == 1);
}

}  // namespace
}  // namespace exrnic
