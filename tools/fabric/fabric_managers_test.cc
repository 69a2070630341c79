// SPDX-License-Identifier: BSD-2-Clause
// Several managers in a fabric, and keys.
#include "tools/fabric/testing/fabric_fixture.h"

namespace exrnic::fabric {
namespace {

using namespace testing;

constexpr uint64_t kKey = 0x1122334455667788;

ManagerOptions standby(uint64_t seed) {
  ManagerOptions result = options();
  result.standby = true;
  result.seed = seed;
  return result;
}

TEST_CASE("a second manager waits, and takes over when the first one is gone") {
  FakeFabric fabric;
  const Built built = leaf_spine(fabric, 8, 4, 2);
  const int first = built.nodes[0], second = built.nodes[7];
  fabric.manage(first, options());
  Manager& waiting = fabric.manage(second, standby(2));
  fabric.run(500 * kMs);
  CHECK(settled(fabric.manager(first)));
  CHECK(waiting.state() == ManagerState::kWaiting);
  CHECK(waiting.counts().takeovers == 0);

  std::vector<uint16_t> numbers;
  for (const int node : built.nodes) numbers.push_back(fabric.at(node).number);
  fabric.stop_manager(first);
  const uint64_t stopped = fabric.now();
  settle(fabric, second);
  CHECK(waiting.counts().takeovers == 1);
  CHECK(waiting.times().started_ns >= stopped + 35 * kMs);
  CHECK(waiting.times().started_ns <= stopped + 60 * kMs);
  for (size_t i = 0; i < fabric.size(); ++i) {
    CHECK(fabric.at(static_cast<int>(i)).manager == fabric.at(second).number);
  }
  for (size_t i = 0; i < numbers.size(); ++i) CHECK(fabric.at(built.nodes[i]).number == numbers[i]);
  check_all(fabric, built);
}

TEST_CASE("who takes over reads what switches have, and writes what is wrong alone") {
  FakeFabric fabric;
  const Built built = leaf_spine(fabric, 8, 4, 2);
  fabric.manage(built.nodes[0], options());
  settle(fabric, built.nodes[0]);
  fabric.stop_manager(built.nodes[0]);
  fabric.at(built.switches[0]).routes[100] = 1;  // to nobody
  Manager& next = fabric.manage(built.nodes[1], options());
  settle(fabric, built.nodes[1]);
  CHECK(next.counts().writes.route_blocks == 1);
  CHECK(fabric.at(built.switches[0]).route(100) == kNoPort);
  check_all(fabric, built);
}

// A fabric with a look that takes longer than others wait: 200 devices with another key at a
// switch.
class Long {
 public:
  Long() : built(leaf_spine(fabric, 7, 4, 2)), crowd(fabric.add_switch(0x51, 201)) {
    fabric.join(built.switches[3], 3, crowd, 200);
    for (uint16_t i = 0; i < 200; ++i) {
      const int foreign = fabric.add_node(0x1000 + i);
      fabric.at(foreign).key = 99;
      fabric.join(crowd, i, foreign, 0);
    }
    hasty.takeover_ns = 2 * kMs;
    hasty.sweep_ns = kMs / 4;
  }

