// SPDX-License-Identifier: BSD-2-Clause
#include "sim/topology/routes.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <map>
#include <utility>

namespace exrnic {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

constexpr bool kCredits = true;

// Follows the routes from node to node as frames do; returns the links passed.
unsigned walk(const Topology& topology, const Routes& routes, unsigned from, unsigned to) {
  LinkEnd at{false, from, 0};
  unsigned links = 0;
  do {
    if (at.at_switch) at.port = routes.port[at.index][to];
    bool moved = false;
    for (const TopologyLink& link : topology.links) {
      for (int i : {0, 1}) {
        if (moved || !(link.ends[i] == at)) continue;
        at = link.ends[1 - i];
        moved = true;
      }
    }
    REQUIRE(moved);
    REQUIRE(++links <= topology.links.size());
  } while (at.at_switch);
  CHECK(at.index == to);
  return links;
}

// How often a frame to a group would reach each place, from the tree's ports alone.
void check_tree(const Topology& topology, const Routes& routes) {
  size_t ports = 0;
  for (const auto& list : routes.tree_ports) ports += list.size();
  const size_t between_switches = ports - topology.nodes;
  CHECK(between_switches == 2 * (topology.switches.size() - 1));
}

TEST_CASE("the routes of every built-in topology lead to every node, on a shortest way") {
  for (const char* name : {"back-to-back:2", "star:8", "ring:2", "ring:7", "ring:8", "two-levels:1",
                           "two-levels:4", "two-levels:14", "leaf-spine:40", "fat-tree:4",
                           "dragonfly:1", "torus:3x4", "torus:2x2x3"}) {
    const Topology topology = load_topology(name, 2);
    const Routes routes = compute_routes(topology);
    INFO(name);
    for (unsigned from = 0; from < topology.nodes; ++from) {
      for (unsigned to = 0; to < topology.nodes; ++to) {
        if (from == to) continue;
        INFO(from << " to " << to);
        CHECK(walk(topology, routes, from, to) == routes.hops(topology, from, to));
      }
    }
    if (!topology.switches.empty()) check_tree(topology, routes);
  }
}

TEST_CASE("ways are as long as the topology says") {
  const auto hops = [](const char* name, unsigned from, unsigned to) {
    const Topology topology = load_topology(name, 2);
    return compute_routes(topology).hops(topology, from, to);
  };
  CHECK(hops("back-to-back", 0, 1) == 1);
  CHECK(hops("star:8", 0, 7) == 2);
  CHECK(hops("ring:8", 0, 1) == 3);
  CHECK(hops("ring:8", 0, 4) == 6);
  CHECK(hops("ring:8", 0, 7) == 3);
  CHECK(hops("two-levels:8", 0, 3) == 2);
  CHECK(hops("two-levels:8", 0, 4) == 4);
}

TEST_CASE("equal ways are shared by the number of the destination, the same each time") {
  const Topology topology = two_levels(12);
  const Routes routes = compute_routes(topology);
  const auto& first_leaf = routes.port[2];
  for (unsigned node = 4; node < 12; ++node) CHECK(first_leaf[node] == 4 + node % 2);
  CHECK(compute_routes(topology).port == routes.port);
}

TEST_CASE("what cannot be reached, or has no link, is refused by name") {
  Topology island = star(3);
  island.links.pop_back();
  CHECK_THROWS_MATCHES(compute_routes(island), DataFileError,
                       MessageMatches(ContainsSubstring("node2 has no link")));
  Topology bare = star(2);
  bare.switches.push_back({"spare", {}, {}, {}});
  CHECK_THROWS_MATCHES(compute_routes(bare), DataFileError,
                       MessageMatches(ContainsSubstring("spare has no link")));
  Topology two = ring(4);
  two.links.erase(two.links.begin() + 4, two.links.end());
  CHECK_THROWS_MATCHES(compute_routes(two), DataFileError,
                       MessageMatches(ContainsSubstring("node1 cannot be reached from node0")));
  CHECK_NOTHROW(compute_routes(single_node()));
}

TEST_CASE("two nodes that are joined to each other pass nothing on for others") {
  Topology topology = back_to_back();
  topology.nodes = 3;
  topology.links.push_back({{{false, 1, 0}, {false, 2, 0}}, {}, {}, {}});
  CHECK_THROWS_MATCHES(compute_routes(topology), DataFileError,
                       MessageMatches(ContainsSubstring("node2 cannot be reached")));
}

TEST_CASE(
    "with credits trees and levels are accepted, and rings whose frames wait in a circle not") {
  for (const char* name : {"back-to-back", "star:8", "two-levels:16", "ring:2", "ring:3"}) {
    INFO(name);
    CHECK_NOTHROW(usable_routes(load_topology(name, 2), kCredits));
  }
  for (const char* name : {"ring:5", "ring:8"}) {
    INFO(name);
    CHECK_NOTHROW(usable_routes(load_topology(name, 2), !kCredits));
    CHECK_THROWS_MATCHES(
        usable_routes(load_topology(name, 2), kCredits), DataFileError,
        MessageMatches(ContainsSubstring("circle switch0 -> switch1 -> switch2") &&
                       ContainsSubstring("switch0 may wait for each other for ever")));
  }
}

TEST_CASE("of a long circle the message shows the beginning and the length") {
  CHECK_THROWS_MATCHES(usable_routes(ring(200), kCredits), DataFileError,
                       MessageMatches(ContainsSubstring("switch7 -> ... (200 in all) -> switch0")));
}

// How many nodes each line towards a core carries frames to.
TEST_CASE("the routes of a fat tree give every core its share of the nodes") {
  const Topology topology = fat_tree(6);
  const Routes routes = compute_routes(topology);
  std::map<std::pair<unsigned, unsigned>, unsigned> uses;
  for (unsigned node = 0; node < topology.nodes; ++node) {
    for (unsigned i = 0; i < topology.switches.size(); ++i) {
      const bool aggregation = topology.switches[i].spread != 1;
      const unsigned port = routes.port[i][node];
      if (aggregation && port >= 3) ++uses[{i, port}];
    }
  }
  // An aggregation switch has three lines up, and the nodes of the other five pods are behind them.
  CHECK(uses.size() == 18 * 3);
  for (const auto& use : uses) CHECK(use.second == 5 * 9 / 3);
}

TEST_CASE("a tree of any size cannot deadlock, a torus of rings of five may") {
  CHECK_NOTHROW(usable_routes(load_topology("leaf-spine:256", 1), kCredits));
  CHECK_NOTHROW(usable_routes(load_topology("fat-tree:8", 1), kCredits));
  CHECK_THROWS_MATCHES(usable_routes(load_topology("torus:5x5", 1), kCredits), DataFileError,
                       MessageMatches(ContainsSubstring("may wait for each other for ever")));
}

}  // namespace
}  // namespace exrnic
