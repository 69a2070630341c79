// SPDX-License-Identifier: BSD-2-Clause
// Fabrics to try a manager on. GUIDs are in no order that means anything.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/fabric/testing/fake_fabric.h"

namespace exrnic::fabric::testing {

struct Built {
  std::vector<int> nodes;
  std::vector<int> switches;
};

uint64_t node_guid(unsigned index);
uint64_t switch_guid(unsigned index);

Built star(FakeFabric& fabric, unsigned nodes);
// A switch for each node: port 0 is the node's, 1 leads to the next one, 2 to the one before.
Built ring(FakeFabric& fabric, unsigned nodes);
// The spines first. Ports of a leaf: its nodes', then one to each spine.
Built leaf_spine(FakeFabric& fabric, unsigned nodes, unsigned of_a_leaf, unsigned spines);
// Edges, then aggregation, then cores, with `ports` ports each.
Built fat_tree(FakeFabric& fabric, unsigned ports);
Built torus(FakeFabric& fabric, const std::vector<unsigned>& sizes);
// `nodes` at a switch, 2 * nodes switches in a group, one line between each two groups.
Built dragonfly(FakeFabric& fabric, unsigned nodes);
// A line of switches, a node at each end.
Built chain(FakeFabric& fabric, unsigned switches);
// Connected, with lines more than it needs.
Built random_fabric(FakeFabric& fabric, uint64_t seed);

}  // namespace exrnic::fabric::testing
