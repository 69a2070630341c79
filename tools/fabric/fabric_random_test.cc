// SPDX-License-Identifier: BSD-2-Clause
// Fabrics by chance, and what happens to them by chance.
#include <catch2/generators/catch_generators.hpp>
#include <random>
#include <utility>

#include "tools/fabric/testing/fabric_fixture.h"

namespace exrnic::fabric {
namespace {

using namespace testing;

// What has a way to the first node.
Built reached(const FakeFabric& fabric, const Built& built) {
  std::vector<bool> seen(fabric.size());
  std::vector<int> next = {built.nodes[0]};
  seen[built.nodes[0]] = true;
  for (size_t i = 0; i < next.size(); ++i) {
    if (i > 0 && !fabric.at(next[i]).is_switch()) continue;
    for (const FakePort& port : fabric.at(next[i]).ports) {
      if (!port.up || seen[port.peer]) continue;
      seen[port.peer] = true;
      next.push_back(port.peer);
    }
  }
  Built result;
  for (const int node : built.nodes) {
    if (seen[node]) result.nodes.push_back(node);
  }
  for (const int item : built.switches) {
    if (seen[item]) result.switches.push_back(item);
  }
  return result;
}

TEST_CASE("random fabrics are routed, without circles where there are credits, and repaired") {
  constexpr uint64_t kFirst = 1, kSeeds = 150;
  for (uint64_t seed = kFirst; seed < kFirst + kSeeds; ++seed) {
    INFO("seed " << seed);
    const bool credits = seed % 3 != 0;
    FakeFabric fabric;
    const Built built = random_fabric(fabric, seed);
    if (credits) fabric.set_credits();
    const int own = built.nodes[0];
    ManagerOptions mine = options();
    mine.seed = seed;
    Manager& manager = fabric.manage(own, mine);
    settle(fabric, own);
    REQUIRE(manager.problems().empty());
    REQUIRE(trouble_of_nodes(fabric, built.nodes) == "");
    REQUIRE(trouble_of_switches(fabric, built.nodes, built.switches) == "");
    REQUIRE(trouble_of_floods(fabric, built.nodes) == "");
    if (credits) REQUIRE(circle_of_waits(fabric) == "");

    std::mt19937_64 random(seed);
    for (unsigned change = 0; change < 4; ++change) {
      INFO("change " << change);
      const int device = built.switches[random() % built.switches.size()];
      const auto port = static_cast<uint16_t>(random() % fabric.at(device).ports.size());
      if (random() % 4 == 0) {
        fabric.power(device, change % 2 != 0);
      } else if (fabric.at(device).ports[port].peer >= 0) {
        fabric.set_line(device, port, !fabric.at(device).ports[port].up);
      }
      fabric.run(fabric.now() + 20 * kMs);
      settle(fabric, own);
      const auto [nodes, switches] = reached(fabric, built);
      REQUIRE(trouble_of_nodes(fabric, nodes) == "");
      REQUIRE(trouble_of_switches(fabric, nodes, switches) == "");
      REQUIRE(trouble_of_floods(fabric, nodes) == "");
      if (credits) REQUIRE(circle_of_waits(fabric) == "");
      for (const int node : nodes) REQUIRE(manager.map().find(fabric.at(node).guid) != nullptr);
    }
  }
}

int end_of_path(const FakeFabric& fabric, int device, const Path& path) {
  for (const uint16_t port : path.out) device = fabric.at(device).ports.at(port).peer;
  return device;
}

// Left out are those that are too many, or have another one's GUID, and what is behind them. They
// keep their routes, unless a repair was interrupted.
TEST_CASE("no route leads to a switch that is left out, and none goes round there") {
  for (uint64_t seed = 701; seed <= 900; ++seed) {
    INFO("seed " << seed);
    FakeFabric fabric;
    const Built built = random_fabric(fabric, seed);
    const bool credits = seed % 2 != 0, limited = seed % 4 < 2, interrupted = seed % 8 < 4;
    if (credits) fabric.set_credits();
    ManagerOptions few = options();
    few.seed = seed;
    if (limited) few.limits.devices = 2 + fabric.size() * 2 / 3;
    Manager& manager = fabric.manage(built.nodes[0], few);
    settle(fabric, built.nodes[0]);
    std::mt19937_64 random(seed);
    const auto any = [&] { return built.switches[random() % built.switches.size()]; };
    for (unsigned change = 0; change < 16; ++change) {
      const int device = any();
      const auto port = static_cast<uint16_t>(random() % fabric.at(device).ports.size());
      if (random() % 4 == 0) {
        fabric.power(device, false);
        fabric.at(device).guid = random() % 2 == 0 ? fabric.at(any()).guid : 0x5000 + random() % 99;
        fabric.power(device, true);
      } else if (random() % 4 == 0) {
        fabric.power(device, random() % 3 != 0);
      } else if (fabric.at(device).ports[port].peer >= 0) {
        fabric.set_line(device, port, !fabric.at(device).ports[port].up);
      }
      fabric.run(fabric.now() + (interrupted ? random() % 200'000 : 50 * kMs));
    }
    fabric.run(fabric.now() + 200 * kMs);
    settle(fabric, built.nodes[0]);
    std::vector<int> mapped;
    for (const auto& [guid, known] : manager.map().devices) {
      const int device = end_of_path(fabric, built.nodes[0], known.path);
      REQUIRE(fabric.at(device).guid == guid);
      if (!fabric.at(device).is_switch()) continue;
      mapped.push_back(device);
      for (const auto& [number, port] : fabric.at(device).routes) {
        INFO("device " << device << " to " << number);
        CHECK(known.ports.at(port).neighbour.has_value());
      }
    }
    CHECK(round_trip(fabric, mapped) == "");
    // Nor do frames go round, or wait for each other, among those that are left out.
    CHECK(round_trip(fabric, built.switches) == "");
    if (credits) CHECK(circle_of_waits(fabric) == "");
  }
}

TEST_CASE("while a fabric with credits is repaired, no moment lets frames wait in a circle") {
  constexpr uint64_t kSeeds = 30;
  unsigned moments = 0, circles = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    FakeFabric fabric;
    const Built built = random_fabric(fabric, seed);
    fabric.set_credits();
    fabric.manage(built.nodes[0], options());
    settle(fabric, built.nodes[0]);
    std::mt19937_64 random(seed);
    for (unsigned change = 0; change < 6; ++change) {
      const int device = built.switches[random() % built.switches.size()];
      for (uint16_t port = 0; port < fabric.at(device).ports.size(); ++port) {
        const int peer = fabric.at(device).ports[port].peer;
        if (peer >= 0 && fabric.at(peer).is_switch() && random() % 2 == 0) {
          fabric.set_line(device, port, !fabric.at(device).ports[port].up);
          break;
        }
      }
      for (unsigned i = 0; i < 200; ++i) {
        fabric.run(fabric.now() + 5'000);
        ++moments;
        circles += circle_of_waits(fabric).empty() ? 0 : 1;
      }
      settle(fabric, built.nodes[0]);
    }
  }
  INFO(circles << " of " << moments);
  CHECK(circles == 0);
}

// Frames are lost, so writings fail in the middle, and lines come back while others are written.
TEST_CASE("nor does a repair that is interrupted, or that loses frames") {
  const auto share = GENERATE(0.0, 0.05);
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    INFO("seed " << seed);
    FakeFabric fabric;
    const Built built = seed % 2 == 0 ? torus(fabric, {3, 3}) : random_fabric(fabric, seed);
    fabric.set_credits();
    fabric.manage(built.nodes[0], options());
    settle(fabric, built.nodes[0]);
    fabric.lose(share, seed);
    std::mt19937_64 random(seed);
    std::string circle;
    uint64_t sets = 0;
    const auto look = [&] {
      uint64_t now = 0;
      for (size_t i = 0; i < fabric.size(); ++i) now += fabric.at(static_cast<int>(i)).sets;
      if (now != std::exchange(sets, now) && circle.empty()) circle = circle_of_waits(fabric);
      return !circle.empty();
    };
    for (unsigned change = 0; change < 12; ++change) {
      const int device = built.switches[random() % built.switches.size()];
      for (uint16_t port = 0; port < fabric.at(device).ports.size(); ++port) {
        const int peer = fabric.at(device).ports[port].peer;
        if (peer < 0 || !fabric.at(peer).is_switch() || random() % 2 == 0) continue;
        fabric.set_line(device, port, !fabric.at(device).ports[port].up);
        break;
      }
      fabric.run(fabric.now() + random() % (change % 3 == 0 ? 2 * kMs : 200'000), look);
    }
    REQUIRE(circle == "");
  }
}

}  // namespace
}  // namespace exrnic::fabric
