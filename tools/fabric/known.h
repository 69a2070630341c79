// SPDX-License-Identifier: BSD-2-Clause
// What switches are known to have, and what of it has to change. A block that is not there is
// empty.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "tools/fabric/frames.h"

namespace exrnic::fabric {

struct KnownSwitch {
  bool complete = false;  // else it may have more than is said here
  std::map<uint32_t, RoutesBlock> routes;
  std::map<uint32_t, Data> floods;
  std::set<uint32_t> unsure_routes;  // blocks whose writing has not been answered
  std::set<uint32_t> unsure_floods;
};

using Known = std::map<uint64_t, KnownSwitch>;  // by GUID

}  // namespace exrnic::fabric
