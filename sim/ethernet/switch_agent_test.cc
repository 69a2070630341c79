// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <memory>
#include <vector>

#include "rtl-model/ref/management/testing/requests.h"
#include "sim/ethernet/mac.h"
#include "sim/ethernet/switch.h"
#include "sim/testing/test_kernel.h"

namespace exrnic {
namespace {

using management::testing::directed;
using management::testing::make_frame;
using management::testing::path_of;
using management::testing::set_device;

constexpr unsigned kPorts = 4;
constexpr uint64_t kGuid = 0xabc;
constexpr uint16_t kSwitch = 0x8000;

struct Station final : WireReceiver {
  explicit Station(TestKernel& kernel) : kernel(kernel) {}
  void receive_wire(Bytes&& wire) override {
    CHECK(remove_fcs(wire));
    frames.push_back(std::move(wire));
    at_ps.push_back(kernel.scheduler().now());
  }
  void receive_buffered(Bytes&& wire, Room room) override {
    rooms.push_back(std::move(room));  // what comes stays in the buffer
    receive_wire(std::move(wire));
  }
  TestKernel& kernel;
  std::vector<Room> rooms;
  std::vector<Bytes> frames;
  std::vector<SimTime> at_ps;
};

// A switch of 300 ns with a station at each port but the second one, where there is none.
struct Bench {
  explicit Bench(bool managed = true, bool cut_through = false, uint64_t buffer_bytes = 0)
      : ethernet_switch(kernel.scheduler(), {300, 1 << 16, 0, cut_through, buffer_bytes != 0},
                        kGuid, managed) {
    for (unsigned port = 0; port < kPorts; ++port) {
      stations.push_back(std::make_unique<Station>(kernel));
      out.push_back(std::make_unique<EthernetLink>(kernel.scheduler(), kernel.scheduler(),
                                                   EthernetLink::Config{8000, 0, buffer_bytes},
                                                   FaultConfig{}, 1, *stations.back()));
      if (port == 1) {
        inputs.push_back(nullptr);
        continue;
      }
      inputs.push_back(&ethernet_switch.add_port(port, 8000));
      ethernet_switch.connect(port, *out.back());
    }
  }
  void send(unsigned port, Bytes frame) {
    append_fcs(frame);
    inputs.at(port)->receive_wire(std::move(frame));
    kernel.run_all();
  }
  // What comes out there; it has to be one.
  Bytes taken(unsigned port) {
    REQUIRE(stations.at(port)->frames.size() == 1);
    Bytes frame = std::move(stations[port]->frames.front());
    stations[port]->frames.clear();
    return frame;
  }
  // A request of a node at port 0 to this switch.
  Bytes asked(Bytes request) {
    send(0, std::move(request));
    return taken(0);
  }
  Bytes asked(exrnic_management_attribute attribute, uint32_t modifier) {
    return asked(to_switch(attribute, modifier));
  }
  static Bytes to_switch(exrnic_management_attribute attribute, uint32_t modifier,
                         exrnic_management_method method = EXRNIC_MANAGEMENT_METHOD_GET) {
    Bytes frame = directed({EXRNIC_PORT_NONE}, 1, method);
    exrnic_management_header_set_attribute(management::header(frame), attribute);
    exrnic_management_header_set_modifier(management::header(frame), modifier);
    return frame;
  }
  uint64_t set_route(uint16_t number, unsigned port) {
    Bytes frame = asked(EXRNIC_MANAGEMENT_ATTRIBUTE_ROUTES, number / EXRNIC_MANAGEMENT_ROUTES);
    Bytes request = to_switch(EXRNIC_MANAGEMENT_ATTRIBUTE_ROUTES, number / EXRNIC_MANAGEMENT_ROUTES,
                              EXRNIC_MANAGEMENT_METHOD_SET);
    std::copy_n(management::data(frame), EXRNIC_MANAGEMENT_DATA_BYTES, management::data(request));
    management::put_number(
        management::data(request) + size_t{2} * (number % EXRNIC_MANAGEMENT_ROUTES), port);
    return status_of(asked(request));
  }
  static uint64_t status_of(const Bytes& frame) {
    return exrnic_management_header_status(management::header(frame));
  }

