// SPDX-License-Identifier: BSD-2-Clause
// What each switch is to know: a port for each number, and where frames to groups go.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "tools/fabric/frames.h"
#include "tools/fabric/net.h"
#include "tools/fabric/ways.h"

namespace exrnic::fabric {

struct SwitchPlan {
  std::map<uint32_t, RoutesBlock> routes;  // blocks that lead somewhere
  std::map<uint32_t, Data> floods;         // likewise
  std::set<uint16_t> up;                   // ports to higher switches
  uint32_t rank = 0;
};

struct RoutesPlan {
  std::map<uint64_t, SwitchPlan> switches;  // by GUID
  bool up_down = false;                     // lines have credits: frames go up, then down
};

// The same for the same fabric, whoever asks. Shortest ways; with credits anywhere, ways that
// cannot deadlock. Where several ports lead on, each gets as much: counted are the nodes whose
// frames come by, then destinations.
RoutesPlan plan_routes(const Net& net);

// Of each switch: the ports of one tree that reaches all nodes, and those of its nodes. With ranks
// frames on it go up and then down, as all others; if there is no such tree all are empty.
std::vector<std::vector<uint16_t>> flood_ports(const Net& net, const Ranks& ranks, bool up_down);

}  // namespace exrnic::fabric
