// SPDX-License-Identifier: BSD-2-Clause
// PEBs in a fabric that knows nothing, and a manager on a node with an RNIC that numbers them and
// says whose the devices are.
#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <vector>

#include "rtl-model/ref/ref_core.h"
#include "sim/peb/testing/bus.h"
#include "tools/fabric/simulated/simulated_port.h"
#include "tools/fabric/text.h"
#if EXRNIC_PEB_RTL
#include "rtl-model/peb/rtl_peb.h"
#endif

namespace exrnic::peb {
namespace {

using fabric::Assignment;
using fabric::Manager;
using fabric::ManagerState;

constexpr uint64_t kMs = 1'000'000;

fabric::ManagerOptions manager_options() {
  fabric::ManagerOptions options;
  options.key = 0x0123456789abcdef;
  options.seed = 1;
  options.timeout_ns = 2 * kMs;
  options.sweep_ns = 2 * kMs;
  options.takeover_ns = 20 * kMs;
  options.pause_ns = kMs;
  return options;
}

// Node 0 has the manager, nodes 1 and 2 are hosts of two slots each, the others boxes, all at one
// switch.
struct Network {
  static constexpr unsigned kHosts = 2;

  explicit Network(unsigned boxes = 1)
      : devices(boxes),
        testbed(options(boxes), make_ref_core),
        manager_host(testbed, 0),
        port(manager_host),
        manager(port, manager_options()) {
    for (unsigned host = 0; host < kHosts; ++host)
      hosts.push_back(std::make_unique<TestHost>(testbed, host));
  }

  TestbedOptions options(unsigned boxes) {
    TestbedOptions options;
    options.profile = load_profile("dc-25g");
    options.nodes = 1;
    options.fabric = Fabric::Control::kManaged;
#if EXRNIC_PEB_RTL
    options.make_peb = make_rtl_peb;
#endif
    options.peb_hosts.assign(kHosts, 2);
    for (unsigned box = 0; box < boxes; ++box)
      options.peb_boxes.push_back([&device = devices[box]](Scheduler&) {
        auto made = std::make_unique<TestDevice>();
        device = made.get();
        return made;
      });
    return options;
  }

  // The manager's numbers and assignments are those of the last assign().
  void work(const std::function<bool()>& done) {
    const bool is_done = fabric::run_managers(testbed, {&manager}, done, 200 * kMs);
    INFO(fabric::text_of(manager.map(), manager.problems()));
    REQUIRE(is_done);
    CHECK(manager.problems().empty());
  }
  void begin(std::vector<Assignment> assignments = {}) {
    manager.assign(std::move(assignments));
    work([&] { return manager.state() == ManagerState::kActive; });
  }
  // Waits until it is as this says, too: the device is in the slot, and in no other one.
  void assign(std::vector<Assignment> assignments, unsigned host, unsigned slot) {
    manager.assign(std::move(assignments));
    work([&] { return this->slot(host, slot).is_up() && full_slots() == 1; });
  }
  unsigned full_slots() {
    unsigned full = 0;
    for (unsigned host = 0; host < kHosts; ++host)
      for (unsigned slot = 0; slot < testbed.peb_host(host).slots(); ++slot)
        full += this->slot(host, slot).description().has_value();
    return full;
  }

  static uint64_t guid_of_host(unsigned host) { return Fabric::guid_of_node(1 + host); }
  static uint64_t guid_of_box(unsigned box) { return Fabric::guid_of_node(1 + kHosts + box); }
  uint16_t number_of_host(unsigned host) { return testbed.peb_host(host).peb().number(); }
  uint16_t number_of_box(unsigned box) { return testbed.peb_box(box).peb().number(); }
  HostSlot& slot(unsigned host, unsigned slot = 0) { return testbed.peb_host(host).slot(slot); }

