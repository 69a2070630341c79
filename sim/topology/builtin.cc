// SPDX-License-Identifier: BSD-2-Clause
// The topologies that are known by name.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "sim/topology/topology.h"

namespace exrnic {
namespace {

constexpr unsigned kNodesOfALeaf = 4;
constexpr unsigned kSpines = 2;
constexpr char kFile[] = ".json";

LinkEnd node_end(unsigned node) { return {false, node, 0}; }
LinkEnd switch_end(unsigned index, unsigned port) { return {true, index, port}; }

TopologyLink link(LinkEnd a, LinkEnd b) {
  TopologyLink result;
  result.ends[0] = a;
  result.ends[1] = b;
  return result;
}

Topology named(const char* name, unsigned nodes) {
  Topology topology;
  topology.name = name;
  topology.nodes = nodes;
  return topology;
}

void add_switches(Topology& topology, const char* name, unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    TopologySwitch item;
    item.name = fmt::format("{}{}", name, i);
    topology.switches.push_back(item);
  }
}

struct Builtin {
  const char* name;
  unsigned least_nodes;
  unsigned most_nodes;
  Topology (*build)(unsigned nodes);
};

const Builtin kBuiltins[] = {
    {"back-to-back", 2, 2, [](unsigned) { return back_to_back(); }},
    {"star", 1, kMostPorts, star},
    {"ring", 2, kMostNodes, ring},
    {"two-levels", 1, kMostNodes, two_levels},
};

std::string names_of_builtins() {
  std::string names;
  for (const Builtin& builtin : kBuiltins) names += fmt::format("{}, ", builtin.name);
  return names;
}

unsigned parse_count(const std::string& text, const std::string& count) {
  const bool digits = !count.empty() && count.size() <= 4 &&
                      count.find_first_not_of("0123456789") == std::string::npos;
  if (!digits) {
    throw DataFileError(
        fmt::format("topology {}: '{}' is no number of nodes; write NAME:N", text, count));
  }
  return static_cast<unsigned>(std::stoul(count));
}

}  // namespace

Topology single_node() { return named("single", 1); }

Topology back_to_back() {
  Topology topology = named("back-to-back", 2);
  topology.links.push_back(link(node_end(0), node_end(1)));
  return topology;
}

Topology star(unsigned nodes) {
  Topology topology = named("star", nodes);
  add_switches(topology, "switch", 1);
  for (unsigned node = 0; node < nodes; ++node) {
    topology.links.push_back(link(node_end(node), switch_end(0, node)));
  }
  return topology;
}

Topology ring(unsigned nodes) {
  constexpr unsigned kNodePort = 0, kNextPort = 1, kPreviousPort = 2;
  Topology topology = named("ring", nodes);
  add_switches(topology, "switch", nodes);
  for (unsigned node = 0; node < nodes; ++node) {
    topology.links.push_back(link(node_end(node), switch_end(node, kNodePort)));
  }
  for (unsigned i = 0; i < (nodes == 2 ? 1 : nodes); ++i) {
    topology.links.push_back(
        link(switch_end(i, kNextPort), switch_end((i + 1) % nodes, kPreviousPort)));
  }
  return topology;
}

// Switches 0 and 1 are the spines.
Topology two_levels(unsigned nodes) {
  Topology topology = named("two-levels", nodes);
  const unsigned leaves = (nodes + kNodesOfALeaf - 1) / kNodesOfALeaf;
  add_switches(topology, "spine", kSpines);
  add_switches(topology, "leaf", leaves);
  for (unsigned node = 0; node < nodes; ++node) {
    const unsigned leaf = kSpines + node / kNodesOfALeaf;
    topology.links.push_back(link(node_end(node), switch_end(leaf, node % kNodesOfALeaf)));
  }
  for (unsigned leaf = 0; leaf < leaves; ++leaf) {
    for (unsigned spine = 0; spine < kSpines; ++spine) {
      topology.links.push_back(
          link(switch_end(kSpines + leaf, kNodesOfALeaf + spine), switch_end(spine, leaf)));
    }
  }
  return topology;
}

Topology load_topology(const std::string& text, unsigned nodes) {
  const bool is_path =
      text.find('/') != std::string::npos || std::filesystem::path(text).extension() == kFile;
  if (is_path) {
    const std::string where = "topology " + text;
    return parse_topology(read_data_file(text, where, "check the path"), where);
  }
  const size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  if (colon != std::string::npos) nodes = parse_count(text, text.substr(colon + 1));
  const auto* builtin = std::find_if(std::begin(kBuiltins), std::end(kBuiltins),
                                     [&](const Builtin& item) { return item.name == name; });
  if (builtin == std::end(kBuiltins)) {
    throw DataFileError(fmt::format("no topology '{}'; take one of {}or the path of a {} file",
                                    name, names_of_builtins(), kFile));
  }
  if (nodes < builtin->least_nodes || nodes > builtin->most_nodes) {
    throw DataFileError(fmt::format("topology {}: {} nodes; it has {} to {}", name, nodes,
                                    builtin->least_nodes, builtin->most_nodes));
  }
  return builtin->build(nodes);
}

}  // namespace exrnic