  FakeFabric fabric;
  const Built built;
  const int crowd;
  ManagerOptions hasty = options();
};

TEST_CASE("a manager that has long to look is not taken for one that stands still") {
  Long fixture;
  FakeFabric& fabric = fixture.fabric;
  const std::vector<int>& nodes = fixture.built.nodes;
  Manager& first = fabric.manage(nodes[0], fixture.hasty);
  settle(fabric, nodes[0]);
  fixture.hasty.standby = true;
  Manager& second = fabric.manage(nodes[6], fixture.hasty);
  fabric.run(fabric.now() + 100 * kMs);
  REQUIRE(second.counts().takeovers == 0);
  for (const bool up : {false, true}) {
    for (uint16_t i = 0; i < 100; ++i) fabric.set_line(fixture.crowd, i, up);
    fabric.run(fabric.now() + 100 * kMs);
  }
  CHECK(second.counts().takeovers == 0);
  CHECK(first.counts().yields == 0);
}

TEST_CASE("nor is one that looks at a fabric for the first time") {
  Long fixture;
  FakeFabric& fabric = fixture.fabric;
  const std::vector<int>& nodes = fixture.built.nodes;
  Manager& first = fabric.manage(nodes[0], fixture.hasty);
  fixture.hasty.standby = true;
  fixture.hasty.seed = 2;
  Manager& second = fabric.manage(nodes[6], fixture.hasty);
  settle(fabric, nodes[0]);
  REQUIRE(first.times().discovered_ns > fixture.hasty.takeover_ns);
  CHECK(second.counts().takeovers == 0);

  // Nor one that has taken over, and looks for the first time.
  fixture.hasty.seed = 3;
  fixture.hasty.takeover_ns *= 2;
  Manager& third = fabric.manage(nodes[2], fixture.hasty);
  fabric.run(fabric.now() + 50 * kMs);
  fabric.stop_manager(nodes[0]);
  fabric.run(fabric.now() + 50 * kMs);
  CHECK(second.counts().takeovers == 1);
  CHECK(second.counts().yields == 0);
  CHECK(third.counts().takeovers == 0);
}

TEST_CASE("a manager that was replaced gives way, says so, and comes back when that one is gone") {
  FakeFabric fabric;
  const Built built = leaf_spine(fabric, 8, 4, 2);
  Manager& first = fabric.manage(built.nodes[0], options());
  settle(fabric, built.nodes[0]);
  Manager& second = fabric.manage(built.nodes[5], options());
  fabric.run(fabric.now() + 100 * kMs);
  CHECK(settled(second));
  CHECK(first.state() == ManagerState::kWaiting);
  CHECK(first.counts().yields == 1);
  CHECK(first.reason().find("manages the own node") != std::string::npos);
  CHECK(fabric.at(built.nodes[0]).manager == fabric.at(built.nodes[5]).number);

  fabric.stop_manager(built.nodes[5]);
  settle(fabric, built.nodes[0]);
  CHECK(first.counts().takeovers == 1);
  CHECK(fabric.at(built.nodes[5]).manager == fabric.at(built.nodes[0]).number);
}

TEST_CASE("who was replaced finds it out before he writes, too") {
  FakeFabric fabric;
  const Built built = leaf_spine(fabric, 8, 4, 2);
  const int own = built.nodes[0], spine = built.switches[1];
  Manager& manager = fabric.manage(own, options());
  settle(fabric, own);
  // The look that a trap asks for fails, so everything is looked at, before the next sweep.
  const uint16_t other = fabric.at(built.nodes[5]).number;
  fabric.at(own).manager = other;
  fabric.at(spine).lie = [](Frame&) { return false; };
  fabric.set_line(built.switches[3], 5, false);
  fabric.run(fabric.now() + 20 * kMs);
  CHECK(manager.state() == ManagerState::kWaiting);
  CHECK(manager.counts().discoveries == 2);
  CHECK(fabric.at(own).manager == other);
}

TEST_CASE("of managers that begin at the same time one is left, and stays") {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    INFO("seed " << seed);
    FakeFabric fabric;
    const Built built = leaf_spine(fabric, 8, 4, 2);
    const int hosts[] = {built.nodes[0], built.nodes[3], built.nodes[6]};
    for (const int node : hosts) {
      ManagerOptions mine = options();
      mine.seed = seed * 10 + static_cast<uint64_t>(node);
      fabric.manage(node, mine);
    }
    fabric.run(1'000 * kMs);
    uint64_t yields = 0;
    const auto active = [&] {
      int count = 0;
      yields = 0;
      for (const int node : hosts) {
        count += fabric.manager(node).state() == ManagerState::kWaiting ? 0 : 1;
        yields += fabric.manager(node).counts().yields;
      }
      return count;
    };
    CHECK(active() == 1);
    const uint64_t before = yields;
    fabric.run(fabric.now() + 500 * kMs);
    CHECK(active() == 1);
    CHECK(yields == before);
    check_all(fabric, built);
  }
}

TEST_CASE("with a key devices get it, and who has another one is silent and told") {
  FakeFabric fabric;
  const Built built = leaf_spine(fabric, 8, 4, 2);
  fabric.at(built.nodes[6]).key = 99;
  ManagerOptions keyed = options();
  keyed.key = kKey;
  Manager& manager = fabric.manage(built.nodes[0], keyed);
  settle(fabric, built.nodes[0]);
  for (size_t i = 0; i < fabric.size(); ++i) {
    const auto device = static_cast<int>(i);
    CHECK(fabric.at(device).key == (device == built.nodes[6] ? 99 : kKey));
  }
  CHECK(manager.map().devices.size() == fabric.size() - 1);
  CHECK(mentions(manager.problems(), "nobody answers there"));
  CHECK(fabric.at(built.nodes[6]).sets == 0);

  // Its board forgets the key: the next looks find it.
  fabric.at(built.nodes[6]).key = 0;
  fabric.run(fabric.now() + 200 * kMs);
  CHECK(manager.problems().empty());
  CHECK(fabric.at(built.nodes[6]).key == kKey);
  check_all(fabric, built);
}

TEST_CASE("an own node with another key is told, and the manager tries again") {
  FakeFabric fabric;
  const Built built = star(fabric, 3);
  fabric.at(built.nodes[0]).key = 99;
  Manager& manager = fabric.manage(built.nodes[0], options());
  fabric.run(20 * kMs);
  CHECK(manager.state() == ManagerState::kDiscovering);
  CHECK(mentions(manager.problems(), "own node does not answer"));
  fabric.at(built.nodes[0]).key = 0;
  settle(fabric, built.nodes[0]);
  CHECK(manager.problems().empty());
  check_all(fabric, built);
}

TEST_CASE("a foreign switch hides what is behind it, and nothing else") {
  FakeFabric fabric;
  const Built built = leaf_spine(fabric, 12, 4, 2);
  fabric.at(built.switches[4]).key = 99;  // the last leaf
  Manager& manager = fabric.manage(built.nodes[0], options());
  settle(fabric, built.nodes[0]);
  CHECK(manager.map().devices.size() == 8 + 4);
  CHECK(manager.problems().size() == 2);  // one at each spine
  CHECK(trouble_of_nodes(fabric, {built.nodes.begin(), built.nodes.begin() + 8}) == "");
}

TEST_CASE("PEBs get their peers, and get them again when they have lost them") {
  FakeFabric fabric;
  Built built = star(fabric, 2);
  const int host = fabric.add(0x11, EXRNIC_MANAGEMENT_KIND_PEB_HOST, 1);
  const int device = fabric.add(0x12, EXRNIC_MANAGEMENT_KIND_PEB_DEVICE, 1);
  fabric.join(host, 0, built.switches[0], 2);
  fabric.join(device, 0, built.switches[0], 3);
  ManagerOptions assigned = options();
  assigned.assignments = {{0x11, 2, 0x12}, {0x11, 1, 0x77}, {0x11, 9, 0}};
  Manager& manager = fabric.manage(built.nodes[0], assigned);
  settle(fabric, built.nodes[0]);
  const auto check = [&] {
    const uint16_t group = fabric.at(host).number;
    CHECK(fabric.at(host).assignments[2] ==
          std::array<uint16_t, 2>{fabric.at(device).number, group});
    CHECK(fabric.at(device).assignments[0] == std::array<uint16_t, 2>{group, group});
    CHECK(fabric.at(host).assignments[1][0] == kNoNumber);
  };
  check();
  CHECK(manager.counts().writes.assignments == 2);
  CHECK(mentions(manager.problems(), "port 1 of the PEB 0000000000000011 cannot get"));
  CHECK(mentions(manager.problems(), "its port 9 was refused"));

  fabric.power(device, false);
  fabric.run(fabric.now() + 50 * kMs);
  fabric.power(device, true);
  fabric.run(fabric.now() + 50 * kMs);
  check();

  manager.assign({{0x11, 2, 0}});
  fabric.run(fabric.now() + 50 * kMs);
  CHECK(fabric.at(host).assignments[2][0] == kNoNumber);
}

}  // namespace
}  // namespace exrnic::fabric
