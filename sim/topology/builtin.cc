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

// The spines come first.
Topology leaves_and_spines(Topology topology, unsigned of_a_leaf, unsigned spines) {
  const unsigned leaves = (topology.nodes + of_a_leaf - 1) / of_a_leaf;
  add_switches(topology, "spine", spines);
  add_switches(topology, "leaf", leaves);
  for (unsigned node = 0; node < topology.nodes; ++node) {
    const unsigned leaf = spines + node / of_a_leaf;
    topology.links.push_back(link(node_end(node), switch_end(leaf, node % of_a_leaf)));
  }
  for (unsigned leaf = 0; leaf < leaves; ++leaf) {
    for (unsigned spine = 0; spine < spines; ++spine) {
      topology.links.push_back(
          link(switch_end(spines + leaf, of_a_leaf + spine), switch_end(spine, leaf)));
    }
  }
  return topology;
}

// With a number behind the name.
struct Builtin {
  const char* name;
  const char* what;  // the number counts
  unsigned least;
  unsigned most;
  Topology (*build)(unsigned number);
};

constexpr char kNodes[] = "nodes";

const Builtin kBuiltins[] = {
    {"back-to-back", kNodes, 2, 2, [](unsigned) { return back_to_back(); }},
    {"star", kNodes, 1, kMostPorts, star},
    {"ring", kNodes, 2, kMostNodes, ring},
    {"two-levels", kNodes, 1, kMostNodes, two_levels},
    {"leaf-spine", kNodes, 1, kMostNodes, leaf_spine},
    {"fat-tree", "ports of a switch, an even number", 2, 24, fat_tree},
    {"dragonfly", "nodes of a switch", 1, 5, dragonfly},
};

constexpr char kTorus[] = "torus";

std::string names_of_builtins() {
  std::string names;
  for (const Builtin& builtin : kBuiltins) names += fmt::format("{}, ", builtin.name);
  return names + kTorus + ", ";
}

std::optional<unsigned> parse_count(const std::string& text) {
  const bool digits = !text.empty() && text.size() <= 4 &&
                      text.find_first_not_of("0123456789") == std::string::npos;
  if (!digits) return std::nullopt;
  return static_cast<unsigned>(std::stoul(text));
}

// `sizes`: "4x4", "8x8x8".
Topology parse_torus(const std::string& text, const std::string& sizes) {
  std::vector<unsigned> parsed;
  uint64_t nodes = 1;
  for (size_t from = 0; from <= sizes.size();) {
    const size_t end = std::min(sizes.find('x', from), sizes.size());
    parsed.push_back(parse_count(sizes.substr(from, end - from)).value_or(0));
    nodes *= parsed.back();
    from = end + 1;
  }
  const bool too_short =
      std::any_of(parsed.begin(), parsed.end(), [](unsigned n) { return n < 2; });
  if (too_short || parsed.size() < 2 || parsed.size() > 3 || nodes > kMostNodes) {
    throw DataFileError(
        fmt::format("topology {}: write {}:AxB or {}:AxBxC, each 2 or more, all "
                    "together at most {} nodes",
                    text, kTorus, kTorus, kMostNodes));
  }
  return torus(parsed);
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
  return leaves_and_spines(named("two-levels", nodes), kNodesOfALeaf, kSpines);
}

// Switches 0 to 15 are the spines.
Topology leaf_spine(unsigned nodes) {
  constexpr unsigned kOfALeaf = 32, kSpinesOfAll = 16;
  return leaves_and_spines(named("leaf-spine", nodes), kOfALeaf, kSpinesOfAll);
}

// Edges, then what joins those of a pod (aggregation), then cores. Of the ports of an edge or an
// aggregation switch the first half leads down. An aggregation switch chooses by other digits of a
// node's number than the edge below it, so that all cores have their share.
Topology fat_tree(unsigned ports) {
  const unsigned half = ports / 2, pods = ports;
  Topology topology = named("fat-tree", pods * half * half);
  add_switches(topology, "edge", pods * half);
  add_switches(topology, "aggregation", pods * half);
  add_switches(topology, "core", half * half);
  const unsigned first_aggregation = pods * half, first_core = 2 * pods * half;
  for (unsigned i = 0; i < pods * half; ++i) topology.switches[first_aggregation + i].spread = half;
  for (unsigned node = 0; node < topology.nodes; ++node)
    topology.links.push_back(link(node_end(node), switch_end(node / half, node % half)));
  for (unsigned pod = 0; pod < pods; ++pod) {
    for (unsigned i = 0; i < half; ++i) {
      const unsigned aggregation = first_aggregation + pod * half + i;
      for (unsigned edge = 0; edge < half; ++edge)
        topology.links.push_back(
            link(switch_end(pod * half + edge, half + i), switch_end(aggregation, edge)));
      for (unsigned up = 0; up < half; ++up)
        topology.links.push_back(
            link(switch_end(aggregation, half + up), switch_end(first_core + i * half + up, pod)));
    }
  }
  return topology;
}

