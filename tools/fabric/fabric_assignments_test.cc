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

// It answers whoever asks, and nobody who sets.
void ignore_sets(FakeDevice& device, uint16_t tells = kNoNumber) {
  device.lie = [&device, tells, seen = device.sets](Frame& frame) mutable {
    const bool set = device.sets != seen;
    seen = device.sets;
    const uint8_t* const header = &frame[EXRNIC_ETH_BYTES];
    if (exrnic_management_header_attribute(header) == EXRNIC_MANAGEMENT_ATTRIBUTE_DEVICE) {
      exrnic_management_device_set_number(&frame[EXRNIC_MANAGEMENT_DATA_AT], tells);
      exrnic_management_device_set_manager(&frame[EXRNIC_MANAGEMENT_DATA_AT], kNoNumber);
    }
    return !set;
  };
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
