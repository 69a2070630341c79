// SPDX-License-Identifier: BSD-2-Clause
// A fabric whose nodes and switches know nothing, a manager on one of its nodes, and work between
// all of them.
#include <catch2/catch_test_macros.hpp>
#include <optional>
#include <random>
#include <string>

#include "sim/topology/link_names.h"
#include "tests/support/cluster.h"
#include "tests/support/test_cores.h"
#include "tools/fabric/simulated/simulated_port.h"
#include "tools/fabric/text.h"

namespace exrnic::testing {
namespace {

using fabric::Manager;
using fabric::ManagerOptions;
using fabric::ManagerState;

constexpr uint64_t kMs = 1'000'000;
constexpr uint32_t kLength = 3000;
constexpr uint64_t kKey = 0x0123456789abcdef;

TestbedOptions managed(const char* profile, const std::string& topology) {
  TestbedOptions options = options_on(profile, topology);
  options.fabric = Fabric::Control::kManaged;
  return options;
}

ManagerOptions manager_options(bool standby = false) {
  ManagerOptions options;
  options.key = kKey;
  options.seed = 1;
  options.standby = standby;
  options.timeout_ns = 2 * kMs;
  options.sweep_ns = 2 * kMs;
  options.takeover_ns = 20 * kMs;
  options.pause_ns = kMs;
  return options;
}

struct Managed {
  Managed(const char* profile, const std::string& topology)
      : cluster(managed(profile, topology), test_cores(), uint64_t{16} * kLength),
        port(cluster[0].rnic.host()),
        manager(port, manager_options()) {}

