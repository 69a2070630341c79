// SPDX-License-Identifier: BSD-2-Clause
// What of switches has to change, and in which order.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/fabric/known.h"
#include "tools/fabric/map.h"
#include "tools/fabric/routes.h"

namespace exrnic::fabric {

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
