// SPDX-License-Identifier: BSD-2-Clause
// What becomes of a routed fabric when lines, switches and nodes come and go.
#include <utility>

#include "tools/fabric/testing/fabric_fixture.h"

namespace exrnic::fabric {
namespace {

using namespace testing;

// Until a change of now is dealt with.
void settle_again(FakeFabric& fabric, int node, uint64_t within_ns = 1'000 * kMs) {
  const uint64_t since = fabric.now();
  Manager& manager = fabric.manager(node);
  fabric.run(since + within_ns, [&] {
    return settled(manager) && manager.times().routed_ns > since &&
           manager.times().swept_ns > since;
  });
  INFO(manager.reason());
  REQUIRE(settled(manager));
  REQUIRE(manager.times().routed_ns > since);
}

class Routed {
 public:
  explicit Routed(bool credits) : built(leaf_spine(fabric, 16, 4, 2)) {
    if (credits) fabric.set_credits();
    manager = &fabric.manage(node(), options());
    settle(fabric, node());
  }
  int node() const { return built.nodes[0]; }
  int spine(unsigned i) const { return built.switches[i]; }
  int leaf(unsigned i) const { return built.switches[2 + i]; }

  FakeFabric fabric;
  Built built;
  Manager* manager = nullptr;
};

TEST_CASE("a line that dies is told by a trap, and is routed round at once") {
  for (const bool credits : {false, true}) {
    Routed routed(credits);
    const uint64_t died = routed.fabric.now();
    routed.fabric.set_line(routed.leaf(3), 4, false);
    settle_again(routed.fabric, routed.node());
    // Long before the next look at everything.
    CHECK(routed.manager->times().routed_ns < died + kMs);
    CHECK(routed.manager->counts().requests.traps > 0);
    CHECK(routed.manager->counts().discoveries == 1);
    CHECK(trouble_of_nodes(routed.fabric, routed.built.nodes) == "");
    CHECK(trouble_of_floods(routed.fabric, routed.built.nodes) == "");
    if (credits) CHECK(circle_of_waits(routed.fabric) == "");

    routed.fabric.set_line(routed.leaf(3), 4, true);
    settle_again(routed.fabric, routed.node());
    check_all(routed.fabric, routed.built);
    CHECK(routed.fabric.at(routed.leaf(3)).route(routed.fabric.at(routed.built.nodes[4]).number) !=
          0);
  }
}

TEST_CASE("a repair writes what is to change, and nothing that is right") {
  FakeFabric fabric;
  const Built built = star(fabric, 100);
  Manager& manager = fabric.manage(built.nodes[0], options());
  settle(fabric, built.nodes[0]);
  const WriteCounts before = manager.counts().writes;
  CHECK(before.route_blocks == 2);
  CHECK(before.devices == 101);
  fabric.set_line(built.nodes[15], 0, false);
  settle_again(fabric, built.nodes[0]);
  CHECK(manager.map().devices.size() == 100);
  CHECK(manager.counts().writes.route_blocks == before.route_blocks + 1);
  CHECK(manager.counts().writes.flood_blocks == before.flood_blocks + 1);
  CHECK(manager.counts().writes.devices == before.devices);
}

TEST_CASE("a change that no trap tells is seen by looking") {
  Routed routed(false);
  // The switch's own trap is lost with the line that dies: its other one, too.
  routed.fabric.lose(1, 1);
  routed.fabric.set_line(routed.leaf(3), 4, false);
  routed.fabric.lose(0, 1);
  const uint64_t traps = routed.manager->counts().requests.traps;
  settle_again(routed.fabric, routed.node());
  CHECK(routed.manager->counts().requests.traps == traps);
  CHECK(trouble_of_nodes(routed.fabric, routed.built.nodes) == "");
}

TEST_CASE("a line that returns without a trap is looked at from both ends, and not everything is") {
  Routed routed(false);
  routed.fabric.set_line(routed.leaf(3), 4, false);
  settle_again(routed.fabric, routed.node());
  const uint64_t discoveries = routed.manager->counts().discoveries;
  routed.fabric.lose(1, 1);
  routed.fabric.set_line(routed.leaf(3), 4, true);
  routed.fabric.lose(0, 1);
  settle_again(routed.fabric, routed.node());
  CHECK(routed.manager->counts().discoveries == discoveries);
  check_all(routed.fabric, routed.built);
}

TEST_CASE("many that are gone without a trap are not all waited for") {
  FakeFabric fabric;
  const Built built = leaf_spine(fabric, 128, 64, 2);
  Manager& manager = fabric.manage(built.nodes[0], options());
  settle(fabric, built.nodes[0]);
  const uint64_t died = fabric.now();
  fabric.lose(1, 1);
  fabric.power(built.switches[3], false);  // the other leaf
  fabric.lose(0, 1);
  settle_again(fabric, built.nodes[0]);
  CHECK(manager.map().devices.size() == 64 + 3);
  // The next look, patience with eight at the same time, and what then is done.
  const uint64_t patience = (1 + 2 + 3 + 1 + 2 + 3 + 4 + 5 + 6) * options().timeout_ns;
  CHECK(manager.times().routed_ns < died + options().sweep_ns + patience + 2 * kMs);
}

TEST_CASE("a node that appears without a trap is seen by looking") {
  FakeFabric fabric;
  Built built = star(fabric, 6);
  const int late = fabric.add_node(1);
  fabric.manage(built.nodes[0], options());
  settle(fabric, built.nodes[0]);
  fabric.lose(1, 1);
  fabric.join(late, 0, built.switches[0], 7);
  fabric.lose(0, 1);
  settle_again(fabric, built.nodes[0]);
  built.nodes.push_back(late);
  check_all(fabric, built);
}

TEST_CASE("nodes that change places between two looks are found at their new ones") {
  FakeFabric fabric;
  const Built built = star(fabric, 6);
  fabric.manage(built.nodes[0], options());
  settle(fabric, built.nodes[0]);
  fabric.lose(1, 1);
  for (const int node : {built.nodes[2], built.nodes[3]}) fabric.set_line(node, 0, false);
  FakeDevice& at = fabric.at(built.switches[0]);
  std::swap(at.ports[2].peer, at.ports[3].peer);
  fabric.at(built.nodes[2]).ports[0].peer_port = 3;
  fabric.at(built.nodes[3]).ports[0].peer_port = 2;
  for (const int node : {built.nodes[2], built.nodes[3]}) fabric.set_line(node, 0, true);
  fabric.lose(0, 1);
  settle_again(fabric, built.nodes[0]);
  check_all(fabric, built);
}

TEST_CASE("what could not be written is written when the switch answers again") {
  FakeFabric fabric;
  const Built built = leaf_spine(fabric, 16, 4, 2);
  fabric.at(built.switches[5]).lie = [&fabric](Frame& frame) {
    const auto attribute = exrnic_management_header_attribute(&frame[EXRNIC_ETH_BYTES]);
    return attribute != EXRNIC_MANAGEMENT_ATTRIBUTE_ROUTES || fabric.now() > 5 * kMs;
  };
  fabric.manage(built.nodes[0], options());
  fabric.run(100 * kMs);
  fabric.at(built.switches[5]).lie = nullptr;
  settle(fabric, built.nodes[0]);
  CHECK(fabric.manager(built.nodes[0]).problems().empty());
  CHECK(fabric.manager(built.nodes[0]).times().routed_ns != kNever);
  check_all(fabric, built);
}

TEST_CASE("a trap is heard while a look waits for somebody who is silent") {
  Routed routed(false);
  FakeFabric& fabric = routed.fabric;
  fabric.at(routed.built.nodes[15]).lie = [](Frame&) { return false; };
  const uint64_t retries = routed.manager->counts().requests.retries;
  fabric.run(fabric.now() + 20 * kMs,
             [&] { return routed.manager->counts().requests.retries > retries; });
  const uint64_t died = fabric.now();
  fabric.set_line(routed.leaf(1), 4, false);
  fabric.run(died + 20 * kMs, [&] { return routed.manager->times().routed_ns > died; });
  CHECK(routed.manager->times().routed_ns < died + kMs / 2);
}

// Nobody tells: the switch has no manager yet.
TEST_CASE("a line that comes after its switch was looked at, and before it is written, is found") {
  for (unsigned i = 0; i < 60; ++i) {
    INFO("after " << i << " us");
    FakeFabric fabric;
    const Built built = leaf_spine(fabric, 8, 4, 2);
    fabric.set_line(built.switches[3], 2, false);
    fabric.manage(built.nodes[0], options());
    fabric.run(i * 1'000);
    fabric.set_line(built.switches[3], 2, true);
    fabric.run(50 * kMs);
    CHECK(trouble_of_nodes(fabric, built.nodes) == "");
  }
}

TEST_CASE("a switch that dies is routed round, and is taken in again when it returns") {
  for (const bool credits : {false, true}) {
    Routed routed(credits);
    routed.fabric.power(routed.spine(0), false);
    settle_again(routed.fabric, routed.node());
    CHECK(routed.manager->map().devices.size() == 16 + 5);
    CHECK(trouble_of_nodes(routed.fabric, routed.built.nodes) == "");
    CHECK(trouble_of_floods(routed.fabric, routed.built.nodes) == "");

    routed.fabric.power(routed.spine(0), true);
    settle_again(routed.fabric, routed.node());
    CHECK(routed.manager->map().devices.size() == 16 + 6);
    check_all(routed.fabric, routed.built);
    if (credits) CHECK(circle_of_waits(routed.fabric) == "");
  }
}

TEST_CASE("a leaf that dies takes its nodes with it, and they have their numbers again later") {
  Routed routed(false);
  std::vector<uint16_t> numbers;
  for (const int node : routed.built.nodes) numbers.push_back(routed.fabric.at(node).number);
  routed.fabric.power(routed.leaf(2), false);
  settle_again(routed.fabric, routed.node());
  CHECK(routed.manager->map().devices.size() == 12 + 5);
  for (unsigned i = 8; i < 12; ++i) routed.fabric.at(routed.built.nodes[i]).forget();
  routed.fabric.power(routed.leaf(2), true);
  settle_again(routed.fabric, routed.node());
  check_all(routed.fabric, routed.built);
  for (size_t i = 0; i < numbers.size(); ++i) {
    CHECK(routed.fabric.at(routed.built.nodes[i]).number == numbers[i]);
  }
}

TEST_CASE("a node that loses power for a moment gets its number again") {
  Routed routed(false);
  const int node = routed.built.nodes[9];
  const uint16_t number = routed.fabric.at(node).number;
  routed.fabric.at(node).forget();  // no line has noticed
  settle_again(routed.fabric, routed.node());
  CHECK(routed.fabric.at(node).number == number);
  check_all(routed.fabric, routed.built);
}

TEST_CASE("a switch that loses its routes gets them again") {
  Routed routed(false);
  routed.fabric.at(routed.leaf(1)).routes.clear();
  settle_again(routed.fabric, routed.node());
  check_all(routed.fabric, routed.built);
}

TEST_CASE("a switch that forgets everything between two looks is set again") {
  for (const bool fixed : {false, true}) {
    Routed routed(false);
    routed.fabric.at(routed.leaf(1)).fixed = fixed;
    routed.fabric.at(routed.leaf(1)).forget();
    settle_again(routed.fabric, routed.node());
    check_all(routed.fabric, routed.built);
  }
}

TEST_CASE("a node that appears later gets a number, and disturbs nobody") {
  FakeFabric fabric;
  Built built = star(fabric, 6);
  const int late = fabric.add_node(1);  // the lowest GUID of all
  Manager& manager = fabric.manage(built.nodes[0], options());
  settle(fabric, built.nodes[0]);
  std::vector<uint16_t> numbers;
  for (const int node : built.nodes) numbers.push_back(fabric.at(node).number);
  fabric.join(late, 0, built.switches[0], 7);
  settle_again(fabric, built.nodes[0]);
  CHECK(fabric.at(late).number == 6);
  for (size_t i = 0; i < numbers.size(); ++i) CHECK(fabric.at(built.nodes[i]).number == numbers[i]);
  built.nodes.push_back(late);
  check_all(fabric, built);
  CHECK(manager.counts().discoveries == 1);
}

TEST_CASE("a line moved to another port is followed") {
  Routed routed(false);
  // Node 15 goes from leaf 3 to a port of a spine that nobody has used.
  FakeFabric& fabric = routed.fabric;
  const int node = routed.built.nodes[15], more = fabric.add_switch(switch_guid(99), 4);
  fabric.set_line(node, 0, false);
  FakePort& old = fabric.at(routed.leaf(3)).ports[3];
  old.peer = -1;
  fabric.at(node).ports[0].peer = -1;
  fabric.join(more, 0, routed.leaf(3), 3);
  fabric.join(node, 0, more, 2);
  settle_again(fabric, routed.node());
  fabric.run(fabric.now() + 20 * kMs);
  routed.built.switches.push_back(more);
  check_all(fabric, routed.built);
  CHECK(routed.manager->problems().empty());
}

TEST_CASE("the manager's own line comes back, and with it the fabric") {
  Routed routed(false);
  FakeFabric& fabric = routed.fabric;
  fabric.set_line(routed.node(), 0, false);
  fabric.run(fabric.now() + 100 * kMs);
  CHECK(routed.manager->map().devices.size() == 1);
  fabric.set_line(routed.node(), 0, true);
  settle_again(fabric, routed.node());
  CHECK(routed.manager->map().devices.size() == fabric.size());
  check_all(fabric, routed.built);
}

TEST_CASE("one frame in ten is lost, and the fabric is routed and repaired all the same") {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    INFO("seed " << seed);
    FakeFabric fabric;
    const Built built = leaf_spine(fabric, 16, 4, 2);
    fabric.lose(0.1, seed);
    ManagerOptions lossy = options();
    lossy.tries = 12;
    Manager& manager = fabric.manage(built.nodes[0], lossy);
    const auto whole = [&] {
      return manager.state() == ManagerState::kActive &&
             trouble_of_nodes(fabric, built.nodes).empty();
    };
    fabric.run(1'000 * kMs, whole);
    CHECK(whole());
    fabric.set_line(built.switches[5], 4, false);
    fabric.run(fabric.now() + 1'000 * kMs, whole);
    CHECK(trouble_of_nodes(fabric, built.nodes) == "");
    CHECK(manager.counts().requests.retries > 0);
  }
}

}  // namespace
}  // namespace exrnic::fabric
