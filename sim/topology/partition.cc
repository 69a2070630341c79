// SPDX-License-Identifier: BSD-2-Clause
#include "sim/topology/partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "sim/files/data_file.h"
#include "sim/files/strict_object.h"

namespace exrnic {
namespace {

// The switch that a node is joined to, if it is one.
std::vector<std::optional<unsigned>> leaves_of(const Topology& topology) {
  std::vector<std::optional<unsigned>> leaves(topology.nodes);
  for (const TopologyLink& link : topology.links)
    for (const int i : {0, 1})
      if (!link.ends[i].at_switch && link.ends[1 - i].at_switch)
        leaves[link.ends[i].index] = link.ends[1 - i].index;
  return leaves;
}

// Switches that have no rank yet go where most of their neighbours are, level by level.
void place_other_switches(const Topology& topology, std::vector<std::optional<unsigned>>& ranks) {
  for (bool placed = true; placed;) {
    placed = false;
    const auto known = ranks;
    for (unsigned i = 0; i < known.size(); ++i) {
      if (known[i]) continue;
      std::map<unsigned, unsigned> votes;
      for (const TopologyLink& link : topology.links)
        for (const int end : {0, 1}) {
          const LinkEnd &own = link.ends[end], &other = link.ends[1 - end];
          if (own.at_switch && own.index == i && other.at_switch && known[other.index])
            ++votes[*known[other.index]];
        }
      if (votes.empty()) continue;
      // Of ranks with as many, one after the other: spines see all leaves alike.
      unsigned most = 0;
      for (const auto& [rank, count] : votes) most = std::max(most, count);
      std::vector<unsigned> best;
      for (const auto& [rank, count] : votes)
        if (count == most) best.push_back(rank);
      ranks[i] = best[i % best.size()];
      placed = true;
    }
  }
}

}  // namespace

Partition auto_partition(const Topology& topology, unsigned ranks) {
  Partition partition;
  partition.ranks = ranks;
  partition.nodes.resize(topology.nodes);
  const auto leaves = leaves_of(topology);
  std::map<unsigned, unsigned> nodes_of;  // by leaf: how many
  for (const auto& leaf : leaves)
    if (leaf) ++nodes_of[*leaf];
  // Leaves in the order of their first nodes; so many nodes have a rank.
  unsigned placed = 0;
  const auto rank_at = [&](unsigned place) {
    return static_cast<unsigned>(uint64_t{place} * ranks / topology.nodes);
  };
  std::vector<std::optional<unsigned>> switches(topology.switches.size());
  for (unsigned node = 0; node < topology.nodes; ++node) {
    const auto& leaf = leaves[node];
    if (!leaf || uint64_t{nodes_of[*leaf]} * ranks > topology.nodes) {
      partition.nodes[node] = rank_at(placed++);
      if (leaf && !switches[*leaf]) switches[*leaf] = partition.nodes[node];
      continue;
    }
    // All of a leaf are where the middle one of them is.
    if (!switches[*leaf]) {
      switches[*leaf] = rank_at(placed + (nodes_of[*leaf] - 1) / 2);
      placed += nodes_of[*leaf];
    }
    partition.nodes[node] = *switches[*leaf];
  }
  place_other_switches(topology, switches);
  for (const auto& rank : switches) partition.switches.push_back(rank.value_or(0));
  return partition;
}

Partition load_partition(const std::string& text, const Topology& topology, unsigned ranks) {
  if (text == kAutoPartition) return auto_partition(topology, ranks);
  const std::string where = "partition " + text;
  const nlohmann::json json = parse_json(
      read_data_file(text, where, "give \"auto\", or a file as in sim/ranks/README.md"), where);
  StrictObject root(json, where, "");
  Partition partition;
  partition.ranks = ranks;
  const std::vector<std::set<unsigned>> parts = root.sets("nodes", topology.nodes - 1);
  for (const auto& list : json["nodes"])
    if (std::set<nlohmann::json>(list.begin(), list.end()).size() != list.size())
      root.refuse("nodes", "each node once");
  if (parts.size() != ranks)
    root.refuse("nodes", fmt::format("{} lists, one for each rank", ranks));
  std::vector<std::optional<unsigned>> found(topology.nodes);
  for (unsigned rank = 0; rank < ranks; ++rank)
    for (const unsigned node : parts[rank]) {
      if (found[node])
        throw DataFileError(fmt::format("{}: nodes: node {} is in lists {} and {}; each is in one",
                                        where, node, *found[node], rank));
      found[node] = rank;
    }
  for (unsigned node = 0; node < topology.nodes; ++node) {
    if (!found[node])
      throw DataFileError(
          fmt::format("{}: nodes: node {} is in no list; each is in one", where, node));
    partition.nodes.push_back(*found[node]);
  }
  if (!topology.switches.empty() || root.has("switches")) {
    StrictObject switches = root.object("switches");
    for (const TopologySwitch& item : topology.switches)
      partition.switches.push_back(
          static_cast<unsigned>(switches.integer(item.name, 0, ranks - 1)));
    switches.finish();
  }
  root.finish();
  return partition;
}

}  // namespace exrnic
