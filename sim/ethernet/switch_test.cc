// SPDX-License-Identifier: BSD-2-Clause
// Lines of 8 Gb/s without latency: a byte each ns, a frame of 64 bytes is 84 line bytes.
#include "sim/ethernet/switch.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <tuple>
#include <vector>

#include "exrnic_hw.h"
#include "sim/ethernet/mac.h"
#include "sim/testing/test_kernel.h"

namespace exrnic {
namespace {

constexpr uint64_t kGroup = 0x010000000001;
constexpr unsigned kPorts = 3;

uint64_t station(uint16_t port) { return management::mac_of(port); }

// What arrives at the far end of a port's outgoing line.
struct Station final : WireReceiver {
  explicit Station(TestKernel& kernel) : kernel(kernel) {}
  void receive_wire(Bytes&& wire) override { receive_buffered(std::move(wire), {}); }
  void receive_buffered(Bytes&& wire, Room room) override {
    frames.push_back(std::move(wire));
    times_ns.push_back(kernel.context.now() / kPsPerNs);
    if (keeps) rooms.push_back(std::move(room));
  }
  TestKernel& kernel;
  bool keeps = false;  // what comes stays in the buffer
  std::vector<Room> rooms;
  std::vector<Bytes> frames;
  std::vector<uint64_t> times_ns;
};

// A station at each port of a switch of 300 ns latency.
struct Bench {
  explicit Bench(const Switch::Config& config = {300, 2 * 84, 0}, uint64_t output_mbps = 8000,
                 uint64_t buffer_bytes = 0)
      : ethernet_switch(kernel.scheduler(), config) {
    PortTable routes;
    for (uint16_t port = 0; port < kPorts; ++port) {
      stations.push_back(std::make_unique<Station>(kernel));
      EthernetLink::Config line{output_mbps, 0, buffer_bytes};
      out.push_back(std::make_unique<EthernetLink>(kernel.scheduler(), kernel.scheduler(), line,
                                                   FaultConfig{}, 1, *stations.back()));
      inputs.push_back(&ethernet_switch.add_port(port, 8000));
      ethernet_switch.connect(port, *out.back());
      routes.set(port, port);
    }
    ethernet_switch.set_routes(routes);
  }
  void run() { kernel.run_all(); }

