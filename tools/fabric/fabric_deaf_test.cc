// SPDX-License-Identifier: BSD-2-Clause
// Devices that do some of what they are to do: they are told of, the others are repaired soon, and
// who is well is not taken for one of them.
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

ManagerOptions standby_options(uint64_t seed) {
  ManagerOptions result = options();
  result.standby = true;
  result.seed = seed;
  return result;
}

// Until what has changed since is routed round; kNever if not within that time.
uint64_t repaired_after(FakeFabric& fabric, const std::vector<int>& nodes, uint64_t within) {
  const uint64_t since = fabric.now();
  while (fabric.now() < since + within) {
    fabric.run(fabric.now() + 50'000);
    if (trouble_of_nodes(fabric, nodes).empty()) return fabric.now() - since;
  }
  return kNever;
}

TEST_CASE("a line that flaps does not make healthy switches be left out") {
  unsigned bad = 0, told = 0, tried = 0;
  uint64_t worst = 0, first = 0;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    FakeFabric fabric;
    const Built built = leaf_spine(fabric, 16, 4, 2);
    Manager& manager = fabric.manage(built.nodes[0], options());
    settle(fabric, built.nodes[0]);
    std::mt19937_64 random(seed);
    // The line of the manager's leaf to the first spine.
    for (unsigned i = 0; i < 20; ++i) {
      fabric.set_line(built.switches[2], 4, i % 2 != 0);
      fabric.run(fabric.now() + random() % (2 * kMs));
    }
    ++tried;
    const uint64_t since = fabric.now();
    // Six looks at all devices.
    const uint64_t took = repaired_after(fabric, built.nodes, 30 * kMs);
    if (took == kNever) {
      if (bad++ == 0) first = seed;
      if (mentions(manager.problems(), "left out")) ++told;
      while (fabric.now() < since + 1000 * kMs && !trouble_of_nodes(fabric, built.nodes).empty())
        fabric.run(fabric.now() + kMs);
      worst = std::max(worst, fabric.now() - since);
    }
  }
  INFO(bad << " of " << tried << " not repaired within 6 sweeps (" << told
           << " of them left healthy switches out), first seed " << first << ", worst " << worst
           << " ns");
  CHECK(bad == 0);
}

TEST_CASE("a switch that was off for a moment twice is not deaf because a node is") {
  FakeFabric fabric;
  const Built built = leaf_spine(fabric, 12, 4, 2);
  // The last node does not answer what it is told: no writing is without a failure.
  ignore_sets(fabric.at(built.nodes[11]));
  Manager& manager = fabric.manage(built.nodes[0], options());
  fabric.run(500 * kMs);
  const std::vector<int> healthy(built.nodes.begin(), built.nodes.begin() + 8);
  REQUIRE(trouble_of_nodes(fabric, healthy) == "");
  // Once in a while one of its answers to what it is told is late.
  FakeDevice& leaf = fabric.at(built.switches[3]);
  for (unsigned i = 0; i < 3; ++i) {
    INFO("time " << i);
    const uint64_t until = fabric.now() + 5 * kMs;
    leaf.lie = [&fabric, &leaf, until, seen = leaf.sets](Frame&) mutable {
      const bool set = leaf.sets != seen;
      seen = leaf.sets;
      return !set || fabric.now() >= until;
    };
    fabric.set_line(built.switches[2], 4, i % 2 != 0);
    fabric.run(fabric.now() + 20 * kMs);
    CHECK_FALSE(mentions(manager.problems(), "left out"));
    leaf.lie = nullptr;
    // Far more than "one after the other": a hundred writings that it answers.
    fabric.run(fabric.now() + 500 * kMs);
    CHECK(trouble_of_nodes(fabric, healthy) == "");
  }
}

