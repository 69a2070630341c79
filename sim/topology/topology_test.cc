// SPDX-License-Identifier: BSD-2-Clause
#include "sim/topology/topology.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

namespace exrnic {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using Json = nlohmann::json;

// Two switches with a slow, lossy link between them, and a node at each.
constexpr char kGood[] = R"({
  "name": "two rooms", "nodes": 2,
  "switches": [{"name": "left", "queue_bytes": 20000, "mark_bytes": 5000},
               {"name": "right", "latency_ns": 9}],
  "links": [
    {"ends": ["node0", "left.0"]},
    {"ends": ["right.7", "node1"]},
    {"ends": ["left.1", "right.1"], "megabits_per_second": 1000, "latency_ns": 5000,
     "faults_towards": {"right.1": "drop=0.5"}}
  ]
})";

Json good() { return Json::parse(kGood); }

Json with(const std::string& pointer, const Json& value) {
  Json json = good();
  json[Json::json_pointer(pointer)] = value;
  return json;
}

void refused(const Json& json, const std::string& because) {
  INFO(json.dump());
  CHECK_THROWS_MATCHES(parse_topology(json.dump(), "topology x"), DataFileError,
                       MessageMatches(ContainsSubstring("topology x: ") &&
                                      ContainsSubstring(because) && !ContainsSubstring("\n")));
}

void unknown(const std::string& text, unsigned nodes, const std::string& because) {
  INFO(text);
  CHECK_THROWS_MATCHES(load_topology(text, nodes), DataFileError,
                       MessageMatches(ContainsSubstring(because) && !ContainsSubstring("\n")));
}

TEST_CASE("what a topology file says arrives where it belongs") {
  const Topology topology = parse_topology(kGood, "test");
  CHECK(topology.name == "two rooms");
  CHECK(topology.nodes == 2);
  REQUIRE(topology.switches.size() == 2);
  CHECK(topology.switches[0].name == "left");
  CHECK(topology.switches[0].queue_bytes == 20000);
  CHECK(topology.switches[0].mark_bytes == 5000);
  CHECK_FALSE(topology.switches[0].latency_ns.has_value());
  CHECK(topology.switches[1].latency_ns == 9);
  REQUIRE(topology.links.size() == 3);
  CHECK(topology.name_of(topology.links[0].ends[0]) == "node0");
  CHECK(topology.name_of(topology.links[1].ends[0]) == "right.7");
  CHECK_FALSE(topology.links[0].megabits_per_second.has_value());
  CHECK(topology.links[2].megabits_per_second == 1000);
  CHECK(topology.links[2].latency_ns == 5000);
  CHECK_FALSE(topology.links[2].faults_towards[0].has_value());
  REQUIRE(topology.links[2].faults_towards[1].has_value());
  CHECK(topology.links[2].faults_towards[1]->rates.drop == 0.5);
}

TEST_CASE("an end of a link is found by its name, and another name is refused") {
  const Topology topology = parse_topology(kGood, "test");
  CHECK(topology.end_named("right.7") == LinkEnd{true, 1, 7});
  CHECK(topology.end_named("node1") == LinkEnd{false, 1, 0});
  CHECK_THROWS_MATCHES(topology.end_named("right.6"), DataFileError,
                       MessageMatches(ContainsSubstring("no link ends at 'right.6'")));
}

TEST_CASE("a wrong value in a topology file is refused with its key and its value") {
  refused(with("/nodes", 0), "'nodes' is 0; give a whole number in 1..");
  refused(with("/nodes", kMostNodes + 1), "'nodes' is " + std::to_string(kMostNodes + 1));
  refused(with("/nodes", 1),
          "'links[1].ends' is [\"right.7\",\"node1\"]; give nodeN with N below 1");
  refused(with("/switches", 3), "'switches' is 3; give a list of objects");
  refused(with("/switches/0/name", "node5"), "'switches[0].name' is \"node5\"");
  refused(with("/switches/0/name", "Left"), "'switches[0].name' is \"Left\"");
  refused(with("/switches/1/name", "left"), "a name that no other switch has");
  refused(with("/switches/0/queue_bytes", 10), "'switches[0].queue_bytes' is 10");
  refused(with("/switches/0/speed", 10), "key 'switches[0].speed' is unknown");
  refused(with("/links/0/ends", Json::array({"node0"})), "a list of 2 texts");
  refused(with("/links/0/ends/1", 4), "a list of 2 texts");
  refused(with("/links/0/ends/1", "middle.0"), "SWITCH.PORT with a switch of this file");
  refused(with("/links/0/ends/1", "left"), "SWITCH.PORT");
  refused(with("/links/0/ends/1", "left.4096"), "a port below 4096");
  refused(with("/links/0/ends/1", "left.01"), "SWITCH.PORT");
  refused(with("/links/0/ends/0", "node2"), "nodeN with N below 2");
  refused(with("/links/0/latency_ns", -1), "'links[0].latency_ns' is -1");
  refused(with("/links/2/faults_towards/right.1", "drop=2"),
          "'links[2].faults_towards.right.1' is \"drop=2\"");
  refused(with("/links/2/faults_towards/node0", "drop=1"),
          "'links[2].faults_towards.node0' is unknown");
  refused(with("/routes", 1), "key 'routes' is unknown");
  Json json = good();
  json.erase("switches");
  refused(json, "key 'switches' is missing");
}

