// SPDX-License-Identifier: BSD-2-Clause
// One look at a fabric, which changes nothing.
#pragma once

#include <cstdint>

#include "tools/fabric/map.h"
#include "tools/fabric/port.h"

namespace exrnic::fabric {

// `key`: of the fabric, or 0. `timeout_ms`: of the first try of a question. Waits by the wall's
// clock. Throws std::runtime_error if the own RNIC does not answer, and what the port throws.
Map look_at_fabric(ManagementPort& port, uint64_t key, double timeout_ms);

}  // namespace exrnic::fabric
