// SPDX-License-Identifier: BSD-2-Clause
// Which process (rank) simulates which nodes and switches of a topology.
#pragma once

#include <string>
#include <vector>

#include "sim/topology/topology.h"

namespace exrnic {

struct Partition {
  unsigned ranks = 1;
  std::vector<unsigned> nodes;     // the rank of each
  std::vector<unsigned> switches;  // likewise

  unsigned rank_of(const LinkEnd& end) const {
    return end.at_switch ? switches.at(end.index) : nodes.at(end.index);
  }
};

// Whole switches with their nodes, in the order of the nodes, about as many nodes for each rank.
// Where a switch has more nodes than that, they are cut from it. A switch without nodes is where
// most of its neighbours are.
Partition auto_partition(const Topology& topology, unsigned ranks);

constexpr const char* kAutoPartition = "auto";

// That, or the path of a .json file:
//   {"nodes": [[0, 1], [2, 3]], "switches": {"leaf0": 0, "leaf1": 1}}
// has the nodes of each rank, and the rank of each switch. Throws DataFileError if it has another
// number of ranks, or misses or doubles anything.
Partition load_partition(const std::string& text, const Topology& topology, unsigned ranks);

}  // namespace exrnic
