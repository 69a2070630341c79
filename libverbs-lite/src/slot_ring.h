// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXRNIC_LIBVERBS_SLOT_RING_H
#define EXRNIC_LIBVERBS_SLOT_RING_H

#include <atomic>
#include <cstdint>

#include "ring_memory.h"
#include "spin_lock.h"
#include "transport/user_page.h"
#include "wqe.h"

namespace exrnic {

// What all queues of work requests have in common: a ring of WQE slots that the device reads, the
// place where the next one goes, and a doorbell.
//
// Indices run freely modulo 2^16 as the device's do; a slot is the index modulo the size.
class SlotRing {
 public:
  // slots: a power of two. doorbell: EXRNIC_DOORBELL_*.
  SlotRing(uint32_t slots, uint32_t doorbell);

  void* ring() const { return memory_.data(); }
  uint32_t slots() const { return slots_; }
  // Slots posted so far, modulo 2^16.
  uint16_t posted() const { return tail_.load(std::memory_order_relaxed); }
  // Held for all of posting.
  SpinLock& lock() { return lock_; }

  // Tells the device of all that was put. number: of the queue that the doorbell speaks of.
  void RingDoorbell(const UserPage& user_page, uint32_t number) const;

 protected:
  uint32_t SlotOf(uint16_t index) const { return index & (slots_ - 1); }
  // Copies the first `count` slots of a work request to the ring, from index tail on.
  void Write(uint16_t tail, const Wqe& wqe, uint32_t count);

  std::atomic<uint16_t> tail_{0};  // next slot to post

 private:
  const uint32_t slots_;
  const uint32_t doorbell_;
  RingMemory memory_;
  SpinLock lock_;
};

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_SLOT_RING_H
