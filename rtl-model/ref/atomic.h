// SPDX-License-Identifier: BSD-2-Clause
// What an Atomic Request asks for, and what it makes of the value that it finds (RFC 7306, 5).
#pragma once

#include <cstdint>

#include "exrnic_hw.h"

namespace exrnic::ref {

struct Atomic {
  uint8_t operation = EXRNIC_ATOMIC_OPERATION_FETCH_ADD;
  uint32_t request_id = 0;
  uint32_t stag = 0;
  uint64_t to = 0;
  uint64_t data = 0;
  uint64_t mask = 0;
  uint64_t compare = 0;
  uint64_t compare_mask = 0;

  bool known() const {
    return operation == EXRNIC_ATOMIC_OPERATION_FETCH_ADD ||
           operation == EXRNIC_ATOMIC_OPERATION_COMPARE_SWAP;
  }
};

inline uint64_t result_of(const Atomic& atomic, uint64_t old) {
  if (atomic.operation == EXRNIC_ATOMIC_OPERATION_COMPARE_SWAP) {
    const bool equal = ((old ^ atomic.compare) & atomic.compare_mask) == 0;
    return equal ? (old & ~atomic.mask) | (atomic.data & atomic.mask) : old;
  }
  uint64_t sum = 0;
  bool carry = false;
  for (unsigned bit = 0; bit < 64; ++bit) {
    const unsigned total = (old >> bit & 1) + (atomic.data >> bit & 1) + carry;
    sum |= static_cast<uint64_t>(total & 1) << bit;
    carry = total > 1 && (atomic.mask >> bit & 1) == 0;
  }
  return sum;
}

}  // namespace exrnic::ref
