// SPDX-License-Identifier: BSD-2-Clause
#include "sim/topology/routes.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "exrnic_hw.h"

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
    if (at.at_switch) at.port = routes.ports[at.index].at(topology.id_of(to));
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

// The rule of Routes once more, without its shortcuts: for each node distances are lowered until
// every link agrees.
class PlainSearch {
 public:
  PlainSearch(const Topology& topology, unsigned node)
      : topology_(topology),
        node_(node),
        distance_(topology.nodes + topology.switches.size(), kFar) {
    distance_[node] = 0;
    for (bool changed = true; changed;) {
      changed = false;
      for (const TopologyLink& link : topology.links) {
        changed |= lower(link.ends[0], link.ends[1]) || lower(link.ends[1], link.ends[0]);
      }
    }
  }

  unsigned port(unsigned index) const {
    std::vector<unsigned> choices;
    for (const TopologyLink& link : topology_.links) {
      for (const int i : {0, 1}) {
        const LinkEnd& from = link.ends[i];
        const bool here = from.at_switch && from.index == index;
        if (here && at(link.ends[1 - i]) < at(from)) choices.push_back(from.port);
      }
    }
    std::sort(choices.begin(), choices.end());
    return choices.at(node_ / topology_.switches[index].spread % choices.size());
  }

 private:
  static constexpr unsigned kFar = 1'000'000;

  size_t place(const LinkEnd& end) const {
    return end.at_switch ? topology_.nodes + end.index : end.index;
  }
  unsigned at(const LinkEnd& end) const { return distance_[place(end)]; }
  bool lower(const LinkEnd& from, const LinkEnd& to) {
    const bool passes = from.at_switch || from.index == node_;
    if (!passes || at(from) + 1 >= at(to)) return false;
    distance_[place(to)] = at(from) + 1;
    return true;
  }

  const Topology& topology_;
  const unsigned node_;
  std::vector<unsigned> distance_;
};

// Switches in a random tree, with further lines and nodes anywhere, and ports with gaps.
Topology random_topology(unsigned seed) {
  std::mt19937 random(seed);
  const auto draw = [&](size_t below) { return static_cast<unsigned>(random() % below); };
  Topology topology;
  topology.name = "random";
  topology.nodes = 1 + draw(200);
  topology.switches.resize(1 + draw(20));
  const auto switches = static_cast<unsigned>(topology.switches.size());
  std::vector<std::vector<unsigned>> free_ports(switches, std::vector<unsigned>(300));
  for (unsigned i = 0; i < switches; ++i) {
    topology.switches[i].name = "s" + std::to_string(i);
    topology.switches[i].spread = 1 + draw(5);
    std::iota(free_ports[i].begin(), free_ports[i].end(), 0);
    std::shuffle(free_ports[i].begin(), free_ports[i].end(), random);
  }
  const auto end_at = [&](unsigned index) {
    const LinkEnd end{true, index, free_ports[index].back()};
    free_ports[index].pop_back();
    return end;
  };
  const auto join = [&](const LinkEnd& a, const LinkEnd& b) {
    topology.links.push_back({{a, b}, {}, {}, {}});
  };
  for (unsigned i = 1; i < switches; ++i) join(end_at(i), end_at(draw(i)));
  for (unsigned more = switches > 1 ? draw(30) : 0; more > 0; --more) {
    const unsigned a = draw(switches);
    join(end_at(a), end_at((a + 1 + draw(switches - 1)) % switches));
  }
  for (unsigned node = 0; node < topology.nodes; ++node)
    join({false, node, 0}, end_at(draw(switches)));
  std::shuffle(topology.links.begin(), topology.links.end(), random);
  if (draw(2) == 0) return topology;
  std::vector<uint16_t> ids(EXRNIC_NODE_NONE);
  std::iota(ids.begin(), ids.end(), uint16_t{0});
  std::shuffle(ids.begin(), ids.end(), random);
  topology.ids.assign(ids.begin(), ids.begin() + topology.nodes);
  return topology;
}

void check_against_plain_search(const Topology& topology) {
  const Routes routes = compute_routes(topology);
  unsigned differ = 0;
  for (unsigned node = 0; node < topology.nodes; ++node) {
    const PlainSearch plain(topology, node);
    for (unsigned i = 0; i < topology.switches.size(); ++i)
      differ += routes.ports[i].at(topology.id_of(node)) != plain.port(i);
  }
  CHECK(differ == 0);
}

TEST_CASE("routes are those that a plain search from each node finds") {
  for (const char* name :
       {"back-to-back",   "star:1",     "star:70",      "ring:2",        "ring:3",
        "ring:33",        "ring:64",    "two-levels:1", "two-levels:70", "leaf-spine:31",
        "leaf-spine:200", "fat-tree:2", "fat-tree:4",   "fat-tree:8",    "dragonfly:1",
        "dragonfly:2",    "torus:2x2",  "torus:4x4",    "torus:8x16",    "torus:5x3x2",
        "torus:4x4x8"}) {
    INFO(name);
    check_against_plain_search(load_topology(name, 2));
  }
  for (unsigned seed = 0; seed < 100; ++seed) {
    INFO("seed " << seed);
    check_against_plain_search(random_topology(seed));
  }
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
  const PortTable& first_leaf = routes.ports[2];
  for (uint16_t node = 4; node < 12; ++node) CHECK(first_leaf.at(node) == 4u + node % 2);
  const PortTable again = compute_routes(topology).ports[2];
  for (uint16_t node = 0; node < 12; ++node) CHECK(again.at(node) == first_leaf.at(node));
}