// Ports of a switch: those of its nodes, then of the others of its group, then of other groups.
Topology dragonfly(unsigned nodes) {
  const unsigned of_a_group = 2 * nodes, out = nodes, groups = of_a_group * out + 1;
  Topology topology = named("dragonfly", nodes * of_a_group * groups);
  add_switches(topology, "switch", of_a_group * groups);
  for (unsigned node = 0; node < topology.nodes; ++node)
    topology.links.push_back(link(node_end(node), switch_end(node / nodes, node % nodes)));
  const unsigned first_out = nodes + of_a_group - 1;
  for (unsigned group = 0; group < groups; ++group) {
    const unsigned first = group * of_a_group;
    for (unsigned a = 0; a < of_a_group; ++a) {
      for (unsigned b = a + 1; b < of_a_group; ++b)
        topology.links.push_back(
            link(switch_end(first + a, nodes + b - 1), switch_end(first + b, nodes + a)));
    }
    // A group's line i leads to the group i + 1 behind it, and is that one's last but i.
    for (unsigned i = 0; i < of_a_group * out && group + i + 1 < groups; ++i) {
      const unsigned there = of_a_group * out - 1 - i;
      topology.links.push_back(
          link(switch_end(first + i / out, first_out + i % out),
               switch_end((group + i + 1) * of_a_group + there / out, first_out + there % out)));
    }
  }
  return topology;
}

// Port 0 is the node's; of ring i, 1 + 2 i leads to the next switch, 2 + 2 i to the one before.
Topology torus(const std::vector<unsigned>& sizes) {
  unsigned nodes = 1;
  for (const unsigned size : sizes) nodes *= size;
  Topology topology = named("torus", nodes);
  add_switches(topology, "switch", nodes);
  for (unsigned node = 0; node < nodes; ++node)
    topology.links.push_back(link(node_end(node), switch_end(node, 0)));
  unsigned step = 1;
  for (unsigned i = 0; i < sizes.size(); step *= sizes[i++]) {
    for (unsigned at = 0; at < nodes; ++at) {
      const unsigned place = at / step % sizes[i];
      if (sizes[i] == 2 && place == 1) continue;  // a ring of two is one link
      const unsigned next = at - place * step + (place + 1) % sizes[i] * step;
      topology.links.push_back(link(switch_end(at, 1 + 2 * i), switch_end(next, 2 + 2 * i)));
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
  const std::string number = colon == std::string::npos ? "" : text.substr(colon + 1);
  if (name == kTorus) return parse_torus(text, number);
  const auto* builtin = std::find_if(std::begin(kBuiltins), std::end(kBuiltins),
                                     [&](const Builtin& item) { return item.name == name; });
  if (builtin == std::end(kBuiltins)) {
    throw DataFileError(fmt::format("no topology '{}'; take one of {}or the path of a {} file",
                                    name, names_of_builtins(), kFile));
  }
  if (colon != std::string::npos || builtin->what != kNodes || nodes == 0) {
    if (number.empty()) {
      throw DataFileError(fmt::format("topology {}: write {}:N; N, from {} to {}, counts {}", text,
                                      name, builtin->least, builtin->most, builtin->what));
    }
    const std::optional<unsigned> parsed = parse_count(number);
    if (!parsed) {
      throw DataFileError(fmt::format("topology {}: '{}' is no number of {}; write {}:N", text,
                                      number, builtin->what, name));
    }
    nodes = *parsed;
  }
  const bool odd = builtin->build == fat_tree && nodes % 2 != 0;
  if (nodes < builtin->least || nodes > builtin->most || odd) {
    throw DataFileError(fmt::format("topology {}: {} {}; it has {} to {}", name, nodes,
                                    builtin->what, builtin->least, builtin->most));
  }
  return builtin->build(nodes);
}

}  // namespace exrnic