  std::vector<TestDevice*> devices;
  Testbed testbed;
  InProcessHost manager_host;
  fabric::SimulatedPort port;
  Manager manager;
  std::vector<std::unique_ptr<TestHost>> hosts;
};

TEST_CASE("a manager numbers PEBs of both sides, and gives nobody a device unasked") {
  Network network(2);
  for (unsigned host = 0; host < Network::kHosts; ++host)
    CHECK(network.number_of_host(host) == EXRNIC_NODE_NONE);
  network.begin();
  for (unsigned host = 0; host < Network::kHosts; ++host)
    CHECK(network.number_of_host(host) == 1 + host);
  for (unsigned box = 0; box < 2; ++box)
    CHECK(network.number_of_box(box) == 1 + Network::kHosts + box);
  const auto& devices = network.manager.map().devices;
  REQUIRE(devices.count(Network::guid_of_host(0)) == 1);
  CHECK(devices.at(Network::guid_of_host(0)).data.kind == EXRNIC_MANAGEMENT_KIND_PEB_HOST);
  REQUIRE(devices.count(Network::guid_of_box(1)) == 1);
  CHECK(devices.at(Network::guid_of_box(1)).data.kind == EXRNIC_MANAGEMENT_KIND_PEB_DEVICE);
  CHECK(network.full_slots() == 0);
}

TEST_CASE("a device that a manager assigns appears at its host, and works") {
  Network network;
  network.begin({{Network::guid_of_host(0), 1, Network::guid_of_box(0)}});
  network.work([&] { return network.slot(0, 1).is_up(); });
  TestHost host(network.testbed, 0, 1);
  CHECK(host.load(kConfigSpace, PCI_VENDOR_ID, 4) == 0x56781234);
  CHECK(network.slot(0, 1).peer()->node == network.number_of_box(0));
  CHECK(network.testbed.peb_box(0).slot().peer()->node == network.number_of_host(0));
  CHECK_FALSE(network.slot(0, 0).peer());
  host.enable();
  host.store(0, 0, 4, 77);
  CHECK(host.load(0, 0, 4) == 77);
  network.devices[0]->dma_write(0x40, {1, 2, 3, 4});
  network.devices[0]->dma_read(1, 0x40, 4);
  network.work([&] { return network.devices[0]->reads_done == 1; });
  CHECK(network.devices[0]->reads[1] == Bytes{1, 2, 3, 4});
}

TEST_CASE("a device is taken away, given to another host, and knows nothing of the first one") {
  Network network;
  network.begin();
  network.assign({{Network::guid_of_host(0), 0, Network::guid_of_box(0)}}, 0, 0);
  TestHost& first = *network.hosts[0];
  first.enable();
  first.store(0, 0, 4, 77);
  CHECK(first.load(0, 0, 4) == 77);
  const unsigned resets = network.devices[0]->resets;

  network.manager.assign({{Network::guid_of_host(0), 0, 0}});
  network.work([&] { return network.full_slots() == 0; });
  CHECK_FALSE(network.slot(0).peer());
  CHECK(first.load(0, 0, 4) == 0xffffffff);

  network.assign({{Network::guid_of_host(1), 0, Network::guid_of_box(0)}}, 1, 0);
  CHECK(network.devices[0]->resets > resets);
  TestHost& second = *network.hosts[1];
  second.enable();
  CHECK(second.load(0, 0, 4) == 0);
  network.devices[0]->dma_write(0, {9});
  network.work([&] { return second.memory[0] == 9; });
  CHECK(first.memory[0] == 0);
  CHECK(network.testbed.peb_box(0).slot().peer()->node == network.number_of_host(1));
}

TEST_CASE("a host that resets its slot finds the device again, until its manager takes it") {
  Network network;
  network.begin();
  network.assign({{Network::guid_of_host(0), 0, Network::guid_of_box(0)}}, 0, 0);
  TestHost& host = *network.hosts[0];
  host.reset();
  CHECK(network.slot(0).peer()->node == network.number_of_box(0));
  CHECK(host.load(kConfigSpace, 0, 4) == 0x56781234);
  network.manager.assign({{Network::guid_of_host(0), 0, 0}});
  network.work([&] { return !network.slot(0).peer(); });
  host.reset();
  network.testbed.run_for(20 * kMs);
  CHECK_FALSE(network.slot(0).peer());
  CHECK(network.full_slots() == 0);
}

TEST_CASE("a line of a box that is cut is known, and its device is there again with the line") {
  Network network;
  network.begin();
  const std::vector<Assignment> assignments = {
      {Network::guid_of_host(0), 0, Network::guid_of_box(0)}};
  network.assign(assignments, 0, 0);
  Fabric& fabric = network.testbed.fabric();
  const TopologyLink& link = fabric.topology().links[1 + Network::kHosts];
  fabric.set_up(link, false);
  CHECK(network.hosts[0]->load(0, 0, 4) == 0xffffffff);
  fabric::run_managers(
      network.testbed, {&network.manager}, [&] { return !network.slot(0).is_up(); }, 200 * kMs);
  CHECK_FALSE(network.slot(0).is_up());
  fabric.set_up(link, true);
  network.work(
      [&] { return network.slot(0).is_up() && network.manager.state() == ManagerState::kActive; });
  const auto& box = network.manager.map().devices.at(Network::guid_of_box(0));
  CHECK(box.data.changes == 2);
  CHECK(network.hosts[0]->load(kConfigSpace, 0, 4) == 0x56781234);
}

}  // namespace
}  // namespace exrnic::peb