// How many blocks there are, by where they are kept.
size_t blocks_of(const Routes& routes) {
  std::set<PortTable::SharedBlock> blocks;
  for (const PortTable& table : routes.ports)
    blocks.insert(table.blocks().begin(), table.blocks().end());
  return blocks.size();
}

TEST_CASE("equal parts of a network's tables are kept once") {
  const Routes levels = compute_routes(leaf_spine(1024));
  for (unsigned spine = 1; spine < 16; ++spine)
    CHECK(levels.ports[spine].blocks() == levels.ports[0].blocks());
  // In the tables of 1024 switches there are 16,384.
  CHECK(blocks_of(compute_routes(torus({16, 8, 8}))) < 5'000);
}

TEST_CASE("a port of identifiers far from each other is that of their nodes") {
  Topology topology = star(3);
  topology.ids = {65'534, 7, 300};
  const PortTable table = compute_routes(topology).ports[0];
  CHECK(table.at(65'534) == 0);
  CHECK(table.at(7) == 1);
  CHECK(table.at(300) == 2);
  for (const uint16_t nobody : {0, 1, 2, 65'535}) CHECK(table.at(nobody) == PortTable::kNone);
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

TEST_CASE("what has no usable routes is refused, whether they are wanted or not") {
  Topology island = star(3);
  island.links.pop_back();
  for (const bool credits : {kCredits, !kCredits})
    CHECK_THROWS_AS(refuse_unusable(island, credits), DataFileError);
  CHECK_THROWS_AS(refuse_unusable(ring(5), kCredits), DataFileError);
  CHECK_NOTHROW(refuse_unusable(ring(5), !kCredits));
  CHECK_NOTHROW(refuse_unusable(star(3), kCredits));
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

// Whether waits close a circle, from every pair's whole way and the tree: lines that wait for
// nobody are taken away until there are none.
class PlainWaits {
 public:
  explicit PlainWaits(const Topology& topology) {
    const Routes routes = compute_routes(topology);
    for (const TopologyLink& link : topology.links) {
      for (const int i : {0, 1}) far_[key(link.ends[i])] = link.ends[1 - i];
    }
    for (unsigned from = 0; from < topology.nodes; ++from) {
      for (unsigned to = 0; to < topology.nodes; ++to) {
        if (from != to) add_way(topology, routes, from, to);
      }
    }
    for (unsigned i = 0; i < topology.switches.size(); ++i) {
      for (const unsigned in : routes.tree_ports[i]) {
        for (const unsigned out : routes.tree_ports[i]) {
          if (in != out) waits_[key(far_[{true, i, in}])].insert({true, i, out});
        }
      }
    }
  }

  bool close_a_circle() {
    for (bool changed = true; changed;) {
      changed = false;
      for (auto waits = waits_.begin(); waits != waits_.end();) {
        auto& lines = waits->second;
        for (auto line = lines.begin(); line != lines.end();)
          line = waits_.count(*line) == 0 ? lines.erase(line) : std::next(line);
        changed |= lines.empty();
        waits = lines.empty() ? waits_.erase(waits) : std::next(waits);
      }
    }
    return !waits_.empty();
  }

 private:
  using Key = std::tuple<bool, unsigned, unsigned>;  // of the end that a line leaves

  static Key key(const LinkEnd& end) { return {end.at_switch, end.index, end.port}; }

  void add_way(const Topology& topology, const Routes& routes, unsigned from, unsigned to) {
    Key line{false, from, 0};
    while (far_[line].at_switch) {
      const unsigned index = far_[line].index;
      const Key next{true, index, routes.ports[index].at(topology.id_of(to))};
      waits_[line].insert(next);
      line = next;
    }
  }

  std::map<Key, LinkEnd> far_;
  std::map<Key, std::set<Key>> waits_;
};

TEST_CASE("with credits those topologies are refused where the waits of all ways close a circle") {
  const auto refused = [](const Topology& topology) {
    try {
      usable_routes(topology, kCredits);
    } catch (const DataFileError&) {
      return true;
    }
    return false;
  };
  for (const char* name : {"star:40", "ring:4", "ring:9", "two-levels:40", "fat-tree:4",
                           "dragonfly:1", "dragonfly:2", "torus:3x3", "torus:4x4", "torus:2x3x5"}) {
    INFO(name);
    const Topology topology = load_topology(name, 2);
    CHECK(refused(topology) == PlainWaits(topology).close_a_circle());
  }
  unsigned circles = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    INFO("seed " << seed);
    const Topology topology = random_topology(seed);
    const bool circle = PlainWaits(topology).close_a_circle();
    CHECK(refused(topology) == circle);
    circles += circle;
  }
  CHECK(circles > 10);
  CHECK(circles < 90);
}

// How many nodes each line towards a core carries frames to.
TEST_CASE("the routes of a fat tree give every core its share of the nodes") {
  const Topology topology = fat_tree(6);
  const Routes routes = compute_routes(topology);
  std::map<std::pair<unsigned, unsigned>, unsigned> uses;
  for (unsigned node = 0; node < topology.nodes; ++node) {
    for (unsigned i = 0; i < topology.switches.size(); ++i) {
      const bool aggregation = topology.switches[i].spread != 1;
      const unsigned port = routes.ports[i].at(topology.id_of(node));
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
  CHECK_NOTHROW(usable_routes(load_topology("star:4096", 1), kCredits));
  CHECK_THROWS_MATCHES(usable_routes(load_topology("torus:5x5", 1), kCredits), DataFileError,
                       MessageMatches(ContainsSubstring("may wait for each other for ever")));
}

}  // namespace
}  // namespace exrnic
