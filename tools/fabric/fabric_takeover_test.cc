// SPDX-License-Identifier: BSD-2-Clause
// One manager after the other, and two at a time, of which one is ended in the middle of its work;
// and devices that lose everything meanwhile.
#include <algorithm>
#include <catch2/generators/catch_generators.hpp>
#include <functional>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "tools/fabric/testing/fabric_fixture.h"

namespace exrnic::fabric {
namespace {

using namespace testing;

// One of a fabric is off for a moment while another manager takes over: at each of the moments that
// are so far apart, until that one has ended. All is as it was to be then.
void reboot_in_takeover(const std::function<int(const Built&)>& victim_of, uint64_t apart) {
  unsigned lost = 0, tried = 0;
  uint64_t first_lost = 0;
  for (uint64_t after = 0;; after += apart) {
    FakeFabric fabric;
    const Built built = leaf_spine(fabric, 16, 4, 2);
    fabric.manage(built.nodes[0], options());
    settle(fabric, built.nodes[0]);
    fabric.stop_manager(built.nodes[0]);
    // Its number is not the one of before.
    Manager& next = fabric.manage(built.nodes[15], options());
    fabric.run(fabric.now() + after);
    if (settled(next)) break;
    fabric.power(victim_of(built), false);
    fabric.power(victim_of(built), true);
    ++tried;
    fabric.run(fabric.now() + 500 * kMs);
    const bool whole = trouble_of_nodes(fabric, built.nodes).empty() &&
                       trouble_of_switches(fabric, built.nodes, built.switches).empty();
    if (!whole && lost++ == 0) first_lost = after;
  }
  INFO(lost << " of " << tried << " do not come back, the first at " << first_lost << " ns");
  CHECK(tried > 20);
  CHECK(lost == 0);
}

TEST_CASE("a node that reboots while a manager takes over gets its number again") {
  reboot_in_takeover([](const Built& built) { return built.nodes[6]; }, 2000);
}

TEST_CASE("a switch that reboots while a manager takes over gets its routes again") {
  reboot_in_takeover([](const Built& built) { return built.switches[3]; }, 1000);
}

TEST_CASE("a switch that reboots while it is written first, or repaired, gets all again") {
  unsigned lost = 0, tried = 0;
  for (uint64_t after = 0; after < 100; ++after) {
    const bool repair = after % 2 != 0;
    FakeFabric fabric;
    const Built built = leaf_spine(fabric, 16, 4, 2);
    fabric.manage(built.nodes[0], options());
    if (repair) {
      settle(fabric, built.nodes[0]);
      fabric.set_line(built.switches[4], 4, false);
    }
    fabric.run(fabric.now() + after * 2000);
    const int victim = built.switches[3];
    fabric.power(victim, false);
    fabric.power(victim, true);
    ++tried;
    fabric.run(fabric.now() + 500 * kMs);
    if (!trouble_of_nodes(fabric, built.nodes).empty()) ++lost;
  }
  INFO(lost << " of " << tried);
  CHECK(lost == 0);
}

// It is ended in the middle of its work, before the first one's own node is told of it.
TEST_CASE("what a second manager that is ended has written is put right by the first one") {
  unsigned bad = 0, tried = 0, yields = 0;
  uint64_t first_bad = 0;
  for (uint64_t after = 0; after < 150; ++after) {
    FakeFabric fabric;
    const Built built = leaf_spine(fabric, 16, 4, 2);
    Manager& manager = fabric.manage(built.nodes[0], options());
    settle(fabric, built.nodes[0]);
    // It finds the fabric while a line is down, and writes that.
    ManagerOptions b = options();
    b.seed = 2;
    fabric.lose(1, 1);
    fabric.set_line(built.switches[3], 4, false);
    fabric.lose(0, 1);
    Manager& second = fabric.manage(built.nodes[15], b);
    fabric.run(fabric.now() + after * 2000);
    if (settled(second)) break;
    fabric.stop_manager(built.nodes[15]);
    fabric.set_line(built.switches[3], 4, true);
    ++tried;
    fabric.run(fabric.now() + 500 * kMs);
    yields += manager.counts().yields != 0 ? 1 : 0;
    if (!trouble_of_nodes(fabric, built.nodes).empty() ||
        !trouble_of_switches(fabric, built.nodes, built.switches).empty()) {
      if (bad++ == 0) first_bad = after * 2000;
    }
  }
  INFO(bad << " of " << tried << " are not put right, the first one at " << first_bad << " ns; in "
           << yields << " the first manager gave way");
  CHECK(bad == 0);
}

// Likewise, and what it left is not what the first one plans: that shows with the next cut.
TEST_CASE("a cut is repaired though another manager wrote before and was ended") {
  unsigned bad = 0, tried = 0, yields = 0, wrote = 0;
  std::string example;
  for (unsigned to = 2; to < 8; ++to) {
    for (uint64_t after = 100; after < 1600; after += 40) {
      FakeFabric fabric;
      const Built built = leaf_spine(fabric, 8, 1, 2);
      Manager& manager = fabric.manage(built.nodes[0], options());
      settle(fabric, built.nodes[0]);
      ManagerOptions b = options();
      b.seed = 2;
      fabric.lose(1, 1);
      fabric.set_line(built.switches[2 + 1], 1, false);
      fabric.lose(0, 1);
      Manager& second = fabric.manage(built.nodes[7], b);
      fabric.run(fabric.now() + after * 200);
      if (settled(second)) break;
      if (second.counts().writes.route_blocks > 0) ++wrote;
      fabric.stop_manager(built.nodes[7]);
      fabric.set_line(built.switches[2 + 1], 1, true);
      fabric.run(fabric.now() + 200 * kMs);
      if (manager.counts().yields != 0) ++yields;
      REQUIRE(trouble_of_nodes(fabric, built.nodes) == "");
      fabric.set_line(built.switches[2 + to], 2, false);
      ++tried;
      fabric.run(fabric.now() + 500 * kMs);
      const std::string trouble = trouble_of_nodes(fabric, built.nodes);
      if (trouble.empty()) continue;
      if (bad++ == 0) example = trouble + ", manager: " + manager.reason();
    }
  }
  INFO(bad << " of " << tried << " are not repaired: " << example << "; gave way in " << yields
           << ", the other one wrote in " << wrote);
  CHECK(bad == 0);
}

// With credits: what two managers have written in turns is to be one plan in the end.
TEST_CASE("what a second manager that is ended has written cannot deadlock for ever") {
  unsigned circles = 0, troubles = 0, tried = 0, yields = 0, told = 0;
  uint64_t first = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    FakeFabric fabric;
    const Built built = seed % 2 == 0 ? torus(fabric, {3, 3}) : random_fabric(fabric, seed);
    fabric.set_credits();
    const int own = built.nodes[0], other = built.nodes.back();
    Manager& manager = fabric.manage(own, options());
    settle(fabric, own);
    std::mt19937_64 random(seed);
    // Two lines are down while the second one looks; the first one has not seen that yet.
    std::vector<std::pair<int, uint16_t>> down;
    fabric.lose(1, 1);
    for (unsigned i = 0; i < 40 && down.size() < 2; ++i) {
      const int device = built.switches[random() % built.switches.size()];
      for (uint16_t port = 0; port < fabric.at(device).ports.size(); ++port) {
        const FakePort& at = fabric.at(device).ports[port];
        if (at.peer < 0 || !at.up || !fabric.at(at.peer).is_switch() || random() % 2 == 0) continue;
        fabric.set_line(device, port, false);
        down.emplace_back(device, port);
        break;
      }
    }
    fabric.lose(0, 1);
    ManagerOptions b = options();
    b.seed = seed + 1000;
    Manager& second = fabric.manage(other, b);
    fabric.run(fabric.now() + 50 * kMs, [&] { return second.state() == ManagerState::kWriting; });
    fabric.run(fabric.now() + random() % 60'000);
    fabric.stop_manager(other);
    for (const auto& [device, port] : down) fabric.set_line(device, port, true);
    ++tried;
    fabric.run(fabric.now() + 500 * kMs);
    if (manager.counts().yields != 0) ++yields;
    const bool circle = !circle_of_waits(fabric).empty();
    const bool trouble = !trouble_of_nodes(fabric, built.nodes).empty();
    if (circle) ++circles;
    if (trouble) ++troubles;
    if ((circle || trouble) && first == 0) first = seed;
    if ((circle || trouble) && !manager.problems().empty()) ++told;
  }
  INFO(circles << " of " << tried << " with a circle, " << troubles
               << " with nodes that are not reached, for ever (" << told << " told), the first one "
               << first << "; the first manager gave way in " << yields);
  CHECK(circles == 0);
  CHECK(troubles == 0);
}

TEST_CASE("routes that another manager has changed at a switch are read again") {
  FakeFabric fabric;
  const Built built = leaf_spine(fabric, 16, 4, 2);
  fabric.manage(built.nodes[0], options());
  settle(fabric, built.nodes[0]);
  // Another manager that was ended at once: a leaf is its own, and has no way to a node elsewhere.
  FakeDevice& leaf = fabric.at(built.switches[3]);
  leaf.manager = 77;
  leaf.routes.erase(fabric.at(built.nodes[15]).number);
  REQUIRE(trouble_of_nodes(fabric, built.nodes) != "");
  fabric.run(fabric.now() + 1'000 * kMs);
  CHECK(leaf.manager == fabric.at(built.nodes[0]).number);
  CHECK(trouble_of_nodes(fabric, built.nodes) == "");
}

// Who was replaced finds it out a little later than others have been read.
TEST_CASE("what a manager that was replaced writes at last is put right") {
  FakeFabric fabric;
  const Built built = leaf_spine(fabric, 16, 4, 2);
  fabric.manage(built.nodes[0], options());
  settle(fabric, built.nodes[0]);
  ManagerOptions b = options();
  b.seed = 2;
  fabric.manage(built.nodes[15], b);
  settle(fabric, built.nodes[15]);
  FakeDevice& leaf = fabric.at(built.switches[3]);
  leaf.floods.flip();
  REQUIRE(trouble_of_floods(fabric, built.nodes) != "");
  fabric.run(fabric.now() + 2 * options().takeover_ns);
  check_all(fabric, built);
  const uint64_t blocks = fabric.manager(built.nodes[15]).counts().requests.requests;
  // Once: from then on it looks, and no more.
  fabric.run(fabric.now() + 10 * options().sweep_ns);
  CHECK(fabric.manager(built.nodes[15]).counts().requests.requests <=
        blocks + 11 * (2 * fabric.size() + 2));
}

// Where it did not see the own node, or with the GUID of that.
TEST_CASE("what a manager with the own number has written is put right") {
  const bool same_guid = GENERATE(false, true);
  FakeFabric fabric;
  const Built built = leaf_spine(fabric, 16, 4, 2);
  const int own = built.nodes[0], other = built.nodes[15];
  fabric.manage(own, options());
  settle(fabric, own);
  const uint64_t guid = fabric.at(other).guid;
  fabric.power(other, false);
  if (same_guid) fabric.at(other).guid = fabric.at(own).guid;
  fabric.at(other).number = fabric.at(own).number;
  FakeDevice& leaf = fabric.at(built.switches[3]);
  REQUIRE(leaf.manager == fabric.at(own).number);
  leaf.floods.flip();
  fabric.power(other, true);
  fabric.run(fabric.now() + 50 * kMs);
  fabric.power(other, false);
  fabric.at(other).guid = guid;
  fabric.power(other, true);
  fabric.run(fabric.now() + 3 * options().takeover_ns);
  check_all(fabric, built);
}

// A frame that waits in a switch for long comes after what was said since.
TEST_CASE("a request that comes twice and late does not undo what was said since") {
  unsigned bad = 0, tried = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    FakeFabric fabric;
    const Built built = leaf_spine(fabric, 12, 2, 2);
    fabric.manage(built.nodes[0], options());
    settle(fabric, built.nodes[0]);
    ++tried;
    // All answers of a leaf come twice, the second time after long.
    FakeDevice& leaf = fabric.at(built.switches[4]);
    std::vector<Frame> kept;
    leaf.lie = [&](Frame& frame) {
      if (kept.size() < 1'000) kept.push_back(frame);
      return true;
    };
    std::mt19937_64 random(seed);
    for (unsigned i = 0; i < 20; ++i) {
      fabric.set_line(built.switches[2 + random() % 6], static_cast<uint16_t>(2 + i / 2 % 2),
                      i % 2 != 0);
      for (unsigned j = 0; j < 30; ++j) {
        fabric.run(fabric.now() + 100'000);
        if (kept.empty()) continue;
        Frame late = kept[random() % kept.size()];
        exrnic_management_header_set_hop(&late[kHeaderAt], 0);
        fabric.inject(built.nodes[0], late);
      }
    }
    for (int leaf_of = 2; leaf_of < 8; ++leaf_of)
      for (uint16_t port = 2; port < 4; ++port)
        fabric.set_line(built.switches[leaf_of], port, true);
    leaf.lie = nullptr;
    fabric.run(fabric.now() + 100 * kMs);
    if (!trouble_of_nodes(fabric, built.nodes).empty()) ++bad;
  }
  INFO(bad << " of " << tried);
  CHECK(bad == 0);
}

}  // namespace
}  // namespace exrnic::fabric
