// SPDX-License-Identifier: BSD-2-Clause
// Whose the ports of PEBs are, while that changes, and beside devices that do not do what they are
// told.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tools/fabric/testing/fabric_fixture.h"

namespace exrnic::fabric {
namespace {

using namespace testing;

constexpr uint64_t kHost = 0x11, kOther = 0x12, kDevices = 0x21;

// A manager, two hosts and three devices with PEBs.
struct Pebs {
  Pebs() : built(star(fabric, 2)) {
    const auto add = [&](uint64_t guid, uint8_t kind) {
      const int index = fabric.add(guid, kind, 1, 8192);
      fabric.at(built.switches[0]).ports.resize(next_ + 1u);
      fabric.at(built.switches[0]).forget();
      fabric.join(index, 0, built.switches[0], next_++);
      return index;
    };
    hosts = {add(kHost, EXRNIC_MANAGEMENT_KIND_PEB_HOST),
             add(kOther, EXRNIC_MANAGEMENT_KIND_PEB_HOST)};
    for (unsigned i = 0; i < 3; ++i)
      devices.push_back(add(kDevices + i, EXRNIC_MANAGEMENT_KIND_PEB_DEVICE));
  }
  // The manager of node 0, when it has settled.
  Manager& manage(std::vector<Assignment> assignments) {
    Manager& manager = begin(built.nodes[0], std::move(assignments));
    settle(fabric, built.nodes[0]);
    return manager;
  }
  Manager& begin(int node, std::vector<Assignment> assignments, bool standby = false) {
    ManagerOptions assigned = options();
    assigned.seed = static_cast<uint64_t>(node) + 1;
    assigned.standby = standby;
    assigned.assignments = std::move(assignments);
    return fabric.manage(node, assigned);
  }
  void assign(std::vector<Assignment> assignments) {
    fabric.manager(built.nodes[0]).assign(std::move(assignments));
    fabric.run(fabric.now() + 100 * kMs);
  }
  // Both ends say so.
  bool has(unsigned host, uint16_t port, unsigned device) {
    const uint16_t group = fabric.at(hosts[host]).number;
    return fabric.at(hosts[host]).assignments[port] ==
               std::array<uint16_t, 2>{fabric.at(devices[device]).number, group} &&
           fabric.at(devices[device]).assignments[0] == std::array<uint16_t, 2>{group, group};
  }
  bool host_says(unsigned host, unsigned device) {
    for (const auto& [port, peer] : fabric.at(hosts[host]).assignments)
      if (peer[0] != kNoNumber && peer[0] == fabric.at(devices[device]).number) return true;
    return false;
  }
  bool both_say(unsigned device) { return host_says(0, device) && host_says(1, device); }
  uint16_t peer_of(unsigned device) { return fabric.at(devices[device]).assignments[0][0]; }

  FakeFabric fabric;
  Built built;
  std::vector<int> hosts, devices;

