// SPDX-License-Identifier: BSD-2-Clause
#include "sim/topology/partition.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>
#include <string>

#include "sim/files/data_file.h"
#include "sim/testing/temp_dir.h"

namespace exrnic {
namespace {

using Catch::Matchers::ContainsSubstring;

unsigned nodes_of_rank(const Partition& partition, unsigned rank) {
  return static_cast<unsigned>(std::count(partition.nodes.begin(), partition.nodes.end(), rank));
}

TEST_CASE("each rank has about as many nodes, whatever the topology") {
  for (const char* name : {"star:7", "ring:8", "two-levels:16", "leaf-spine:128", "fat-tree:4",
                           "dragonfly:2", "torus:4x4", "back-to-back"}) {
    const Topology topology = load_topology(name, 2);
    for (unsigned ranks = 1; ranks <= std::min(4u, topology.nodes); ++ranks) {
      INFO(name << " for " << ranks);
      const Partition partition = auto_partition(topology, ranks);
      REQUIRE(partition.nodes.size() == topology.nodes);
      REQUIRE(partition.switches.size() == topology.switches.size());
      for (const unsigned rank : partition.switches) CHECK(rank < ranks);
      const unsigned share = topology.nodes / ranks;
      for (unsigned rank = 0; rank < ranks; ++rank) {
        CHECK(2 * nodes_of_rank(partition, rank) >= share);
        CHECK(nodes_of_rank(partition, rank) <= 2 * share);
      }
    }
  }
}

TEST_CASE("nodes that are not numbered leaf by leaf are spread all the same") {
  Topology topology;
  topology.nodes = 32;
  topology.switches.resize(4);
  for (unsigned i = 0; i < 4; ++i) topology.switches[i].name = "leaf" + std::to_string(i);
  for (unsigned node = 0; node < 32; ++node) {
    TopologyLink link;
    link.ends[0] = {false, node, 0};
    link.ends[1] = {true, node % 4, node / 4};
    topology.links.push_back(link);
  }
  for (unsigned rank = 0; rank < 4; ++rank)
    CHECK(nodes_of_rank(auto_partition(topology, 4), rank) == 8);
}

TEST_CASE("nodes of one switch are where it is, unless it has more than a rank's share") {
  const Topology topology = load_topology("two-levels:16", 16);  // four of a leaf
  const Partition partition = auto_partition(topology, 2);
  for (const TopologyLink& link : topology.links)
    for (const int i : {0, 1})
      if (!link.ends[i].at_switch)
        CHECK(partition.rank_of(link.ends[i]) == partition.rank_of(link.ends[1 - i]));
  const Partition cut = auto_partition(load_topology("star:6", 6), 3);
  CHECK(cut.nodes == std::vector<unsigned>{0, 0, 1, 1, 2, 2});
}

TEST_CASE("a file says the rank of everything, once") {
  const TempDir directory;
  const std::string path = directory / "partition.json";
  const Topology topology = load_topology("star:3", 3);
  const auto load = [&](const std::string& text) {
    std::ofstream(path) << text;
    return load_partition(path, topology, 2);
  };
  const Partition partition = load(R"({"nodes": [[0, 2], [1]], "switches": {"switch0": 1}})");
  CHECK(partition.nodes == std::vector<unsigned>{0, 1, 0});
  CHECK(partition.switches == std::vector<unsigned>{1});
  const std::pair<const char*, const char*> wrong[] = {
      {R"({"nodes": [[0, 2]], "switches": {"switch0": 1}})", "2 lists, one for each rank"},
      {R"({"nodes": [[0, 2], [2, 1]], "switches": {"switch0": 1}})", "node 2 is in lists 0 and 1"},
      {R"({"nodes": [[0], [1]], "switches": {"switch0": 1}})", "node 2 is in no list"},
      {R"({"nodes": [[0, 0, 2], [1]], "switches": {"switch0": 1}})", "each node once"},
      {R"({"nodes": [[0], [1, 3]], "switches": {"switch0": 1}})", "nodes"},
      {R"({"nodes": [[0, 2], [1]], "switches": {"switch0": 2}})", "switch0"},
      {R"({"nodes": [[0, 2], [1]], "switches": {}})", "switch0"},
      {R"({"nodes": [[0, 2], [1]], "switches": {"switch0": 0, "x": 1}})", "x"},
      {R"({"nodes": [[0, 2], [1]]})", "switches"}};
  for (const auto& [text, what] : wrong) {
    INFO(text);
    CHECK_THROWS_WITH(load(text), ContainsSubstring(what) && ContainsSubstring("partition "));
  }
  CHECK_THROWS_AS(load_partition("none", topology, 2), DataFileError);
}

}  // namespace
}  // namespace exrnic
