// SPDX-License-Identifier: BSD-2-Clause
// How people name links: by their two ends, "node0-node1", "node2-switch0.2". A node's number does
// for the node, a switch's name for its port where no other port of it would fit: "2-switch0".
#pragma once

#include <set>
#include <string>
#include <vector>

#include "sim/topology/topology.h"

namespace exrnic {

std::string name_of(const Topology& topology, const TopologyLink& link);

// Throws DataFileError with one line that says what is there instead.
const TopologyLink& link_named(const Topology& topology, const std::string& name);

// `name` as an end of `link`: 0 or 1. Throws DataFileError.
unsigned end_of(const Topology& topology, const TopologyLink& link, const std::string& name);

// Throws DataFileError when a group has a node that is not there, or one of another group.
void check_partition(const Topology& topology, const std::vector<std::set<unsigned>>& groups);

}  // namespace exrnic