 private:
  uint16_t next_ = 2;
};

TEST_CASE("devices of two ports of a host change places") {
  Pebs pebs;
  Manager& manager = pebs.manage({{kHost, 0, kDevices}, {kHost, 1, kDevices + 1}});
  REQUIRE(pebs.has(0, 0, 0));
  REQUIRE(pebs.has(0, 1, 1));
  pebs.assign({{kHost, 0, kDevices + 1}, {kHost, 1, kDevices}});
  CHECK(pebs.has(0, 0, 1));
  CHECK(pebs.has(0, 1, 0));
  CHECK(manager.problems().empty());
}

TEST_CASE("devices go round at two hosts while frames are lost") {
  Pebs pebs;
  Manager& manager = pebs.manage({});
  pebs.fabric.lose(0.1, 1);
  for (unsigned i = 0; i < 12; ++i) {
    const auto other = static_cast<uint16_t>(i % 2);
    std::vector<Assignment> wanted;
    for (unsigned device = 0; device < 3; ++device) {
      const bool last = (device + i) % 3 == 2;
      const auto port = last ? other : static_cast<uint16_t>((device + i) % 3);
      wanted.push_back({last ? kOther : kHost, port, kDevices + device});
    }
    wanted.push_back({kOther, static_cast<uint16_t>(1 - other), 0});
    pebs.assign(wanted);
    pebs.fabric.run(pebs.fabric.now() + 300 * kMs, [&] { return manager.written(); });
    for (unsigned device = 0; device < 3; ++device)
      CHECK(pebs.has(wanted[device].host == kHost ? 0 : 1, wanted[device].port, device));
    CHECK(manager.problems().empty());
  }
}

TEST_CASE("a device moves to another port of its host, in whatever order that is said") {
  Pebs pebs;
  Manager& manager = pebs.manage({{kHost, 0, kDevices}});
  REQUIRE(pebs.has(0, 0, 0));
  SECTION("the old one first") { pebs.assign({{kHost, 0, 0}, {kHost, 1, kDevices}}); }
  SECTION("the new one first") { pebs.assign({{kHost, 1, kDevices}, {kHost, 0, 0}}); }
  SECTION("the new one alone") { pebs.assign({{kHost, 1, kDevices}}); }
  CHECK(pebs.has(0, 1, 0));
  CHECK(manager.problems().empty());
}

TEST_CASE("a device that two are to have is told, and is the first one's") {
  Pebs pebs;
  Manager& manager = pebs.manage({{kHost, 0, kDevices}, {kOther, 0, kDevices}});
  CHECK(mentions(manager.problems(), "twice"));
  CHECK(pebs.has(0, 0, 0));
  CHECK(pebs.fabric.at(pebs.hosts[1]).assignments[0][0] == kNoNumber);
  for (unsigned i = 0; i < 3; ++i) {
    pebs.assign({{kHost, 0, kDevices}, {kOther, 0, kDevices}});
    CHECK(pebs.has(0, 0, 0));
  }
}

TEST_CASE("a device that is taken from its host has no peer any more") {
  Pebs pebs;
  pebs.manage({{kHost, 0, kDevices}});
  REQUIRE(pebs.has(0, 0, 0));
  SECTION("nobody has it then") { pebs.assign({{kHost, 0, 0}}); }
  SECTION("its host has another one instead") { pebs.assign({{kHost, 0, kDevices + 1}}); }
  CHECK(pebs.fabric.at(pebs.devices[0]).assignments[0][0] == kNoNumber);
}

TEST_CASE("a device is not held by another one whose host of before had its number") {
  Pebs pebs;
  FakeDevice& device = pebs.fabric.at(pebs.devices[0]);
  device.number = 0;
  FakeDevice& other = pebs.fabric.at(pebs.devices[1]);
  other.number = 1;
  other.assignments[0] = {0, 0};
  pebs.manage({{kHost, 0, kDevices}, {kHost, 1, kDevices + 1}});
  REQUIRE(device.number == 0);
  CHECK(pebs.has(0, 0, 0));
  CHECK(pebs.has(0, 1, 1));
}

TEST_CASE("a node that does not answer what it is told keeps no PEB from its device") {
  Pebs pebs;
  ignore_sets(pebs.fabric.at(pebs.devices[2]));
  ManagerOptions assigned = options();
  assigned.assignments = {{kHost, 0, kDevices}};
  pebs.fabric.manage(pebs.built.nodes[0], assigned);
  pebs.fabric.run(500 * kMs);
  CHECK(pebs.has(0, 0, 0));
  CHECK(mentions(pebs.fabric.manager(pebs.built.nodes[0]).problems(), "does not answer what"));
  CHECK(mentions(pebs.fabric.manager(pebs.built.nodes[0]).problems(), "0000000000000023"));
}

TEST_CASE(
    "a node with a number that it may not have, and that does not give it away, keeps nobody from "
    "others") {
  FakeFabric fabric;
  const Built built = star(fabric, 12);
  const unsigned liars = GENERATE(1u, 10u);
  for (unsigned i = 1; i <= liars; ++i) ignore_sets(fabric.at(built.nodes[i]), 0x9000);
  fabric.manage(built.nodes[0], options());
  fabric.run(1'000 * kMs);
  CHECK(trouble_of_nodes(fabric, {built.nodes[0], built.nodes[11]}) == "");
}

TEST_CASE("PEBs that do not tell their peers keep no other PEB from its device") {
  FakeFabric fabric;
  const Built built = star(fabric, 32);
  std::vector<Assignment> assignments;
  for (unsigned i = 1; i < 31; i += 2) {
    FakeDevice& host = fabric.at(built.nodes[i]);
    FakeDevice& device = fabric.at(built.nodes[i + 1]);
    host.kind = EXRNIC_MANAGEMENT_KIND_PEB_HOST;
    device.kind = EXRNIC_MANAGEMENT_KIND_PEB_DEVICE;
    host.forget();
    device.forget();
    if (i < 25)
      host.lie = [](Frame& frame) {
        return exrnic_management_header_attribute(&frame[EXRNIC_ETH_BYTES]) !=
               EXRNIC_MANAGEMENT_ATTRIBUTE_ASSIGNMENT;
      };
    assignments.push_back({host.guid, 0, device.guid});
  }
  ManagerOptions assigned = options();
  assigned.assignments = assignments;
  fabric.manage(built.nodes[0], assigned);
  fabric.run(1'000 * kMs);
  CHECK(fabric.at(built.nodes[29]).assignments[0][0] == fabric.at(built.nodes[30]).number);
  CHECK(fabric.at(built.nodes[30]).assignments[0][0] == fabric.at(built.nodes[29]).number);
}

TEST_CASE("a manager that ends between freeing a port and its device leaves no device so") {
  Pebs pebs;
  Manager& manager = pebs.begin(pebs.built.nodes[0], {{kHost, 0, kDevices}});
  settle(pebs.fabric, pebs.built.nodes[0]);
  REQUIRE(pebs.host_says(0, 0));
  manager.assign({{kHost, 0, 0}});
  pebs.fabric.run(pebs.fabric.now() + 100 * kMs, [&] { return !pebs.host_says(0, 0); });
  REQUIRE(pebs.peer_of(0) != kNoNumber);
  pebs.fabric.stop_manager(pebs.built.nodes[0]);
  pebs.begin(pebs.built.nodes[1], {{kHost, 0, 0}});
  settle(pebs.fabric, pebs.built.nodes[1]);
  pebs.fabric.run(pebs.fabric.now() + 500 * kMs);
  CHECK(pebs.peer_of(0) == kNoNumber);
}

TEST_CASE("such a device is freed also if it is heard late") {
  Pebs pebs;
  Manager& manager = pebs.manage({{kHost, 0, kDevices}});
  manager.assign({{kHost, 0, 0}});
  pebs.fabric.run(pebs.fabric.now() + 100 * kMs, [&] { return !pebs.host_says(0, 0); });
  REQUIRE(pebs.peer_of(0) != kNoNumber);
  pebs.fabric.stop_manager(pebs.built.nodes[0]);
  FakeDevice& device = pebs.fabric.at(pebs.devices[0]);
  device.lie = [](Frame& frame) { return !about(frame, EXRNIC_MANAGEMENT_ATTRIBUTE_ASSIGNMENT); };
  pebs.begin(pebs.built.nodes[1], {{kHost, 0, 0}});
  pebs.fabric.run(pebs.fabric.now() + 200 * kMs);
  CHECK(pebs.peer_of(0) != kNoNumber);
  device.lie = nullptr;
  pebs.fabric.run(pebs.fabric.now() + 2'000 * kMs);
  CHECK(pebs.peer_of(0) == kNoNumber);
}

TEST_CASE(
    "a manager that ends while a device moves gives it to no two hosts, and its successor ends "
    "it") {
  for (uint64_t after = 0; after < 200; ++after) {
    INFO("after " << after * 500 << " ns");
    Pebs pebs;
    Manager& manager = pebs.begin(pebs.built.nodes[0], {{kHost, 0, kDevices}});
    settle(pebs.fabric, pebs.built.nodes[0]);
    const std::vector<Assignment> next = {{kHost, 0, 0}, {kOther, 0, kDevices}};
    manager.assign(next);
    pebs.fabric.run(pebs.fabric.now() + after * 500);
    pebs.fabric.stop_manager(pebs.built.nodes[0]);
    CHECK_FALSE(pebs.both_say(0));
    pebs.begin(pebs.built.nodes[1], next);
    settle(pebs.fabric, pebs.built.nodes[1]);
    CHECK_FALSE(pebs.both_say(0));
    CHECK(pebs.host_says(1, 0));
    CHECK(pebs.peer_of(0) == pebs.fabric.at(pebs.hosts[1]).number);
  }
}

TEST_CASE("devices of two hosts change places, and none is both hosts' meanwhile") {
  unsigned moments = 0, twice = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Pebs pebs;
    Manager& manager =
        pebs.begin(pebs.built.nodes[0], {{kHost, 0, kDevices}, {kOther, 0, kDevices + 1}});
    settle(pebs.fabric, pebs.built.nodes[0]);
    pebs.fabric.lose(0.2, seed);
    manager.assign({{kHost, 0, kDevices + 1}, {kOther, 0, kDevices}});
    for (unsigned i = 0; i < 2'000; ++i) {
      pebs.fabric.run(pebs.fabric.now() + 5'000);
      ++moments;
      if (pebs.both_say(0) || pebs.both_say(1)) ++twice;
    }
  }
  INFO(twice << " of " << moments << " moments");
  CHECK(twice == 0);
}

TEST_CASE("a device whose host does not let it go is not given to another one") {
  Pebs pebs;
  Manager& manager = pebs.begin(pebs.built.nodes[0], {{kHost, 0, kDevices}});
  settle(pebs.fabric, pebs.built.nodes[0]);
  // What sets a peer gets lost on the way to that host: reads are heard.
  FakeDevice& host = pebs.fabric.at(pebs.hosts[0]);
  const auto had = host.assignments;
  host.lie = [&host, had, seen = host.sets](Frame& frame) mutable {
    const bool set = host.sets != seen;
    seen = host.sets;
    if (!set || !about(frame, EXRNIC_MANAGEMENT_ATTRIBUTE_ASSIGNMENT)) return true;
    host.assignments = had;
    return false;
  };
  manager.assign({{kHost, 0, 0}, {kOther, 0, kDevices}});
  unsigned twice = 0;
  for (unsigned i = 0; i < 500; ++i) {
    pebs.fabric.run(pebs.fabric.now() + kMs);
    if (pebs.both_say(0)) ++twice;
  }
  INFO(twice << " of 500 ms");
  CHECK(twice == 0);
  CHECK(!manager.problems().empty());
}

TEST_CASE("who takes over with another list gives no device to two hosts") {
  Pebs pebs;
  pebs.begin(pebs.built.nodes[0], {{kHost, 0, kDevices}});
  settle(pebs.fabric, pebs.built.nodes[0]);
  Manager& next = pebs.begin(pebs.built.nodes[1], {{kOther, 0, kDevices}}, true);
  pebs.fabric.run(pebs.fabric.now() + 20 * kMs);
  pebs.fabric.stop_manager(pebs.built.nodes[0]);
  settle(pebs.fabric, pebs.built.nodes[1]);
  REQUIRE(next.counts().takeovers == 1);
  CHECK(pebs.host_says(1, 0));
  CHECK(pebs.peer_of(0) == pebs.fabric.at(pebs.hosts[1]).number);
  pebs.fabric.run(pebs.fabric.now() + 500 * kMs);
  CHECK_FALSE(pebs.both_say(0));
}

TEST_CASE("what a manager has not freed it does not free when another one has given it") {
  Pebs pebs;
  Manager& first = pebs.begin(pebs.built.nodes[0], {{kHost, 0, kDevices}});
  settle(pebs.fabric, pebs.built.nodes[0]);
  REQUIRE(pebs.host_says(0, 0));
  // The device hears nothing for a while.
  FakeDevice& device = pebs.fabric.at(pebs.devices[0]);
  const auto had = device.assignments;
  device.lie = [&device, had](Frame& frame) {
    if (!about(frame, EXRNIC_MANAGEMENT_ATTRIBUTE_ASSIGNMENT)) return true;
    device.assignments = had;
    return false;
  };
  first.assign({{kHost, 0, 0}});
  pebs.fabric.run(pebs.fabric.now() + 50 * kMs);
  REQUIRE_FALSE(pebs.host_says(0, 0));
  REQUIRE(pebs.peer_of(0) != kNoNumber);
  // Another manager begins, and the device is that host's again, at another port.
  Manager& second = pebs.begin(pebs.built.nodes[1], {{kHost, 1, kDevices}});
  device.lie = nullptr;
  pebs.fabric.run(pebs.fabric.now() + 30 * kMs);
  REQUIRE(first.state() == ManagerState::kWaiting);
  REQUIRE(settled(second));
  const uint16_t host = pebs.fabric.at(pebs.hosts[0]).number;
  REQUIRE(pebs.host_says(0, 0));
  REQUIRE(pebs.peer_of(0) == host);
  // The first one comes back. Port 1 is not in its list, and so keeps what it has.
  pebs.fabric.stop_manager(pebs.built.nodes[1]);
  settle(pebs.fabric, pebs.built.nodes[0]);
  REQUIRE(first.counts().takeovers == 1);
  pebs.fabric.run(pebs.fabric.now() + 200 * kMs);
  CHECK(pebs.host_says(0, 0));
  CHECK(pebs.peer_of(0) == host);
}

TEST_CASE("managers with different lists do not give way to each other for ever") {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    INFO("seed " << seed);
    Pebs pebs;
    ManagerOptions a = options(), b = options();
    a.seed = seed;
    b.seed = seed + 100;
    a.assignments = {{kHost, 0, kDevices}};
    b.assignments = {{kOther, 0, kDevices}};
    Manager& one = pebs.fabric.manage(pebs.built.nodes[0], a);
    Manager& other = pebs.fabric.manage(pebs.built.nodes[1], b);
    pebs.fabric.run(1'000 * kMs);
    const uint64_t yields = one.counts().yields + other.counts().yields;
    const uint64_t writes = one.counts().writes.assignments + other.counts().writes.assignments;
    pebs.fabric.run(pebs.fabric.now() + 1'000 * kMs);
    CHECK(one.counts().yields + other.counts().yields == yields);
    CHECK(one.counts().writes.assignments + other.counts().writes.assignments == writes);
  }
}

TEST_CASE("a host that waits for a device that is off does not get another host's") {
  Pebs pebs;
  pebs.begin(pebs.built.nodes[0], {{kHost, 0, kDevices}});
  settle(pebs.fabric, pebs.built.nodes[0]);
  REQUIRE(pebs.host_says(0, 0));
  const uint16_t number = pebs.fabric.at(pebs.devices[0]).number;
  pebs.fabric.power(pebs.devices[0], false);
  pebs.fabric.run(pebs.fabric.now() + 50 * kMs);
  pebs.fabric.stop_manager(pebs.built.nodes[0]);
  // Its successor has not known it. Another device comes.
  pebs.fabric.power(pebs.devices[1], false);
  pebs.fabric.power(pebs.devices[1], true);

  pebs.begin(pebs.built.nodes[1], {{kHost, 0, kDevices}, {kOther, 0, kDevices + 1}});
  settle(pebs.fabric, pebs.built.nodes[1]);
  pebs.fabric.run(pebs.fabric.now() + 500 * kMs);
  INFO("the number " << number << " is that of " << pebs.fabric.at(pebs.devices[1]).number);
  CHECK(pebs.peer_of(1) == pebs.fabric.at(pebs.hosts[1]).number);
  CHECK_FALSE(pebs.both_say(1));
}

}  // namespace
}  // namespace exrnic::fabric
