// SPDX-License-Identifier: BSD-2-Clause
// Between the nanoseconds of the guests' clocks and simulated time.
#pragma once

#include <cstdint>

#include "rtl-model/systemc/scheduler.h"
#include "sim/pcie/pcie_link.h"
#include "sim/time_sync/guest_clocks.h"

namespace exrnic {

// A clock is written by others: whatever it says.
inline SimTime picoseconds(uint64_t ns) {
  constexpr SimTime kLast = ~SimTime{0};
  return ns > kLast / kPsPerNs ? kLast : ns * kPsPerNs;
}

inline uint64_t nanoseconds_up(SimTime ps) {
  return ps == PcieLink::kNoTouch ? GuestClocks::kNever : (ps + kPsPerNs - 1) / kPsPerNs;
}

}  // namespace exrnic
