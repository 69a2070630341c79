// SPDX-License-Identifier: BSD-2-Clause
// Old routes and new ones are in a fabric at the same time while the new ones are written.
#pragma once

#include <cstdint>
#include <set>

#include "tools/fabric/known.h"
#include "tools/fabric/map.h"
#include "tools/fabric/routes.h"

namespace exrnic::fabric {

// Numbers to which some mixture of what switches have and of what is planned has a way that goes
// down and then up, in the order of the plan. Without these no mixture can deadlock.
std::set<uint16_t> numbers_that_turn(const Map& map, const RoutesPlan& plan, const Known& known);

}  // namespace exrnic::fabric
