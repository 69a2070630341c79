// SPDX-License-Identifier: BSD-2-Clause
// Work requests and receives as a test states them, and as they stand in a ring.
#pragma once

#include <cstdint>
#include <vector>

#include "exrnic_hw.h"
#include "rtl-model/systemc/core.h"

namespace exrnic::testing {

struct Work {
  uint8_t opcode = EXRNIC_WQE_OPCODE_SEND;
  uint8_t flags = EXRNIC_WQE_FLAGS_SIGNALED;
  std::vector<exrnic_sge> elements;
  Bytes inline_data = {};  // with WQE_FLAGS_INLINE
  uint32_t imm_data = 0;
  uint32_t remote_stag = 0;
  uint64_t remote_to = 0;
  uint64_t atomic_data = 0;     // of an atomic: what is added or swapped in,
  uint64_t atomic_compare = 0;  // and what is compared with
};

// A receive with these elements.
Work receive_into(std::vector<exrnic_sge> elements);

// The bytes of its slots; whatever the elements or inline data do not fill is zero. A test of
// hostile work changes them.
Bytes slots_of(const Work& work);

// The first slot of such bytes.
exrnic_wqe first_slot(const Bytes& slots);
void set_first_slot(Bytes& slots, const exrnic_wqe& wqe);

}  // namespace exrnic::testing
