// SPDX-License-Identifier: BSD-2-Clause
// Who is joined to whom: nodes, switches and the links between their ports. A topology comes from a
// JSON file or is one of those that the product knows by name; sim/topology/README.md has both.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/ethernet/faults.h"
#include "sim/files/data_file.h"

namespace exrnic {

// Where a link ends: at a node, which has one port, or at a port of a switch.
struct LinkEnd {
  bool at_switch = false;
  unsigned index = 0;  // of the node, or of the switch
  unsigned port = 0;   // of the switch

  bool operator==(const LinkEnd& other) const {
    return at_switch == other.at_switch && index == other.index && port == other.port;
  }
};

// What is not given is as the profile says.
struct TopologyLink {
  LinkEnd ends[2];
  std::optional<uint64_t> megabits_per_second;
  std::optional<uint32_t> latency_ns;
  std::optional<FaultConfig> faults_towards[2];  // of the line that ends at ends[i]
};

struct TopologySwitch {
  std::string name;
  std::optional<uint32_t> latency_ns;
  std::optional<uint64_t> queue_bytes;
  std::optional<uint64_t> mark_bytes;
  unsigned spread = 1;  // see Routes
};

struct Topology {
  std::string name;
  unsigned nodes = 0;
  std::vector<TopologySwitch> switches;
  std::vector<TopologyLink> links;
  // Node identifiers, one for each node; empty: 0 to nodes - 1, as in all that have a name or a
  // file. Traces know no others.
  std::vector<uint16_t> ids;

  unsigned id_of(unsigned node) const { return ids.empty() ? node : ids.at(node); }

  // "node3"; "leaf0.4" for port 4 of the switch leaf0.
  std::string name_of(const LinkEnd& end) const;

  // Throws DataFileError when no link ends there.
  LinkEnd end_named(const std::string& name) const;
};

constexpr unsigned kMostNodes = 4096;     // in one process; the RTL of this build may have fewer
constexpr unsigned kMostPorts = 4096;     // of a switch
constexpr unsigned kMostSwitches = 4096;  // of a file

// ---- By name. Links and ports are numbered in the order of the nodes.

Topology single_node();
Topology back_to_back();
// One switch.
Topology star(unsigned nodes);
// A switch for each node, joined in a ring. At least two nodes.
Topology ring(unsigned nodes);
// Leaves with up to four nodes each, every leaf joined to both of two spines.
Topology two_levels(unsigned nodes);
// The same with up to 32 nodes of a leaf, and 16 spines.
Topology leaf_spine(unsigned nodes);
// Three levels of switches with `ports` ports each, an even number (Al-Fares et al., 2008).
Topology fat_tree(unsigned ports);
// Groups of switches, all of a group joined to each other, and each group to every other one: with
// `nodes` nodes of a switch as large as it can be in balance (Kim et al., 2008).
Topology dragonfly(unsigned nodes);
// A switch for each node, in as many rings as there are sizes; each is two or more.
Topology torus(const std::vector<unsigned>& sizes);

// `text`: the name of one of these, "NAME:N" for another number of nodes than `nodes`, or what else
// the topology's size is said by (README.md), or the path of a .json file. Throws DataFileError.
Topology load_topology(const std::string& text, unsigned nodes);

// Parses the text of a file; `where` names it in errors. Throws DataFileError.
Topology parse_topology(const std::string& text, const std::string& where);

}  // namespace exrnic
