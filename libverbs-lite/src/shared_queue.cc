// SPDX-License-Identifier: BSD-2-Clause
#include "shared_queue.h"

#include <new>

namespace exrnic {

SharedQueue::SharedQueue(uint32_t slots)
    : SlotRing(slots, EXRNIC_DOORBELL_SRQ), entries_(new(std::nothrow) Entry[slots]) {}

bool SharedQueue::HasRoom(uint32_t count) const {
  const uint16_t tail = tail_.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < count; ++i) {
    const Entry& entry = entries_[SlotOf(static_cast<uint16_t>(tail + i))];
    // Acquire: the slot and its wr_id may be overwritten from here on.
    if (entry.busy.load(std::memory_order_acquire) != 0) return false;
  }
  return true;
}

void SharedQueue::Put(const Wqe& wqe, uint32_t count, uint64_t wr_id) {
  const uint16_t tail = tail_.load(std::memory_order_relaxed);
  Write(tail, wqe, count);
  for (uint32_t i = 0; i + 1 < count; ++i) {
    entries_[SlotOf(static_cast<uint16_t>(tail + i))].busy.store(kBefore,
                                                                 std::memory_order_relaxed);
  }
  const uint16_t index = static_cast<uint16_t>(tail + count - 1);
  Entry& last = entries_[SlotOf(index)];
  last.wr_id = wr_id;
  last.index = index;
  // Release: who polls the completion of this receive finds its wr_id.
  last.busy.store(static_cast<uint8_t>(count), std::memory_order_release);
  tail_.store(static_cast<uint16_t>(tail + count), std::memory_order_relaxed);
}

// The last slot of the receive that a slot belongs to.
uint16_t SharedQueue::LastOf(uint16_t index) const {
  for (uint32_t i = 1; i < EXRNIC_WQE_SLOTS_MAX; ++i) {
    if (entries_[SlotOf(index)].busy.load(std::memory_order_acquire) != kBefore) break;
    ++index;
  }
  return index;
}

bool SharedQueue::Complete(uint32_t wqe_index, uint64_t* wr_id) {
  const uint16_t index = LastOf(static_cast<uint16_t>(wqe_index));
  const Entry& last = entries_[SlotOf(index)];
  const uint8_t count = last.busy.load(std::memory_order_acquire);
  if (count == 0 || count == kBefore || last.index != index) return false;
  if (wqe_index > UINT16_MAX || static_cast<uint16_t>(index - wqe_index) >= count) return false;
  *wr_id = last.wr_id;
  for (uint32_t i = 0; i < count; ++i) {
    entries_[SlotOf(static_cast<uint16_t>(index - i))].busy.store(0, std::memory_order_release);
  }
  return true;
}

}  // namespace exrnic
