// SPDX-License-Identifier: BSD-2-Clause
#include "work_queue.h"

#include <new>

namespace exrnic {

WorkQueue::WorkQueue(uint32_t slots, uint32_t doorbell)
    : SlotRing(slots, doorbell), wr_ids_(new(std::nothrow) uint64_t[slots]) {}

void WorkQueue::Put(const Wqe& wqe, uint32_t count, uint64_t wr_id) {
  const uint16_t tail = tail_.load(std::memory_order_relaxed);
  Write(tail, wqe, count);
  // In each slot: one whose ring cannot be read ends with its first slot.
  for (uint32_t i = 0; i < count; ++i) wr_ids_[SlotOf(static_cast<uint16_t>(tail + i))] = wr_id;
  // Release: who polls the completion of this work request finds its wr_id.
  tail_.store(static_cast<uint16_t>(tail + count), std::memory_order_release);
}

bool WorkQueue::Complete(uint32_t wqe_index, uint64_t* wr_id) {
  const uint16_t outstanding = Outstanding(tail_.load(std::memory_order_acquire));
  const uint16_t index = static_cast<uint16_t>(wqe_index);
  const uint16_t position = static_cast<uint16_t>(index - head_.load(std::memory_order_relaxed));
  if (wqe_index != index || position >= outstanding) return false;
  *wr_id = wr_ids_[SlotOf(index)];
  // Release: the slots and the wr_id may be overwritten from here on.
  head_.store(static_cast<uint16_t>(index + 1), std::memory_order_release);
  return true;
}

void WorkQueue::Reset() {
  tail_.store(0, std::memory_order_relaxed);
  head_.store(0, std::memory_order_release);
}

}  // namespace exrnic
