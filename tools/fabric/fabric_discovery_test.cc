// SPDX-License-Identifier: BSD-2-Clause
// A manager finds out who is there, numbers all, and sets routes.
#include <set>

#include "tools/fabric/testing/fabric_fixture.h"
#include "tools/fabric/text.h"

namespace exrnic::fabric {
namespace {

using namespace testing;

struct Kind {
  const char* name;
  Built (*build)(FakeFabric&);
};

const Kind kKinds[] = {
    {"star:8", [](FakeFabric& f) { return star(f, 8); }},
    {"ring:8", [](FakeFabric& f) { return ring(f, 8); }},
    {"two-levels:14", [](FakeFabric& f) { return leaf_spine(f, 14, 4, 2); }},
    {"fat-tree:4", [](FakeFabric& f) { return fat_tree(f, 4); }},
    {"fat-tree:8", [](FakeFabric& f) { return fat_tree(f, 8); }},
    {"torus:4x4", [](FakeFabric& f) { return torus(f, {4, 4}); }},
    {"torus:3x3x3", [](FakeFabric& f) { return torus(f, {3, 3, 3}); }},
    {"dragonfly:2", [](FakeFabric& f) { return dragonfly(f, 2); }},
    {"chain:38", [](FakeFabric& f) { return chain(f, 38); }},
};

// The map says what lines there are, and nothing else.
void check_map(const FakeFabric& fabric, const Map& map) {
  REQUIRE(map.devices.size() == fabric.size());
  for (size_t i = 0; i < fabric.size(); ++i) {
    const FakeDevice& device = fabric.at(static_cast<int>(i));
    const Device* const found = map.find(device.guid);
    REQUIRE(found != nullptr);
    CHECK(found->data.number == device.number);
    for (size_t port = 0; port < device.ports.size(); ++port) {
      const FakePort& line = device.ports[port];
      const std::optional<PortId>& neighbour = found->ports.at(port).neighbour;
      REQUIRE(neighbour.has_value() == line.up);
      if (line.up) CHECK(*neighbour == PortId{fabric.at(line.peer).guid, line.peer_port});
    }
  }
}

void check_numbers(const FakeFabric& fabric, const Built& built) {
  std::set<uint16_t> numbers;
  for (const int node : built.nodes) {
    CHECK(fabric.at(node).number < built.nodes.size());
    numbers.insert(fabric.at(node).number);
  }
  for (const int item : built.switches) {
    CHECK(fabric.at(item).number >= kFirstSwitch);
    CHECK(fabric.at(item).number < kFirstSwitch + built.switches.size());
    numbers.insert(fabric.at(item).number);
  }
  CHECK(numbers.size() == fabric.size());
}

TEST_CASE("all devices of a fabric are found, numbered and reached, whatever loops it has") {
  for (const Kind& kind : kKinds) {
    INFO(kind.name);
    FakeFabric fabric;
    const Built built = kind.build(fabric);
    Manager& manager = fabric.manage(built.nodes[0], options());
    settle(fabric, built.nodes[0]);
    CHECK(manager.problems().empty());
    check_map(fabric, manager.map());
    check_numbers(fabric, built);
    check_all(fabric, built);
    CHECK(fabric.overflows() == 0);
    CHECK(manager.counts().requests.strange == 0);
    CHECK(manager.counts().requests.retries == 0);
    CHECK(manager.counts().discoveries == 1);
  }
}

TEST_CASE("with credits no frames can wait in a circle, in whatever topology") {
  for (const Kind& kind : kKinds) {
    INFO(kind.name);
    FakeFabric fabric;
    const Built built = kind.build(fabric);
    fabric.set_credits();
    Manager& manager = fabric.manage(built.nodes[0], options());
    settle(fabric, built.nodes[0]);
    CHECK(manager.problems().empty());
    check_all(fabric, built);
    CHECK(circle_of_waits(fabric) == "");
  }
}

// Lines between two nodes.
unsigned length(const FakeFabric& fabric, int from, int to) {
  int device = fabric.at(from).ports[0].peer;
  unsigned lines = 1;
  for (; device != to; ++lines) {
    REQUIRE(lines <= fabric.size());
    const uint16_t port = fabric.at(device).route(fabric.at(to).number);
    device = fabric.at(device).ports.at(port).peer;
  }
  return lines;
}

TEST_CASE("with credits a switch without nodes is reached from all nodes, wherever it is") {
  SECTION("the edge of a fat tree, and ways between the others stay the shortest ones") {
    FakeFabric fabric;
    Built built = fat_tree(fabric, 4);
    fabric.set_credits();
    for (const unsigned i : {2, 3}) fabric.set_line(built.nodes[i], 0, false);
    built.nodes.erase(built.nodes.begin() + 2, built.nodes.begin() + 4);
    fabric.manage(built.nodes[0], options());
    settle(fabric, built.nodes[0]);
    check_all(fabric, built);
    CHECK(circle_of_waits(fabric) == "");
    for (const int from : built.nodes) {
      for (const int to : built.nodes) {
        if (from != to) CHECK(length(fabric, from, to) <= 6);
      }
    }
  }
  SECTION("some in a row behind a leaf") {
    FakeFabric fabric;
    Built built = leaf_spine(fabric, 16, 4, 2);
    const int leaf = built.switches[3];
    fabric.set_line(built.nodes[5], 0, false);
    fabric.at(built.nodes[5]).ports[0].peer = fabric.at(leaf).ports[1].peer = -1;
    built.nodes.erase(built.nodes.begin() + 5);
    for (const uint64_t guid : {uint64_t{5}, ~uint64_t{5}, uint64_t{6}}) {
      const int before = built.switches.size() == 6 ? leaf : built.switches.back();
      built.switches.push_back(fabric.add_switch(guid, 3));
      fabric.join(built.switches.back(), 0, before, before == leaf ? 1 : 2);
    }
    fabric.set_credits();
    fabric.manage(built.nodes[0], options());
    settle(fabric, built.nodes[0]);
    check_all(fabric, built);
    CHECK(circle_of_waits(fabric) == "");
    CHECK(length(fabric, built.nodes[0], built.nodes.back()) == 4);
  }
}

TEST_CASE("shortest ways alone would close a circle in a ring of eight") {
  FakeFabric fabric;
  const Built built = ring(fabric, 8);
  fabric.manage(built.nodes[0], options());
  settle(fabric, built.nodes[0]);
  CHECK(circle_of_waits(fabric) != "");
}

TEST_CASE("4,096 nodes are found and routed within moments") {
  FakeFabric fabric;
  const Built built = leaf_spine(fabric, 4096, 32, 16);
  Manager& manager = fabric.manage(built.nodes[17], options());
  settle(fabric, built.nodes[17]);
  CHECK(manager.problems().empty());
  CHECK(manager.map().devices.size() == 4096 + 128 + 16);
  check_numbers(fabric, built);
  const std::vector<int> some = {built.nodes[0], built.nodes[17], built.nodes[2000],
                                 built.nodes[4095]};
  CHECK(trouble_of_switches(fabric, some, built.switches) == "");
  CHECK(trouble_of_nodes(fabric, {built.nodes.begin(), built.nodes.begin() + 128}) == "");
  CHECK(trouble_of_floods(fabric, some) == "");
  CHECK(fabric.overflows() == 0);
}

TEST_CASE("two nodes back to back have numbers, and no routes are needed") {
  FakeFabric fabric;
  const int a = fabric.add_node(7), b = fabric.add_node(5);
  fabric.join(a, 0, b, 0);
  Manager& manager = fabric.manage(a, options());
  settle(fabric, a);
  CHECK(manager.problems().empty());
  CHECK(fabric.at(a).number == 1);
  CHECK(fabric.at(b).number == 0);
  CHECK(trouble_of_nodes(fabric, {a, b}) == "");
}

TEST_CASE("what is more than 39 lines away is told, and the rest is routed") {
  FakeFabric fabric;
  const Built built = chain(fabric, 39);
  Manager& manager = fabric.manage(built.nodes[0], options());
  settle(fabric, built.nodes[0]);
  CHECK(manager.map().devices.size() == 40);
  CHECK(mentions(manager.problems(), "more than 39 lines away"));
  CHECK(trouble_of_switches(fabric, {built.nodes[0]}, built.switches) == "");
  CHECK(fabric.at(built.nodes[1]).number == kNoNumber);
}

TEST_CASE("a map can be read, and drawn") {
  FakeFabric fabric;
  const Built built = leaf_spine(fabric, 3, 2, 1);
  fabric.set_credits();
  Manager& manager = fabric.manage(built.nodes[0], options());
  settle(fabric, built.nodes[0]);
  const std::string text = text_of(manager.map(), {"a problem"});
  for (size_t i = 0; i < fabric.size(); ++i) {
    CHECK(text.find(name_of_guid(fabric.at(static_cast<int>(i)).guid)) != std::string::npos);
  }
  CHECK(text.find("credits") != std::string::npos);
  CHECK(text.find("\na problem\n") != std::string::npos);
  const std::string dot = dot_of(manager.map());
  size_t lines = 0;
  for (size_t at = dot.find(" -- "); at != std::string::npos; at = dot.find(" -- ", at + 1))
    ++lines;
  CHECK(lines == 5);  // three nodes', two leaves'
}

}  // namespace
}  // namespace exrnic::fabric