  bool until(const std::function<bool()>& done, uint64_t limit_ns = 100 * kMs) {
    return fabric::run_managers(cluster.testbed, {&manager}, done, limit_ns);
  }
  void begin() {
    REQUIRE(until([&] { return manager.state() == ManagerState::kActive; }));
    INFO(fabric::text_of(manager.map(), manager.problems()));
    REQUIRE(manager.problems().empty());
  }
  uint32_t node_of(unsigned node) {
    return static_cast<uint32_t>(
        cluster[node].rnic.host().load(EXRNIC_BAR_REGISTERS, EXRNIC_REG_NODE_ID, 4));
  }
  bool link_of(unsigned node) {
    return cluster[node].rnic.host().load(EXRNIC_BAR_REGISTERS, EXRNIC_REG_STATUS, 4) &
           EXRNIC_DEVICE_STATUS_LINK_UP;
  }
  // From each to each; all of it arrives.
  void push_between_all() {
    const unsigned nodes = cluster.size();
    std::mt19937_64 random(nodes);
    std::vector<Bytes> data;
    for (unsigned from = 0; from < nodes; ++from) {
      data.push_back(random_bytes(random, kLength));
      cluster[from].rnic.write(cluster[from].source, 0, data.back());
    }
    for (unsigned from = 0; from < nodes; ++from)
      for (unsigned to = 0; to < nodes; ++to)
        if (to != from) cluster[from].push(to, 0, kLength, uint64_t{from} * kLength);
    for (unsigned node = 0; node < nodes; ++node)
      for (unsigned i = 1; i < nodes; ++i)
        REQUIRE(cluster[node].wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    cluster.rest();
    for (unsigned from = 0; from < nodes; ++from)
      for (unsigned to = 0; to < nodes; ++to)
        if (to != from)
          REQUIRE(
              difference(cluster[to].rnic.read(cluster[to].sink, uint64_t{from} * kLength, kLength),
                         data[from]) == "");
  }
  void set_up(const std::string& link, bool up) {
    Fabric& network = cluster.testbed.fabric();
    network.set_up(link_named(network.topology(), link), up);
  }

  Cluster cluster;
  fabric::SimulatedPort port;
  Manager manager;
};

TEST_CASE("before a manager has been there nodes have no identifier and no link, and say nothing") {
  Managed fabric("dc-25g", "star:3");
  fabric.cluster.connect(1, 2);  // who is connected introduces himself
  fabric.cluster[1].push(2, 0, kLength, 0);
  fabric.cluster.testbed.run_for(kMs);
  CHECK(fabric.cluster.testbed.fabric().ethernet_switch(0).counters().received == 0);
  for (unsigned node = 0; node < 3; ++node) {
    CHECK(fabric.node_of(node) == EXRNIC_NODE_NONE);
    CHECK_FALSE(fabric.link_of(node));
  }
}

TEST_CASE("a manager finds a fabric, and every node pushes to every other") {
  for (const char* topology : {"back-to-back", "star:3", "ring:4", "two-levels:6"}) {
    INFO(topology);
    Managed fabric("dc-25g", topology);
    fabric.begin();
    for (unsigned node = 0; node < fabric.cluster.size(); ++node) {
      CHECK(fabric.node_of(node) == node);
      CHECK(fabric.link_of(node));
    }
    fabric.cluster.connect_all();
    fabric.push_between_all();
  }
}

// As it is, exrnic-sim refuses this ring: shortest ways can deadlock.
TEST_CASE("a ring of lines with credits gets routes without a circle") {
  Managed fabric("rhinet2", "ring:5");
  fabric.begin();
  fabric.cluster.connect_all();
  fabric.push_between_all();
}

TEST_CASE("a line that dies is routed around while work goes on, and used again when it is back") {
  Managed fabric("dc-25g", "ring:4");
  fabric.begin();
  fabric.cluster.connect_all();
  fabric.push_between_all();
  const auto routed = [&] { return fabric.manager.times().routed_ns; };
  for (const bool up : {false, true}) {
    const uint64_t before = routed();
    fabric.set_up("switch0-switch1", up);
    const uint64_t cut = fabric.cluster.testbed.now_ns();
    REQUIRE(fabric.until(
        [&] { return fabric.manager.state() == ManagerState::kActive && routed() != before; }));
    CHECK(routed() < cut + 5 * kMs);
    fabric.push_between_all();
  }
}

TEST_CASE("work that is under way when its line dies ends well behind the repair") {
  Managed fabric("dc-25g", "ring:4");
  fabric.begin();
  fabric.cluster.connect_all();
  fabric.push_between_all();
  for (unsigned node = 0; node < 4; ++node)
    fabric.cluster[node].rnic.host().store(EXRNIC_BAR_REGISTERS, EXRNIC_REG_RETRY_LIMIT, 4,
                                           EXRNIC_RETRY_LIMIT_MAX);
  fabric.set_up("switch0-switch1", false);
  fabric.cluster[0].push(1, 0, kLength, 0);
  fabric.cluster[1].push(0, 0, kLength, 0);
  REQUIRE(fabric.until([&] { return fabric.manager.map().devices.empty(); }, 5 * kMs) == false);
  CHECK(fabric.cluster[0].wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(fabric.cluster[1].wait().status == EXRNIC_CQE_STATUS_SUCCESS);
}

TEST_CASE("a second manager takes over when the first one stands still, and nobody notices") {
  Managed fabric("dc-25g", "star:3");
  fabric::SimulatedPort other_port(fabric.cluster[2].rnic.host());
  Manager other(other_port, manager_options(/*standby=*/true));
  fabric.begin();
  const auto both = [&](const std::function<bool()>& done) {
    return fabric::run_managers(fabric.cluster.testbed, {&fabric.manager, &other}, done, 60 * kMs);
  };
  CHECK_FALSE(both([&] { return other.state() != ManagerState::kWaiting; }));
  fabric.cluster.connect_all();
  const bool took_over = fabric::run_managers(
      fabric.cluster.testbed, {&other}, [&] { return other.state() == ManagerState::kActive; },
      60 * kMs);
  INFO(name_of(other.state()) << ": " << other.reason());
  const auto counts = other.counts();
  INFO("requests " << counts.requests.requests << " retries " << counts.requests.retries
                   << " answers " << counts.requests.answers << " silent " << counts.requests.silent
                   << " strange " << counts.requests.strange << " now "
                   << fabric.cluster.testbed.now_ns());
  REQUIRE(took_over);
  CHECK(other.counts().takeovers == 1);
  fabric.push_between_all();
  for (unsigned node = 0; node < 3; ++node) CHECK(fabric.node_of(node) == node);
  // The first one comes back, and waits.
  REQUIRE(both([&] { return fabric.manager.state() == ManagerState::kWaiting; }));
  CHECK(other.state() == ManagerState::kActive);
}

TEST_CASE("a host without the key changes nothing, and is counted") {
  Managed fabric("dc-25g", "star:3");
  fabric.begin();
  fabric::SimulatedPort intruder_port(fabric.cluster[1].rnic.host());
  ManagerOptions options = manager_options();
  options.key = kKey + 1;
  options.tries = 1;
  Manager intruder(intruder_port, options);
  CHECK_FALSE(fabric::run_managers(
      fabric.cluster.testbed, {&intruder},
      [&] { return intruder.state() == ManagerState::kActive; }, 20 * kMs));
  CHECK(fabric.cluster[1].rnic.counter(EXRNIC_COUNTER_MANAGEMENT_DROPPED) > 0);
  CHECK(fabric.node_of(1) == 1);
  fabric.cluster.connect_all();
  fabric.push_between_all();
}

TEST_CASE("a node whose driver resets it keeps its identifier") {
  Managed fabric("dc-25g", "star:3");
  fabric.begin();
  fabric.cluster.testbed.node(2).device().reset();
  fabric.cluster.testbed.run_for(kMs);
  CHECK(fabric.node_of(2) == 2);
  CHECK(fabric.link_of(2));
}

}  // namespace
}  // namespace exrnic::testing