TEST_CASE("a line that goes twice while all is written first leaves no healthy switch out") {
  const bool traps = GENERATE(false, true);
  INFO("traps " << traps);
  FakeFabric fabric;
  const Built built = leaf_spine(fabric, 16, 4, 2);
  Manager& manager = fabric.manage(built.nodes[0], options());
  if (traps) settle(fabric, built.nodes[0]);
  for (unsigned i = 0; i < 2; ++i) {
    if (traps) fabric.set_line(built.switches[5], 5, i != 0);
    fabric.run(fabric.now() + 50 * kMs, [&] { return manager.state() == ManagerState::kWriting; });
    REQUIRE(manager.state() == ManagerState::kWriting);
    if (traps) fabric.lose(1, 1);
    fabric.set_line(built.switches[2], 4, false);
    fabric.lose(0, 1);
    fabric.run(fabric.now() + 50 * kMs, [&] { return manager.state() != ManagerState::kWriting; });
    if (traps) fabric.lose(1, 1);
    fabric.set_line(built.switches[2], 4, true);
    fabric.lose(0, 1);
  }
  const uint64_t since = fabric.now();
  const uint64_t took = repaired_after(fabric, built.nodes, 30 * kMs);
  std::string all;
  for (const std::string& problem : manager.problems()) all += problem + "\n";
  repaired_after(fabric, built.nodes, 1'000 * kMs);
  INFO("routed after " << (fabric.now() - since) / kMs << " ms; meanwhile told: " << all);
  CHECK(took != kNever);
  CHECK(all.find("left out") == std::string::npos);
}

TEST_CASE("the own line that goes twice while all is written leaves no healthy switch out") {
  FakeFabric fabric;
  const Built built = leaf_spine(fabric, 16, 4, 2);
  Manager& manager = fabric.manage(built.nodes[0], options());
  for (unsigned i = 0; i < 2; ++i) {
    fabric.run(fabric.now() + 50 * kMs, [&] { return manager.state() == ManagerState::kWriting; });
    REQUIRE(manager.state() == ManagerState::kWriting);
    fabric.set_line(built.nodes[0], 0, false);
    fabric.run(fabric.now() + 50 * kMs, [&] { return manager.state() != ManagerState::kWriting; });
    fabric.set_line(built.nodes[0], 0, true);
  }
  const uint64_t since = fabric.now();
  const uint64_t took = repaired_after(fabric, built.nodes, 30 * kMs);
  repaired_after(fabric, built.nodes, 1'000 * kMs);
  INFO("routed after " << (fabric.now() - since) / kMs << " ms");
  CHECK(took != kNever);
}

// Whether a frame between leaves uses the line at that port of that leaf.
bool is_used(const FakeFabric& fabric, int leaf, uint16_t port) {
  for (const auto& route : fabric.at(leaf).routes)
    if (route.second == port) return true;
  return false;
}

// The longest time from a cut to new ways, of a line that is in use each time.
uint64_t worst_repair(FakeFabric& fabric, const Built& built, unsigned times) {
  uint64_t worst = 0;
  std::mt19937_64 random(7);
  const int leaf = built.switches[2];
  for (unsigned i = 0; i < times; ++i) {
    fabric.run(fabric.now() + 2'000 * kMs, [&] { return is_used(fabric, leaf, 4); });
    REQUIRE(is_used(fabric, leaf, 4));
    fabric.run(fabric.now() + random() % (100 * kMs));
    fabric.set_line(leaf, 4, false);
    REQUIRE(trouble_of_nodes(fabric, built.nodes) != "");
    worst = std::max(worst, repaired_after(fabric, built.nodes, 2'000 * kMs));
    fabric.set_line(leaf, 4, true);
  }
  return worst;
}

TEST_CASE("a switch that says nothing of its 4096 ports does not delay others' repair") {
  FakeFabric fabric;
  const Built built = leaf_spine(fabric, 7, 4, 2);
  const int bad = fabric.add_switch(0x51, 4096);
  fabric.join(built.switches[3], 3, bad, 0);
  const bool changes = GENERATE(false, true);
  fabric.at(bad).lie = [&fabric, bad, changes](Frame& frame) {
    if (changes) ++fabric.at(bad).changes;
    return !about(frame, EXRNIC_MANAGEMENT_ATTRIBUTE_PORTS);
  };
  Manager& manager = fabric.manage(built.nodes[4], options());
  fabric.run(1'000 * kMs);
  CHECK(trouble_of_nodes(fabric, built.nodes) == "");
  const uint64_t worst = worst_repair(fabric, built, 20);
  for (const std::string& problem : manager.problems()) UNSCOPED_INFO(problem);
  INFO("changes " << changes << ": worst repair " << worst << " ns, discoveries "
                  << manager.counts().discoveries << ", looks " << manager.counts().looks);
  CHECK(worst < 5 * kMs);
}

TEST_CASE("a switch that answers no reads of routes does not delay others' repair") {
  FakeFabric fabric;
  const Built built = leaf_spine(fabric, 7, 4, 2);
  const int bad = fabric.add_switch(0x51, 4);
  fabric.join(built.switches[3], 3, bad, 0);
  fabric.at(bad).lie = [](Frame& frame) {
    return !about(frame, EXRNIC_MANAGEMENT_ATTRIBUTE_ROUTE_BLOCKS) &&
           !about(frame, EXRNIC_MANAGEMENT_ATTRIBUTE_ROUTES);
  };
  Manager& manager = fabric.manage(built.nodes[4], options());
  fabric.run(500 * kMs);
  CHECK(trouble_of_nodes(fabric, built.nodes) == "");
  CHECK(mentions(manager.problems(), "left out"));
  const uint64_t requests = manager.counts().requests.requests;
  fabric.run(fabric.now() + 800 * kMs);  // ten times sixteen looks
  const uint64_t cost = (manager.counts().requests.requests - requests) / 10;
  const uint64_t worst = worst_repair(fabric, built, 100);
  INFO("worst repair " << worst << " ns, requests for sixteen looks " << cost);
  CHECK(worst < 10 * kMs);
}

TEST_CASE("who stands by behind a deaf switch leaves the manager in front of it in peace") {
  FakeFabric fabric;
  const Built built = leaf_spine(fabric, 8, 4, 2);
  const int deaf = fabric.add_switch(0x51, 4);
  const int behind = fabric.add_node(0x52);
  fabric.at(built.switches[3]).ports.resize(10);
  fabric.at(built.switches[3]).forget();
  fabric.join(built.switches[3], 8, deaf, 0);
  fabric.join(deaf, 1, behind, 0);
  ignore_sets(fabric.at(deaf));
  Manager& first = fabric.manage(built.nodes[0], options());
  Manager& second = fabric.manage(behind, standby_options(2));
  fabric.run(2'000 * kMs);
  const ManagerCounts before = first.counts(), other = second.counts();
  uint64_t unmanaged = 0, bad = 0;
  for (unsigned looks = 0; looks < 4'000; ++looks) {
    fabric.run(fabric.now() + kMs);
    if (!trouble_of_nodes(fabric, built.nodes).empty()) ++bad;
    if (first.state() == ManagerState::kWaiting) ++unmanaged;
  }
  INFO("in 4 s the first one gives way "
       << first.counts().yields - before.yields << " times, the second one "
       << second.counts().yields - other.yields << ", " << unmanaged << " ms without a manager, "
       << bad << " ms of trouble of healthy ones");
  CHECK(bad <= 100);
  CHECK(first.counts().yields - before.yields <= 1);
  CHECK(unmanaged <= 100);
}

// Says yes to all that it is told, and does nothing.
TEST_CASE("a spine that says yes and takes nothing is told of, and gone round") {
  const bool late = GENERATE(false, true);
  INFO("late " << late);
  FakeFabric fabric;
  const Built built = leaf_spine(fabric, 8, 4, 2);
  FakeDevice& spine = fabric.at(built.switches[0]);
  Manager& manager = fabric.manage(built.nodes[0], options());
  const auto begin = [&] {
    spine.lie = [&spine, number = spine.number, manager = spine.manager, routes = spine.routes,
                 floods = spine.floods](Frame& frame) {
      spine.number = number;
      spine.manager = manager;
      spine.routes = routes;
      spine.floods = floods;
      uint8_t* const data = &frame[EXRNIC_MANAGEMENT_DATA_AT];
      const uint8_t* const header = &frame[kHeaderAt];
      if (about(frame, EXRNIC_MANAGEMENT_ATTRIBUTE_DEVICE)) {
        exrnic_management_device_set_number(data, number);
        exrnic_management_device_set_manager(data, manager);
      }
      if (about(frame, EXRNIC_MANAGEMENT_ATTRIBUTE_ROUTES)) {
        const auto block = exrnic_management_header_modifier(header);
        for (unsigned i = 0; i < kRoutesOfBlock; ++i) {
          const uint16_t port = spine.route(static_cast<uint16_t>(block * kRoutesOfBlock + i));
          data[2 * i] = static_cast<uint8_t>(port >> 8);
          data[2 * i + 1] = static_cast<uint8_t>(port);
        }
      }
      return true;
    };
  };
  if (late) {
    settle(fabric, built.nodes[0]);
    spine.routes.clear();  // it was powered off for a moment
    spine.number = spine.manager = kNoNumber;
  }
  begin();
  fabric.run(fabric.now() + 1'000 * kMs);
  CHECK_FALSE(manager.problems().empty());
  CHECK(trouble_of_nodes(fabric, built.nodes) == "");
}

TEST_CASE("traps in the names of all switches, without end, do not delay a repair") {
  FakeFabric fabric;
  const Built built = leaf_spine(fabric, 32, 2, 2);
  Manager& manager = fabric.manage(built.nodes[0], options());
  settle(fabric, built.nodes[0]);
  const auto flood = [&](uint64_t until, const std::function<bool()>& done) {
    for (unsigned i = 0; fabric.now() < until && !done(); ++i) {
      Frame trap{};
      const int from = built.switches[i % built.switches.size()];
      exrnic_eth_set_src(trap.data(), 0x024558520000 | fabric.at(from).number);
      exrnic_eth_set_ethertype(trap.data(), EXRNIC_MANAGEMENT_ETHERTYPE);
      exrnic_management_header_set_version(&trap[kHeaderAt], EXRNIC_MANAGEMENT_VERSION);
      exrnic_management_header_set_method(&trap[kHeaderAt], EXRNIC_MANAGEMENT_METHOD_TRAP);
      exrnic_management_header_set_attribute(&trap[kHeaderAt], EXRNIC_MANAGEMENT_ATTRIBUTE_PORTS);
      fabric.inject(built.nodes[0], trap);
      fabric.run(fabric.now() + 2'000);
    }
  };
  uint64_t worst = 0;
  for (unsigned i = 0; i < 20; ++i) {
    flood(fabric.now() + 13 * kMs, [&] { return false; });
    const uint64_t since = fabric.now();
    fabric.set_line(built.switches[2 + i % 8], 2, false);
    flood(since + 200 * kMs, [&] { return trouble_of_nodes(fabric, built.nodes).empty(); });
    worst = std::max(worst, fabric.now() - since);
    fabric.set_line(built.switches[2 + i % 8], 2, true);
    flood(fabric.now() + 10 * kMs, [&] { return false; });
  }
  INFO("worst " << worst << " ns, sweeps " << manager.counts().sweeps);
  CHECK(worst < 10 * kMs);
  CHECK(manager.counts().yields == 0);
}

// What a bad switch does not answer.
enum class Deafness {
  kSets,
  kReads,
  kThird,
  kSeventh,
  kRandom,
  kPorts,
  kNothingButDevice,
  kLate,
  kNone
};

void make_deaf(FakeFabric& fabric, int index, Deafness how, uint64_t seed) {
  FakeDevice& device = fabric.at(index);
  auto random = std::make_shared<std::mt19937_64>(seed);
  device.lie = [&device, how, random, n = 0u, seen = device.sets](Frame& frame) mutable {
    const bool set = device.sets != seen;
    seen = device.sets;
    ++n;
    switch (how) {
      case Deafness::kSets:
        return !set;
      case Deafness::kReads:
        return set || about(frame, EXRNIC_MANAGEMENT_ATTRIBUTE_DEVICE) ||
               about(frame, EXRNIC_MANAGEMENT_ATTRIBUTE_PORTS);
      case Deafness::kThird:
        return n % 3 == 0;
      case Deafness::kSeventh:
        return n % 7 == 0;
      case Deafness::kRandom:
        return (*random)() % 2 == 0;
      case Deafness::kPorts:
        return !about(frame, EXRNIC_MANAGEMENT_ATTRIBUTE_PORTS);
      case Deafness::kNothingButDevice:
        return about(frame, EXRNIC_MANAGEMENT_ATTRIBUTE_DEVICE);
      case Deafness::kNone:
        return true;
      default:
        return n % 50 < 25;
    }
  };
}

// A leaf without nodes of those who are to be well, or one of three spines.
TEST_CASE("whatever a bad switch does not answer, others are repaired soon") {
  for (unsigned how = 0; how < 9; ++how) {
    for (const bool at_spine : {false, true}) {
      for (const bool wakes : {false, true}) {
        FakeFabric fabric;
        const Built built = leaf_spine(fabric, 16, 4, 3);
        const int bad = built.switches[at_spine ? 2 : 6];
        const std::vector<int> healthy(built.nodes.begin(), built.nodes.begin() + 12);
        Manager& manager = fabric.manage(built.nodes[0], options());
        make_deaf(fabric, bad, static_cast<Deafness>(how), how + 1);
        fabric.run(500 * kMs);
        std::mt19937_64 random(how);
        uint64_t worst = 0, broken = 0;
        int leaf = 0;
        for (unsigned i = 0; i < 60; ++i) {
          // The same line goes, and comes back.
          if (i % 2 == 0) leaf = built.switches[3 + random() % 3];
          fabric.set_line(leaf, static_cast<uint16_t>(4 + i / 2 % 2), i % 2 != 0);
          if (wakes && i % 5 == 0) fabric.at(bad).lie = nullptr;
          if (wakes && i % 5 == 2) make_deaf(fabric, bad, static_cast<Deafness>(how), i);
          const uint64_t took = repaired_after(fabric, healthy, 500 * kMs);
          worst = std::max(worst, took);
          for (unsigned ms = 0; ms < 40; ++ms) {
            fabric.run(fabric.now() + kMs);
            if (!trouble_of_nodes(fabric, healthy).empty()) ++broken;
          }
        }
        // All lines are there again.
        for (unsigned leaf = 3; leaf < 6; ++leaf)
          for (uint16_t port = 4; port < 7; ++port)
            fabric.set_line(built.switches[leaf], port, true);
        fabric.run(fabric.now() + 200 * kMs);
        INFO("how " << how << " spine " << at_spine << " wakes " << wakes << ": worst " << worst
                    << " ns, broken for " << broken << " ms of 2400");
        CHECK(worst < 15 * kMs);
        CHECK(broken < 24);
        CHECK(trouble_of_nodes(fabric, healthy) == "");
        fabric.at(bad).lie = nullptr;
        fabric.run(fabric.now() + 1'000 * kMs);
        CHECK(trouble_of_nodes(fabric, built.nodes) == "");
        CHECK(manager.problems().empty());
      }
    }
  }
}

TEST_CASE("a switch that tells another one's number, a loop or too many ports harms nobody") {
  for (unsigned how = 0; how < 5; ++how) {
    FakeFabric fabric;
    const Built built = leaf_spine(fabric, 16, 4, 2);
    FakeDevice& bad = fabric.at(built.switches[5]);
    const FakeDevice& other = fabric.at(built.switches[3]);
    bad.lie = [&, how, n = 0u](Frame& frame) mutable {
      uint8_t* const data = &frame[EXRNIC_MANAGEMENT_DATA_AT];
      ++n;
      if (about(frame, EXRNIC_MANAGEMENT_ATTRIBUTE_DEVICE)) {
        if (how == 0) exrnic_management_device_set_number(data, other.number);
        if (how == 1) exrnic_management_device_set_ports(data, n % 2 != 0 ? 255 : 6);
        if (how == 2) exrnic_management_device_set_changes(data, n);
        if (how == 3) exrnic_management_device_set_flags(data, 1);
      }
      return true;
    };
    if (how == 1) {
      bad.ports.resize(8);
      bad.forget();
      fabric.join(built.switches[5], 6, built.switches[5], 7);
    }
    Manager& manager = fabric.manage(built.nodes[0], options());
    fabric.run(500 * kMs);
    const std::vector<int> healthy(built.nodes.begin(), built.nodes.begin() + 12);
    unsigned broken = 0;
    uint64_t worst = 0;
    for (unsigned i = 0; i < 40; ++i) {
      fabric.set_line(built.switches[2 + i % 3], 4, false);
      worst = std::max(worst, repaired_after(fabric, healthy, 500 * kMs));
      fabric.set_line(built.switches[2 + i % 3], 4, true);
      for (unsigned ms = 0; ms < 30; ++ms) {
        fabric.run(fabric.now() + kMs);
        if (!trouble_of_nodes(fabric, healthy).empty()) ++broken;
      }
    }
    INFO("how " << how << ": broken " << broken << ", worst " << worst << ", requests "
                << manager.counts().requests.requests);
    CHECK(broken < 40);  // of 1200: right after a line has come back
    CHECK(worst < 10 * kMs);
  }
}

// The request came by this port.
uint16_t came_by(const Frame& frame) {
  const auto hops = static_cast<unsigned>(exrnic_management_header_hops(&frame[kHeaderAt]));
  const uint8_t* const at = &frame[EXRNIC_MANAGEMENT_PATH_AT + 2 * hops];
  return static_cast<uint16_t>(at[0] << 8 | at[1]);
}

TEST_CASE("a leaf that answers at one of its ports alone does not have spines left out") {
  FakeFabric fabric;
  const Built built = leaf_spine(fabric, 16, 4, 3);
  fabric.at(built.switches[6]).lie = [](Frame& frame) { return came_by(frame) == 4; };
  Manager& manager = fabric.manage(built.nodes[0], options());
  fabric.run(500 * kMs);
  for (const std::string& problem : manager.problems()) UNSCOPED_INFO(problem);
  for (unsigned i = 0; i < 3; ++i) {
    INFO("spine " << i);
    CHECK(manager.map().find(fabric.at(built.switches[i]).guid) != nullptr);
  }
  const std::vector<int> healthy(built.nodes.begin(), built.nodes.begin() + 12);
  CHECK(trouble_of_nodes(fabric, healthy) == "");
}

TEST_CASE("two leaves that answer at one of their ports alone do not cut the others off") {
  FakeFabric fabric;
  const Built built = leaf_spine(fabric, 16, 4, 3);
  for (const uint16_t i : {0, 1})
    fabric.at(built.switches[5 + i]).lie = [i](Frame& frame) { return came_by(frame) == 4 + i; };
  Manager& manager = fabric.manage(built.nodes[0], options());
  const std::vector<int> healthy(built.nodes.begin(), built.nodes.begin() + 8);
  fabric.run(500 * kMs);
  unsigned cut_off = 0;
  for (unsigned ms = 0; ms < 1'000; ++ms) {
    fabric.run(fabric.now() + kMs);
    if (!trouble_of_nodes(fabric, healthy).empty()) ++cut_off;
  }
  INFO("healthy ones were cut off for " << cut_off << " of 1000 ms, devices in the map "
                                        << manager.map().devices.size());
  for (const std::string& problem : manager.problems()) UNSCOPED_INFO(problem);
  CHECK(cut_off == 0);
}

}  // namespace
}  // namespace exrnic::fabric
