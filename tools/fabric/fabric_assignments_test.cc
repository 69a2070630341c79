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
  Pebs() : built(star(fabric, 1)) {
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
  Manager& manage(std::vector<Assignment> assignments) {
    ManagerOptions assigned = options();
    assigned.assignments = std::move(assignments);
    Manager& manager = fabric.manage(built.nodes[0], assigned);
    settle(fabric, built.nodes[0]);
    return manager;
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

  FakeFabric fabric;
  Built built;
  std::vector<int> hosts, devices;

 private:
  uint16_t next_ = 1;
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

}  // namespace
}  // namespace exrnic::fabric
