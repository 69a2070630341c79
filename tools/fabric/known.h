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

// A block to write. `urgent`: before those that are not.
struct BlockWrite {
  uint64_t guid = 0;
  uint32_t block = 0;
  bool floods = false;
  bool urgent = false;
  uint32_t rank = 0;
  RoutesBlock ports{};
  Data bits{};
};

// What leads nowhere is mended first, and ports of a tree that is none any more are taken away
// before others come. With credits no moment allows a deadlock: where old ways and new ones could
// wait for each other in a circle, all old ones are taken away before the first new one comes.
// Urgent ones of the highest switches come before others; then the lowest ones.
std::vector<BlockWrite> writes_for(const Map& map, const RoutesPlan& plan, const Known& known);

}  // namespace exrnic::fabric