  TestKernel kernel;
  std::vector<std::unique_ptr<Station>> stations;
  std::vector<std::unique_ptr<EthernetLink>> out;
  Switch ethernet_switch;
  std::vector<WireReceiver*> inputs;
};

TEST_CASE("a directed request goes by the port that it says, and its answer the way back") {
  Bench bench;
  bench.send(0, directed({EXRNIC_PORT_NONE, 2}, 1));
  Bytes frame = bench.taken(2);
  CHECK(exrnic_management_header_hop(management::header(frame)) == 2);
  CHECK(path_of(frame, 1) == 0);
  exrnic_management_header_set_method(management::header(frame), EXRNIC_MANAGEMENT_METHOD_ANSWER);
  bench.send(2, frame);
  frame = bench.taken(0);
  CHECK(exrnic_management_header_hop(management::header(frame)) == 1);
  CHECK(bench.ethernet_switch.agent().counters().dropped == 0);
}

TEST_CASE("what would leave by no port, or by one without a carrier, is dropped") {
  Bench bench;
  bench.ethernet_switch.set_carrier(3, false);
  for (const unsigned port : {1u, 3u, 4u, unsigned{EXRNIC_PORT_NONE}})
    bench.send(0, directed({EXRNIC_PORT_NONE, port}, 1));
  for (const auto& station : bench.stations) CHECK(station->frames.empty());
  CHECK(bench.ethernet_switch.agent().counters().dropped == 4);
}

// Their ways may go anywhere: with what others wait for they would close a circle.
TEST_CASE("what waits for a line with credits keeps no room of another line, and is little") {
  Bench bench(true, false, 300);  // room for one frame
  constexpr unsigned kSent = 100;
  std::vector<std::weak_ptr<void>> rooms;
  for (unsigned i = 0; i < kSent; ++i) {
    Bytes frame = directed({EXRNIC_PORT_NONE, 2}, 1);
    append_fcs(frame);
    Room room = std::make_shared<char>();
    rooms.push_back(room);
    bench.inputs[0]->receive_buffered(std::move(frame), std::move(room));
    bench.kernel.run_all();
  }
  for (const auto& room : rooms) CHECK(room.expired());
  CHECK(bench.stations[2]->frames.size() == 1);
  CHECK(bench.ethernet_switch.agent().counters().dropped == kSent - 1 - 16);
  // Others are served meanwhile.
  CHECK(Bench::status_of(bench.asked(Bench::to_switch(EXRNIC_MANAGEMENT_ATTRIBUTE_DEVICE, 0))) ==
        EXRNIC_MANAGEMENT_STATUS_OK);
}

TEST_CASE("a switch says what it is, and which ports it has") {
  Bench bench;
  bench.ethernet_switch.set_carrier(3, false);
  Bytes device = bench.asked(EXRNIC_MANAGEMENT_ATTRIBUTE_DEVICE, 0);
  const uint8_t* data = management::data(device);
  CHECK(exrnic_management_device_guid(data) == kGuid);
  CHECK(exrnic_management_device_kind(data) == EXRNIC_MANAGEMENT_KIND_SWITCH);
  CHECK(exrnic_management_device_ports(data) == kPorts);
  CHECK(exrnic_management_device_flags(data) == 0);
  CHECK(exrnic_management_device_changes(data) == 1);
  Bytes ports = bench.asked(EXRNIC_MANAGEMENT_ATTRIBUTE_PORTS, 0);
  const auto port = [&](unsigned i) {
    return management::data(ports) + size_t{i} * EXRNIC_MANAGEMENT_PORT_BYTES;
  };
  constexpr unsigned kUp = EXRNIC_MANAGEMENT_PORT_FLAGS_EXISTS | EXRNIC_MANAGEMENT_PORT_FLAGS_UP;
  CHECK(exrnic_management_port_flags(port(0)) == kUp);
  CHECK(exrnic_management_port_mbps(port(0)) == 8000);
  CHECK(exrnic_management_port_flags(port(1)) == 0);
  CHECK(exrnic_management_port_flags(port(3)) == EXRNIC_MANAGEMENT_PORT_FLAGS_EXISTS);
  CHECK(exrnic_management_port_changes(port(3)) == 1);
  CHECK(exrnic_management_port_flags(port(4)) == 0);
  CHECK(Bench::status_of(bench.asked(EXRNIC_MANAGEMENT_ATTRIBUTE_PORTS, 1)) ==
        EXRNIC_MANAGEMENT_STATUS_NO_BLOCK);
  CHECK(Bench::status_of(bench.asked(EXRNIC_MANAGEMENT_ATTRIBUTE_ASSIGNMENT, 0)) ==
        EXRNIC_MANAGEMENT_STATUS_NO_ATTRIBUTE);
}

TEST_CASE("routes that are set are those that frames take, and no others") {
  Bench bench;
  const auto goes = [&](uint16_t to) {
    Bytes frame(60);
    exrnic_eth_set_dst(frame.data(), management::mac_of(to));
    exrnic_eth_set_ethertype(frame.data(), EXRNIC_ETHERTYPE);
    bench.send(0, frame);
    for (unsigned port = 0; port < kPorts; ++port) {
      if (bench.stations[port]->frames.empty()) continue;
      bench.stations[port]->frames.clear();
      return static_cast<int>(port);
    }
    return -1;
  };
  CHECK(goes(70) == -1);
  CHECK(bench.set_route(70, 2) == EXRNIC_MANAGEMENT_STATUS_OK);
  CHECK(bench.set_route(71, 3) == EXRNIC_MANAGEMENT_STATUS_OK);
  CHECK(goes(70) == 2);
  CHECK(goes(71) == 3);
  CHECK(bench.set_route(70, 1) == EXRNIC_MANAGEMENT_STATUS_BAD_VALUE);
  CHECK(goes(70) == 2);
  CHECK(bench.set_route(70, EXRNIC_PORT_NONE) == EXRNIC_MANAGEMENT_STATUS_OK);
  CHECK(goes(70) == -1);
  CHECK(goes(71) == 3);
  Bytes blocks = bench.asked(EXRNIC_MANAGEMENT_ATTRIBUTE_ROUTE_BLOCKS, 0);
  Bytes expected(EXRNIC_MANAGEMENT_DATA_BYTES);
  expected[0] = 0x40;  // numbers 64 to 127
  CHECK(std::equal(expected.begin(), expected.end(), management::data(blocks)));
  CHECK(Bench::status_of(bench.asked(EXRNIC_MANAGEMENT_ATTRIBUTE_ROUTES, 1024)) ==
        EXRNIC_MANAGEMENT_STATUS_NO_BLOCK);
}

TEST_CASE("frames to groups leave by the ports that are set to flood") {
  Bench bench;
  Bytes request =
      Bench::to_switch(EXRNIC_MANAGEMENT_ATTRIBUTE_FLOODS, 0, EXRNIC_MANAGEMENT_METHOD_SET);
  management::data(request)[0] = 0xb0;  // ports 0, 2 and 3
  CHECK(Bench::status_of(bench.asked(request)) == EXRNIC_MANAGEMENT_STATUS_OK);
  Bytes frame(60);
  exrnic_eth_set_dst(frame.data(), uint64_t{EXRNIC_GROUP_MAC_PREFIX} << 16);
  bench.send(2, frame);
  CHECK(bench.stations[0]->frames.size() == 1);
  CHECK(bench.stations[2]->frames.empty());
  CHECK(bench.stations[3]->frames.size() == 1);
  management::data(request)[0] = 0x40;
  bench.stations[0]->frames.clear();
  Bytes answer = bench.asked(request);
  CHECK(Bench::status_of(answer) == EXRNIC_MANAGEMENT_STATUS_BAD_VALUE);
  CHECK(management::data(answer)[0] == 0xb0);
}

TEST_CASE("a switch with fixed routes tells them, and keeps them") {
  Bench bench(false);
  PortTable routes;
  routes.set(5, 2);
  bench.ethernet_switch.set_routes(routes);
  Bytes answer = bench.asked(EXRNIC_MANAGEMENT_ATTRIBUTE_ROUTES, 0);
  CHECK(management::number_at(management::data(answer) + 10) == 2);
  CHECK(management::number_at(management::data(answer) + 12) == EXRNIC_PORT_NONE);
  CHECK(bench.set_route(5, 3) == EXRNIC_MANAGEMENT_STATUS_FIXED);
  Bytes device =
      set_device(directed({EXRNIC_PORT_NONE}, 1), EXRNIC_MANAGEMENT_SETS_NUMBER, kSwitch);
  CHECK(Bench::status_of(bench.asked(device)) == EXRNIC_MANAGEMENT_STATUS_FIXED);
}

TEST_CASE("a switch with a number takes what is routed to it, and passes on what is not") {
  Bench bench;
  bench.asked(set_device(directed({EXRNIC_PORT_NONE}, 1), EXRNIC_MANAGEMENT_SETS_NUMBER, kSwitch));
  bench.set_route(9, 2);
  Bytes request = make_frame(management::mac_of(kSwitch), EXRNIC_MANAGEMENT_METHOD_GET);
  exrnic_eth_set_src(request.data(), management::mac_of(9));
  bench.send(0, request);
  const Bytes answer = bench.taken(2);
  CHECK(exrnic_eth_dst(answer.data()) == management::mac_of(9));
  CHECK(exrnic_eth_src(answer.data()) == management::mac_of(kSwitch));
  bench.send(0, make_frame(management::mac_of(9), EXRNIC_MANAGEMENT_METHOD_GET));
  CHECK(bench.taken(2).size() == EXRNIC_MANAGEMENT_FRAME_BYTES);
  // Nobody's, and a host's MAC that is no node's.
  exrnic_eth_set_src(request.data(), management::mac_of(10));
  bench.send(0, request);
  exrnic_eth_set_src(request.data(), 9);
  bench.send(0, request);
  for (const auto& station : bench.stations) CHECK(station->frames.empty());
}

TEST_CASE("a carrier that goes is told to the manager, if there is a way to it") {
  Bench bench;
  bench.ethernet_switch.set_carrier(3, false);
  bench.kernel.run_all();
  for (const auto& station : bench.stations) CHECK(station->frames.empty());
  Bytes request =
      set_device(directed({EXRNIC_PORT_NONE}, 1),
                 EXRNIC_MANAGEMENT_SETS_NUMBER | EXRNIC_MANAGEMENT_SETS_MANAGER, kSwitch);
  exrnic_management_device_set_manager(management::data(request), 9);
  bench.asked(request);
  bench.set_route(9, 2);
  bench.ethernet_switch.set_carrier(3, true);
  bench.kernel.run_all();
  Bytes trap = bench.taken(2);
  const uint8_t* header = management::header(trap);
  CHECK(exrnic_eth_dst(trap.data()) == management::mac_of(9));
  CHECK(exrnic_management_header_method(header) == EXRNIC_MANAGEMENT_METHOD_TRAP);
  CHECK(exrnic_management_header_modifier(header) == 3);
  CHECK((exrnic_management_port_flags(management::data(trap)) & EXRNIC_MANAGEMENT_PORT_FLAGS_UP));
  CHECK(exrnic_management_port_changes(management::data(trap)) == 2);
}

TEST_CASE(
    "an agent serves one frame after the other, and who sends more than it can hold keeps nobody "
    "out") {
  const bool cut_through = GENERATE(false, true);
  Bench bench(true, cut_through);
  for (unsigned i = 0; i < 70; ++i) {
    Bytes frame = directed({EXRNIC_PORT_NONE}, 1);
    append_fcs(frame);
    bench.inputs[0]->receive_wire(std::move(frame));
  }
  Bytes other = directed({EXRNIC_PORT_NONE}, 1);
  append_fcs(other);
  bench.inputs[2]->receive_wire(std::move(other));
  bench.kernel.run_all();
  CHECK(bench.stations[0]->frames.size() == 8);
  CHECK(bench.stations[2]->frames.size() == 1);
  CHECK(bench.ethernet_switch.agent().counters().served == 9);
  CHECK(bench.ethernet_switch.agent().counters().dropped == 62);
  const std::vector<SimTime>& at = bench.stations[0]->at_ps;
  for (size_t i = 1; i < at.size(); ++i) CHECK(at[i] - at[i - 1] == 1'000'000);
}

TEST_CASE("an agent takes no frame with a wrong checksum, also where others go on with it") {
  const bool cut_through = GENERATE(false, true);
  Bench bench(true, cut_through);
  Bytes frame = directed({EXRNIC_PORT_NONE}, 1);
  append_fcs(frame);
  frame[100] ^= 1;
  bench.inputs[0]->receive_wire(std::move(frame));
  bench.kernel.run_all();
  CHECK(bench.stations[0]->frames.empty());
}

}  // namespace
}  // namespace exrnic
