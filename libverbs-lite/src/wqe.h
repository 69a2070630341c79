// SPDX-License-Identifier: BSD-2-Clause
// How a work request lies in the slots of a ring.
#ifndef EXRNIC_LIBVERBS_WQE_H
#define EXRNIC_LIBVERBS_WQE_H

#include <cstddef>
#include <cstdint>

#include "exrnic_hw.h"

namespace exrnic {

// A work request: its header, then elements or inline data, through as many slots as they need.
struct Wqe {
  exrnic_wqe head;
  exrnic_sge more[(EXRNIC_WQE_SLOTS_MAX - 1) * EXRNIC_WQE_SLOT_SGES];

  // Where the elements, or the inline data, start.
  uint8_t* payload() {
    return reinterpret_cast<uint8_t*>(this) + offsetof(exrnic_wqe, sge0_address);
  }
};
static_assert(sizeof(Wqe) == EXRNIC_WQE_SLOTS_MAX * sizeof(exrnic_wqe), "whole slots");

// Bytes of elements or inline data that a work request of so many slots has room for.
constexpr uint32_t PayloadRoom(uint32_t slots) {
  return EXRNIC_WQE_SGES * sizeof(exrnic_sge) + (slots - 1) * sizeof(exrnic_wqe);
}

constexpr uint32_t SlotsForBytes(uint32_t bytes) {
  uint32_t slots = 1;
  while (PayloadRoom(slots) < bytes) ++slots;
  return slots;
}
constexpr uint32_t SlotsForElements(uint32_t elements) {
  return SlotsForBytes(elements * static_cast<uint32_t>(sizeof(exrnic_sge)));
}
static_assert(SlotsForElements(EXRNIC_MAX_SGE) == EXRNIC_WQE_SLOTS_MAX, "no more are needed");

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_WQE_H