  TestKernel kernel;
  std::vector<std::unique_ptr<Station>> stations;
  std::vector<std::unique_ptr<EthernetLink>> out;
  Switch ethernet_switch;
  std::vector<WireReceiver*> inputs;
};

Bytes frame_to(uint64_t to, size_t bytes = 60, uint8_t mark = 0) {
  Bytes frame(bytes, mark);
  exrnic_eth_set_dst(frame.data(), to);
  exrnic_eth_set_ethertype(frame.data(), EXRNIC_ETHERTYPE);
  exrnic_efe_set_flags(frame.data() + EXRNIC_ETH_BYTES, EXRNIC_EFE_FLAGS_SEQ);
  append_fcs(frame);
  return frame;
}

bool is_marked(const Bytes& wire) {
  return (exrnic_efe_flags(wire.data() + EXRNIC_ETH_BYTES) & EXRNIC_EFE_FLAGS_CE) != 0;
}

TEST_CASE("a frame leaves through its destination's port, whole, after the switch's latency") {
  Bench bench;
  const Bytes frame = frame_to(station(1));
  bench.inputs[0]->receive_wire(Bytes(frame));
  bench.run();
  CHECK(bench.stations[0]->frames.empty());
  REQUIRE(bench.stations[1]->frames.size() == 1);
  CHECK(bench.stations[1]->frames[0] == frame);
  CHECK(bench.stations[1]->times_ns[0] == 300 + 8 + 64);
  CHECK(bench.ethernet_switch.port_counters(0).received == 1);
  CHECK(bench.ethernet_switch.port_counters(0).received_bytes == 64);
  CHECK(bench.ethernet_switch.port_counters(1).sent == 1);
  CHECK(bench.ethernet_switch.port_counters(1).sent_bytes == 64);
  CHECK(bench.ethernet_switch.port_counters(1).queue_high_water == 84);
}

TEST_CASE("a frame for an unknown station, or back to where it came from, is dropped") {
  Bench bench;
  bench.inputs[0]->receive_wire(frame_to(station(9)));
  bench.inputs[0]->receive_wire(frame_to(station(1) ^ uint64_t{4} << 40));
  bench.inputs[0]->receive_wire(frame_to(station(0)));
  bench.run();
  for (const auto& station : bench.stations) CHECK(station->frames.empty());
  CHECK(bench.ethernet_switch.port_counters(0).unknown_station == 3);
}

TEST_CASE("a frame to a group leaves through every port of the tree but its own") {
  Bench bench;
  bench.ethernet_switch.flood_through(0);
  bench.ethernet_switch.flood_through(1);
  bench.inputs[0]->receive_wire(frame_to(kGroup));
  bench.inputs[2]->receive_wire(frame_to(kGroup));
  bench.run();
  CHECK(bench.stations[0]->frames.size() == 1);
  CHECK(bench.stations[1]->frames.size() == 2);
  CHECK(bench.stations[2]->frames.empty());
}

TEST_CASE("a frame with a wrong FCS is not forwarded") {
  Bench bench;
  Bytes frame = frame_to(station(1));
  frame[30] ^= 1;
  bench.inputs[0]->receive_wire(std::move(frame));
  bench.inputs[0]->receive_wire(Bytes(2));
  bench.run();
  CHECK(bench.stations[1]->frames.empty());
  CHECK(bench.ethernet_switch.counters().fcs_errors == 2);
}

TEST_CASE("a full output queue drops its newest frame, and other queues are not full") {
  Bench bench;
  for (uint8_t i = 0; i < 3; ++i) bench.inputs[0]->receive_wire(frame_to(station(1), 60, i));
  bench.inputs[0]->receive_wire(frame_to(station(2)));
  bench.run();
  REQUIRE(bench.stations[1]->frames.size() == 2);
  CHECK(bench.stations[1]->frames[0][59] == 0);
  CHECK(bench.stations[1]->frames[1][59] == 1);
  CHECK(bench.stations[2]->frames.size() == 1);
  CHECK(bench.ethernet_switch.port_counters(1).dropped == 1);
  CHECK(bench.ethernet_switch.port_counters(1).queue_high_water == 2 * 84);
  CHECK(bench.ethernet_switch.port_counters(2).dropped == 0);
  CHECK(bench.ethernet_switch.counters().sent == 3);
}

TEST_CASE(
    "who observes losses of a port sees what its queue does not take, and what goes nowhere") {
  Bench bench;
  std::vector<std::tuple<unsigned, Loss, uint64_t>> lost;
  for (unsigned port = 0; port < kPorts; ++port) {
    bench.ethernet_switch.observe_losses(port, [&, port](Loss loss, SimTime, const Bytes& wire) {
      lost.push_back({port, loss, wire[59]});
    });
  }
  for (uint8_t i = 0; i < 3; ++i) bench.inputs[0]->receive_wire(frame_to(station(1), 60, i));
  bench.inputs[0]->receive_wire(frame_to(station(0), 60, 7));
  bench.run();
  CHECK(lost == std::vector<std::tuple<unsigned, Loss, uint64_t>>{{0, Loss::kNoRoute, 7},
                                                                  {1, Loss::kQueueFull, 2}});
}

TEST_CASE("a queue has room again when its first frame has left") {
  Bench bench;
  for (int i = 0; i < 2; ++i) bench.inputs[0]->receive_wire(frame_to(station(1)));
  bench.run();
  bench.inputs[0]->receive_wire(frame_to(station(1)));
  bench.run();
  CHECK(bench.stations[1]->frames.size() == 3);
  CHECK(bench.ethernet_switch.counters().dropped == 0);
}

TEST_CASE("a frame that makes its queue longer than the threshold is marked, with a right FCS") {
  Bench bench({300, 4 * 84, 2 * 84});
  for (int i = 0; i < 5; ++i) bench.inputs[0]->receive_wire(frame_to(station(1)));
  bench.run();
  REQUIRE(bench.stations[1]->frames.size() == 4);
  for (int i = 0; i < 4; ++i) {
    INFO("frame " << i);
    CHECK(is_marked(bench.stations[1]->frames[i]) == (i >= 2));
    CHECK(has_good_fcs(bench.stations[1]->frames[i]));
  }
  CHECK(bench.ethernet_switch.port_counters(1).marked == 2);
  CHECK(bench.ethernet_switch.port_counters(1).dropped == 1);
}

TEST_CASE("a mark changes nothing else, and a frame that is no EFE frame has none") {
  Bench bench({300, 1000, 1});
  const Bytes efe = frame_to(station(1), 200, 0x5a);
  Bytes other(60);
  exrnic_eth_set_dst(other.data(), station(1));
  append_fcs(other);
  bench.inputs[0]->receive_wire(Bytes(efe));
  bench.inputs[0]->receive_wire(Bytes(other));
  bench.run();
  REQUIRE(bench.stations[1]->frames.size() == 2);
  Bytes marked = bench.stations[1]->frames[0];
  CHECK(is_marked(marked));
  marked[EXRNIC_ETH_BYTES + 1] = efe[EXRNIC_ETH_BYTES + 1];
  marked.resize(200);
  CHECK(std::equal(marked.begin(), marked.end(), efe.begin()));
  CHECK(bench.stations[1]->frames[1] == other);
  CHECK(bench.ethernet_switch.counters().marked == 1);
}

TEST_CASE("cut-through: the latency counts from the head, unless the output is faster") {
  const auto [output_mbps, head_counts] =
      GENERATE(table<uint64_t, bool>({{8000, true}, {4000, true}, {16000, false}}));
  Switch::Config config{300, 10'000, 0};
  config.cut_through = true;
  Bench bench(config, output_mbps);
  bench.inputs[0]->receive_wire(frame_to(station(1), 960));  // at the moment its head is there
  bench.run();
  REQUIRE(bench.stations[1]->times_ns.size() == 1);
  const uint64_t tail = head_counts ? 0 : 964 - kCutThroughBytes;
  CHECK(bench.stations[1]->times_ns[0] == 300 + tail + (8 + 964) * 8000 / output_mbps);
}

TEST_CASE("cut-through: a frame with a wrong FCS goes on, and a mark does not mend it") {
  Switch::Config config{300, 10'000, 1};
  config.cut_through = true;
  Bench bench(config);
  Bytes frame = frame_to(station(1));
  frame[40] ^= 4;
  bench.inputs[0]->receive_wire(Bytes(frame));
  bench.run();
  REQUIRE(bench.stations[1]->frames.size() == 1);
  CHECK(bench.stations[1]->frames[0] == frame);
  CHECK(bench.ethernet_switch.counters().marked == 0);
}

TEST_CASE("with flow control no queue drops, and a frame holds its room until it has left") {
  Switch::Config config{300, 84, 0};
  config.flow_control = true;
  Bench bench(config);
  std::vector<std::weak_ptr<void>> rooms;
  for (int i = 0; i < 20; ++i) {
    Room room = std::make_shared<int>(i);
    rooms.push_back(room);
    bench.inputs[0]->receive_buffered(frame_to(station(1)), std::move(room));
  }
  bench.kernel.context.run_to((300 + 10 * 84 - 12) * kPsPerNs, false);  // the tenth has just left
  for (int i = 0; i < 20; ++i) CHECK(rooms[i].expired() == (i < 10));
  bench.run();
  CHECK(bench.stations[1]->frames.size() == 20);
  CHECK(bench.ethernet_switch.counters().dropped == 0);
  CHECK(rooms.back().expired());
}

TEST_CASE("an output without credit sends nothing, and goes on when it has some") {
  Switch::Config config{300, 84, 0};
  config.flow_control = true;
  Bench bench(config, 8000, 2 * 84);
  bench.stations[1]->keeps = true;
  for (int i = 0; i < 5; ++i) bench.inputs[0]->receive_wire(frame_to(station(1)));
  bench.inputs[0]->receive_wire(frame_to(station(2)));
  bench.run();
  CHECK(bench.stations[1]->frames.size() == 2);
  CHECK(bench.stations[2]->frames.size() == 1);  // nobody stands in another's way
  bench.stations[1]->keeps = false;
  bench.stations[1]->rooms.clear();
  bench.run();
  CHECK(bench.stations[1]->frames.size() == 5);
}

}  // namespace
}  // namespace exrnic
