// SPDX-License-Identifier: BSD-2-Clause
// Which numbers devices get, and how routes are spread.
#include <algorithm>
#include <map>
#include <set>

#include "tools/fabric/testing/fabric_fixture.h"

namespace exrnic::fabric {
namespace {

using namespace testing;

Device device(uint64_t guid, uint16_t number, bool fixed = false,
              uint8_t kind = EXRNIC_MANAGEMENT_KIND_RNIC, uint32_t nodes = 65535) {
  Device result;
  result.data.guid = guid;
  result.data.kind = kind;
  result.data.number = number;
  result.data.fixed = fixed;
  result.data.nodes = nodes;
  return result;
}

Map map_of(const std::vector<Device>& devices) {
  Map map;
  map.own = devices.front().data.guid;
  for (const Device& item : devices) map.devices[item.data.guid] = item;
  return map;
}

TEST_CASE("valid numbers are kept, and the others get the lowest free ones by GUID") {
  const Numbers numbers = assign_numbers(
      map_of({device(10, kNoNumber), device(11, 1), device(12, kNoNumber), device(13, 0x9000),
              device(14, 1), device(15, kNoNumber, false, EXRNIC_MANAGEMENT_KIND_SWITCH),
              device(16, 0x8000, false, EXRNIC_MANAGEMENT_KIND_SWITCH),
              device(17, 5, false, EXRNIC_MANAGEMENT_KIND_SWITCH)}));
  CHECK(numbers.of ==
        std::map<uint64_t, uint16_t>{
            {10, 0}, {11, 1}, {12, 2}, {13, 3}, {14, 4}, {15, 0x8001}, {16, 0x8000}, {17, 0x8002}});
  CHECK(numbers.problems.empty());
}

TEST_CASE("a fixed number is kept before all others, and of two equal ones one is told") {
  const Numbers numbers = assign_numbers(map_of(
      {device(10, 7), device(20, 7, true), device(30, 7, true), device(40, kNoNumber, true)}));
  CHECK(numbers.of == std::map<uint64_t, uint16_t>{{10, 0}, {20, 7}});
  REQUIRE(numbers.problems.size() == 2);
  CHECK(numbers.problems[0].find("000000000000001e (7)") != std::string::npos);
  CHECK(numbers.problems[1].find("0000000000000028") != std::string::npos);
}

TEST_CASE("the own node keeps its number before those with lower GUIDs") {
  const Numbers numbers = assign_numbers(map_of({device(20, 3), device(10, 3)}));
  CHECK(numbers.of == std::map<uint64_t, uint16_t>{{10, 0}, {20, 3}});
}

TEST_CASE("who can have no more numbers is told, and the others get theirs") {
  const Map map =
      map_of({device(10, kNoNumber, false, EXRNIC_MANAGEMENT_KIND_RNIC, 2),
              device(11, kNoNumber, false, EXRNIC_MANAGEMENT_KIND_RNIC, 2),
              device(12, kNoNumber, false, EXRNIC_MANAGEMENT_KIND_RNIC, 2), device(13, kNoNumber),
              device(14, kNoNumber, false, EXRNIC_MANAGEMENT_KIND_SWITCH, 0x8000)});
  const Numbers numbers = assign_numbers(map);
  CHECK(numbers.of == std::map<uint64_t, uint16_t>{{10, 0}, {11, 1}, {13, 2}});
  REQUIRE(numbers.problems.size() == 4);
  CHECK(numbers.problems[0].find("numbers below 2 are all it can have") != std::string::npos);
  CHECK(numbers.problems[1].find("numbers below 32768 are all") != std::string::npos);
  CHECK(mentions(numbers.problems, "000000000000000a: it can talk to numbers below 2"));
  CHECK(mentions(numbers.problems, "000000000000000b: it can talk to numbers below 2"));
}

TEST_CASE("who comes back gets the number that he had, if it is free") {
  const Map map = map_of({device(10, kNoNumber), device(11, kNoNumber), device(12, 4)});
  const Numbers numbers = assign_numbers(map, {{10, 4}, {11, 9}});
  CHECK(numbers.of == std::map<uint64_t, uint16_t>{{10, 0}, {11, 9}, {12, 4}});
}

TEST_CASE("numbers of those that have gone are given to others last") {
  const std::map<uint64_t, uint16_t> before = {{1, 0}, {2, 2}, {10, 1}};
  CHECK(
      assign_numbers(map_of({device(10, 1), device(11, kNoNumber), device(12, kNoNumber)}), before)
          .of == std::map<uint64_t, uint16_t>{{10, 1}, {11, 3}, {12, 4}});
  const auto narrow = [](uint64_t guid) {
    return device(guid, kNoNumber, false, EXRNIC_MANAGEMENT_KIND_RNIC, 4);
  };
  CHECK(assign_numbers(map_of({device(10, 1), narrow(11), narrow(12), narrow(13)}), before).of ==
        std::map<uint64_t, uint16_t>{{10, 1}, {11, 3}, {12, 0}, {13, 2}});
}

TEST_CASE("who has a number keeps it when one with a lower GUID comes and says that it is his") {
  const Map map = map_of({device(50, 0), device(10, 4), device(20, 4)});
  const Numbers numbers = assign_numbers(map, {{50, 0}, {20, 4}});
  CHECK(numbers.of == std::map<uint64_t, uint16_t>{{10, 1}, {20, 4}, {50, 0}});
}

TEST_CASE("a node that comes back with a number that another one has by now gets a new one") {
  FakeFabric fabric;
  const Built built = star(fabric, 4);
  const int away = built.nodes[1], later = built.nodes[3];
  fabric.at(away).guid = 1;    // below all others
  fabric.at(later).nodes = 3;  // no number is left to it but one that somebody has had
  fabric.set_line(later, 0, false);
  fabric.manage(built.nodes[0], options());
  settle(fabric, built.nodes[0]);
  const uint16_t number = fabric.at(away).number;
  fabric.set_line(away, 0, false);
  fabric.run(fabric.now() + 50 * kMs);
  fabric.set_line(later, 0, true);
  fabric.run(fabric.now() + 50 * kMs);
  REQUIRE(fabric.at(later).number == number);
  REQUIRE(fabric.at(away).number == number);
  fabric.set_line(away, 0, true);
  fabric.run(fabric.now() + 50 * kMs);
  CHECK(fabric.at(later).number == number);
  CHECK(fabric.at(away).number != number);
  check_all(fabric, built);
}

// Two switches, each with two nodes and a manager of its own: they have the same numbers.
struct Halves {
  Halves() {
    for (const unsigned half : {0, 1}) {
      switches.push_back(fabric.add_switch(0x50 + half, 3));
      for (const uint16_t port : {0, 1}) {
        nodes.push_back(fabric.add_node(0x10 + 2 * half + port));
        fabric.join(switches.back(), port, nodes.back(), 0);
      }
    }
    fabric.join(switches[0], 2, switches[1], 2, false);
    for (const unsigned half : {0, 1}) {
      ManagerOptions own = options();
      own.seed = 1 + half;
      fabric.manage(nodes[2 * half], own);
      settle(fabric, nodes[2 * half]);
    }
  }
  FakeFabric fabric;
  std::vector<int> nodes;
  std::vector<int> switches;
};

TEST_CASE(
    "no frame with a number that two nodes have gets from one half of a fabric to the other") {
  Halves halves;
  FakeFabric& fabric = halves.fabric;
  fabric.stop_manager(halves.nodes[2]);
  REQUIRE(fabric.at(halves.nodes[1]).number == fabric.at(halves.nodes[3]).number);
  const FakeDevice& twin = fabric.at(halves.nodes[3]);
  const uint16_t number = twin.number;
  bool strays = false;
  fabric.set_line(halves.switches[0], 2, true);
  fabric.run(fabric.now() + 50 * kMs, [&] {
    const uint16_t route = fabric.at(halves.switches[1]).route(fabric.at(halves.nodes[0]).number);
    strays = strays || (twin.number == number && route == 2);
    return false;
  });
  CHECK(!strays);
  CHECK(twin.number != number);
  check_all(fabric, {halves.nodes, halves.switches});
}

TEST_CASE("two halves of a fabric, each with a manager, become one") {
  for (unsigned i = 0; i < 40; ++i) {
    INFO("after " << i << " * 137 us");
    Halves halves;
    FakeFabric& fabric = halves.fabric;
    fabric.run(fabric.now() + i * 137'000);
    fabric.set_line(halves.switches[0], 2, true);
    fabric.run(fabric.now() + 1000 * kMs);
    std::set<uint16_t> numbers;
    for (const int node : halves.nodes) numbers.insert(fabric.at(node).number);
    CHECK(numbers.size() == 4);
    check_all(fabric, {halves.nodes, halves.switches});
    const auto active = [&](int node) { return settled(fabric.manager(node)) ? 1 : 0; };
    CHECK(active(halves.nodes[0]) + active(halves.nodes[2]) == 1);
  }
}

TEST_CASE("a fabric with fixed numbers and fixed routes is told what cannot be") {
  FakeFabric fabric;
  const Built built = star(fabric, 4);
  for (const int node : {built.nodes[1], built.nodes[2]}) {
    fabric.at(node).number = 30;
    fabric.at(node).fixed = true;
  }
  fabric.at(built.switches[0]).fixed_routes = true;
  Manager& manager = fabric.manage(built.nodes[0], options());
  settle(fabric, built.nodes[0]);
  CHECK(mentions(manager.problems(), "its board has fixed the number 30"));
  CHECK(mentions(manager.problems(), "routes to the numbers from 0 on was refused"));
  CHECK(fabric.at(built.nodes[1]).number == 30);
  CHECK(fabric.at(built.nodes[0]).number < 2);
  CHECK(fabric.at(built.nodes[3]).number < 2);
}

// How many of these numbers leave a switch by each port from `first` on.
std::map<uint16_t, unsigned> given(const FakeFabric& fabric, int device, uint16_t first,
                                   const std::vector<int>& nodes) {
  std::map<uint16_t, unsigned> result;
  for (size_t port = first; port < fabric.at(device).ports.size(); ++port) {
    result[static_cast<uint16_t>(port)] = 0;
  }
  for (const int node : nodes) {
    const uint16_t port = fabric.at(device).route(fabric.at(node).number);
    if (port >= first) ++result[port];
  }
  return result;
}

unsigned difference(const std::map<uint16_t, unsigned>& counts) {
  const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
  return std::max_element(counts.begin(), counts.end(), less)->second -
         std::min_element(counts.begin(), counts.end(), less)->second;
}

TEST_CASE("ports that lead up have equally many destinations in a fat tree") {
  for (const bool credits : {false, true}) {
    for (const unsigned ports : {4u, 8u}) {
      FakeFabric fabric;
      const Built built = fat_tree(fabric, ports);
      if (credits) fabric.set_credits();
      fabric.manage(built.nodes[0], options());
      settle(fabric, built.nodes[0]);
      const unsigned below = 2 * ports * ports / 2;  // edges and aggregation
      for (unsigned i = 0; i < below; ++i) {
        const auto counts =
            given(fabric, built.switches[i], static_cast<uint16_t>(ports / 2), built.nodes);
        INFO("switch " << i << " of fat-tree:" << ports);
        CHECK(difference(counts) <= 1);
      }
    }
  }
}

// From all nodes to all others: frames on each line.
std::map<std::pair<int, uint16_t>, unsigned> loads(const FakeFabric& fabric, const Built& built) {
  std::map<std::pair<int, uint16_t>, unsigned> result;
  for (const int from : built.nodes) {
    for (const int to : built.nodes) {
      if (from == to) continue;
      int device = fabric.at(from).ports[0].peer;
      while (device != to) {
        const uint16_t port = fabric.at(device).route(fabric.at(to).number);
        ++result[{device, port}];
        device = fabric.at(device).ports[port].peer;
      }
    }
  }
  return result;
}

TEST_CASE("when all speak with all, lines of a level of a fat tree have about the same to do") {
  FakeFabric fabric;
  const Built built = fat_tree(fabric, 8);
  fabric.manage(built.nodes[0], options());
  settle(fabric, built.nodes[0]);
  const auto all = loads(fabric, built);
  // A node sends 127 frames. Of its edge's 4 lines up each has 4 * 124 / 4 of them, of 4 nodes.
  for (const auto& [line, load] : all) {
    const bool edge = line.first < built.switches[32];
    const bool core = line.first >= built.switches[64];
    const unsigned fair = edge ? 124 : 112;
    INFO("device " << line.first << " port " << line.second);
    if (!core && line.second >= 4) {
      CHECK(load >= fair * 9 / 10);
      CHECK(load <= fair * 11 / 10);
    }
    if (core) CHECK(load <= 2 * 112);
  }
}

TEST_CASE("the same fabric has the same routes, whoever manages it") {
  std::vector<std::map<uint16_t, uint16_t>> routes[2];
  for (int i : {0, 1}) {
    FakeFabric fabric;
    const Built built = torus(fabric, {4, 4});
    fabric.set_credits();
    const int node = built.nodes[i == 0 ? 0 : 9];
    // Numbers go by GUID, whoever gives them.
    fabric.manage(node, options());
    settle(fabric, node);
    for (const int item : built.switches) routes[i].push_back(fabric.at(item).routes);
  }
  CHECK(routes[0] == routes[1]);
}

}  // namespace
}  // namespace exrnic::fabric
