// SPDX-License-Identifier: BSD-2-Clause
// What switches are known to have, and what of it has to change. A block that is not there is
// empty.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "tools/fabric/frames.h"
#include "tools/fabric/map.h"
#include "tools/fabric/routes.h"

namespace exrnic::fabric {

struct KnownSwitch {
  bool complete = false;  // else it may have more than is said here
  std::map<uint32_t, RoutesBlock> routes;
  std::map<uint32_t, Data> floods;
  std::set<uint32_t> unsure_routes;  // blocks whose writing has not been answered
  std::set<uint32_t> unsure_floods;
};

using Known = std::map<uint64_t, KnownSwitch>;  // by GUID

// A block to write. `urgent`: it takes away what leads nowhere, or could close a circle.
struct BlockWrite {
  uint64_t guid = 0;
  uint32_t block = 0;
  bool floods = false;
  bool urgent = false;
  uint32_t rank = 0;
  RoutesBlock ports{};
  Data bits{};
};

// Urgent ones first, those of the highest switches before others; then the rest, the lowest first:
// so who is to lead up does so before who led down to it, and who is to lead down has a way.
// A port of a tree that is none any more is taken away before another one comes.
std::vector<BlockWrite> writes_for(const Map& map, const RoutesPlan& plan, const Known& known);

}  // namespace exrnic::fabric
