// SPDX-License-Identifier: BSD-2-Clause
// Routes through a topology, and whether frames can travel on them for ever or not at all.
#pragma once

#include <vector>

#include "sim/ethernet/port_table.h"
#include "sim/topology/topology.h"

namespace exrnic {

// Every route is a shortest one. Where several ports lead on, the one for node d is the
// (d / spread) mod n th of them, by number, with the switch's own `spread`, which is 1 where no
// other level of switches has chosen before: the load of a level is spread, every frame between two
// nodes has the same way, and the result is the same each time.
struct Routes {
  // [switch]: by a node's identifier, the port that leads there. Equal blocks are one.
  std::vector<PortTable> ports;
  std::vector<std::vector<unsigned>> tree_ports;  // [switch]: those of one tree that spans all

  // Links between two nodes, both of which they lead to.
  unsigned hops(const Topology& topology, unsigned from, unsigned to) const;
};

// Throws DataFileError if a node or switch cannot be reached from node 0, or if a node has no link.
// One node alone is its own network.
Routes compute_routes(const Topology& topology);

// On lines with credits a frame waits in a buffer until the next has room. If the waits can close a
// circle, all of its frames may wait for each other for ever: throws DataFileError with one such
// circle (Dally and Seitz, 1987: a network is free of deadlock if its channels' dependencies have
// no cycle). Without credits a full queue drops and nobody waits: every topology is accepted, and
// as routes get shorter with each step and groups are reached over a tree, no frame circulates.
void refuse_deadlock(const Topology& topology, const Routes& routes);

// Both.
Routes usable_routes(const Topology& topology, bool credits);

// Throws where usable_routes() does. Without credits it needs no routes to know.
void refuse_unusable(const Topology& topology, bool credits);

}  // namespace exrnic
