// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "exrnic_hw.h"

namespace exrnic::ref {

// The pause of a code, see RNR_TIMER_MAX.
inline uint64_t pause_ns(unsigned code) {
  const unsigned shift = code == 0 ? 16 : code / 2;
  const uint64_t units =
      code < 2 || code % 2 == 0 ? uint64_t{1} << shift : uint64_t{3} << (shift - 1);
  return units * EXRNIC_RNR_UNIT_NS;
}

}  // namespace exrnic::ref
