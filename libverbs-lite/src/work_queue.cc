// SPDX-License-Identifier: BSD-2-Clause
#include "work_queue.h"

#include <cstring>
#include <new>

#include "barrier.h"
#include "doorbell.h"

namespace exrnic {

WorkQueue::WorkQueue(uint32_t slots, uint32_t doorbell)
    : slots_(slots),
      doorbell_(doorbell),
      memory_(slots * sizeof(exrnic_wqe)),
      wr_ids_(new(std::nothrow) uint64_t[slots]) {}

void WorkQueue::Put(const exrnic_wqe& wqe, uint64_t wr_id) {
  const uint16_t tail = tail_.load(std::memory_order_relaxed);
  const uint32_t slot = tail & (slots_ - 1);
  memcpy(static_cast<exrnic_wqe*>(memory_.data()) + slot, &wqe, sizeof(wqe));
  wr_ids_[slot] = wr_id;
  // Release: who polls the completion of this slot finds its wr_id.
  tail_.store(static_cast<uint16_t>(tail + 1), std::memory_order_release);
}

void WorkQueue::RingDoorbell(volatile void* user_page, uint32_t qpn) const {
  vl_wmb_wqe_before_doorbell();
  WriteDoorbell(user_page, doorbell_, qpn, tail_.load(std::memory_order_relaxed));
}

bool WorkQueue::Complete(uint32_t wqe_index, uint64_t* wr_id) {
  const uint16_t outstanding = Outstanding(tail_.load(std::memory_order_acquire));
  const uint16_t index = static_cast<uint16_t>(wqe_index);
  const uint16_t position = static_cast<uint16_t>(index - head_.load(std::memory_order_relaxed));
  if (wqe_index != index || position >= outstanding) return false;
  *wr_id = wr_ids_[index & (slots_ - 1)];
  // Release: the slot and its wr_id may be overwritten from here on.
  head_.store(static_cast<uint16_t>(index + 1), std::memory_order_release);
  return true;
}

void WorkQueue::Reset() {
  tail_.store(0, std::memory_order_relaxed);
  head_.store(0, std::memory_order_release);
}

}  // namespace exrnic