TEST_CASE("a port with two links, and a switch joined to itself, are refused by name") {
  refused(with("/links/2/ends", Json::array({"left.0", "right.1"})), "left.0 to one link only");
  refused(with("/links/1/ends", Json::array({"right.7", "node0"})), "node0 to one link only");
  refused(with("/links/2/ends", Json::array({"left.1", "left.2"})), "two different switches");
}

TEST_CASE("a topology by name has as many nodes as are wanted, or as its name says") {
  CHECK(load_topology("back-to-back", 2).links.size() == 1);
  CHECK(load_topology("star", 3).nodes == 3);
  CHECK(load_topology("star:8", 3).nodes == 8);
  CHECK(load_topology("ring:5", 2).switches.size() == 5);
  CHECK(load_topology("ring:5", 2).links.size() == 10);
  CHECK(load_topology("ring:2", 2).links.size() == 3);
  CHECK(load_topology("two-levels:9", 2).switches.size() == 2 + 3);
  CHECK(load_topology("two-levels:9", 2).links.size() == 9 + 6);
  CHECK(load_topology("leaf-spine:4096", 2).switches.size() == 16 + 128);
  CHECK(load_topology("leaf-spine:4096", 2).links.size() == 4096 + 16 * 128);
}

TEST_CASE("fat tree, dragonfly and torus have the nodes, switches and links that their sizes say") {
  const Topology tree = load_topology("fat-tree:8", 2);
  CHECK(tree.nodes == 128);
  CHECK(tree.switches.size() == 32 + 32 + 16);
  CHECK(tree.links.size() == 3 * 128);
  const Topology dragonfly = load_topology("dragonfly:2", 1);
  CHECK(dragonfly.nodes == 72);
  CHECK(dragonfly.switches.size() == 9 * 4);
  CHECK(dragonfly.links.size() == 72 + 9 * 6 + 9 * 8 / 2);
  CHECK(load_topology("torus:3x4", 1).nodes == 12);
  CHECK(load_topology("torus:3x4", 1).links.size() == 3 * 12);
  CHECK(load_topology("torus:2x2x2", 1).links.size() == 8 + 12);
  CHECK(load_topology("torus:16x16x16", 1).links.size() == 4 * 4096);
}

TEST_CASE("an unknown topology, or one with a number of nodes that it cannot have, is refused") {
  unknown("mesh", 2, "no topology 'mesh'; take one of back-to-back, star, ring, two-levels, ");
  unknown("fat-tree", 8,
          "topology fat-tree: write fat-tree:N; N, from 2 to 24, counts ports of a switch");
  unknown("fat-tree:3", 8,
          "topology fat-tree: 3 ports of a switch, an even number; it has 2 to 24");
  unknown("dragonfly:6", 8, "topology dragonfly: 6 nodes of a switch; it has 1 to 5");
  for (const char* sizes :
       {"torus", "torus:4", "torus:1x4", "torus:4x", "torus:65x64", "torus:2x2x2x2", "torus:x4"})
    unknown(sizes, 8, "write torus:AxB or torus:AxBxC");
  unknown("star:x", 2, "'x' is no number of nodes");
  unknown("star:", 2, "topology star:: write star:N; N, from 1 to 4096, counts nodes");
  unknown("star", 0, "topology star: write star:N; N, from 1 to 4096, counts nodes");
  unknown("star:0", 2, "topology star: 0 nodes; it has 1 to 4096");
  unknown("star:4097", 2, "topology star: 4097 nodes; it has 1 to 4096");
  unknown("ring", 1, "topology ring: 1 nodes; it has 2 to 4096");
  unknown("back-to-back", 3, "topology back-to-back: 3 nodes; it has 2 to 2");
  unknown("nowhere/t.json", 2, "topology nowhere/t.json: no such file");
}

TEST_CASE("more switches than a network may have are refused") {
  Json json = good();
  for (unsigned i = 2; i <= kMostSwitches; ++i)
    json["switches"].push_back({{"name", "s" + std::to_string(i)}});
  refused(json, "it has more than 4096 switches");
}

}  // namespace
}  // namespace exrnic
