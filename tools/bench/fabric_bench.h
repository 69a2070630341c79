// SPDX-License-Identifier: BSD-2-Clause
// What a fabric's manager needs, in simulated time, by the registers of node 0. On the RTL, but for
// networks with more nodes than it can talk to.
#pragma once

#include <string>

#include "tools/bench/results.h"

namespace exrnic::bench {

// fm.discover_ms: from the first request until all nodes have numbers and all switches routes.
// fm.reroute_ms: from the cut of a line between two switches until the routes around it are
// written, by the trap that tells of it. Keys: profile, topology, nodes, switches.
void measure_fabric(const std::string& profile, const std::string& topology, Results& results);

}  // namespace exrnic::bench
