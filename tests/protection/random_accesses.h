// SPDX-License-Identifier: BSD-2-Clause
// Random accesses to a core's regions, judged by the oracle: each is granted or refused as it says,
// and memory holds what it says, to the byte, wherever it is.
#pragma once

#include <array>
#include <string>

#include "tests/protection/access_case.h"

namespace exrnic::testing {

struct AccessTally {
  std::array<uint64_t, kKinds> granted{};
  std::array<uint64_t, kKinds> refused{};
  uint64_t races = 0;          // deregistrations under traffic...
  uint64_t races_granted = 0;  // ...and accesses under way that still were granted
  uint64_t races_refused = 0;
  uint64_t deregistrations = 0;
  uint64_t binds = 0;  // of memory windows,
  uint64_t binds_refused = 0;
  uint64_t by_window = 0;  // accesses that were granted
};

// `accesses` of them with one seed. Empty, or the first finding: what, and which access.
std::string try_random_accesses(const MakeCore& make_core, uint64_t seed, uint64_t accesses,
                                AccessTally& tally);

}  // namespace exrnic::testing
