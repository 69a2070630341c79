// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXRNIC_LIBVERBS_WORK_QUEUE_H
#define EXRNIC_LIBVERBS_WORK_QUEUE_H

#include <atomic>
#include <cstdint>
#include <memory>

#include "ring_memory.h"
#include "spin_lock.h"
#include "transport.h"

namespace exrnic {

// A send or a receive queue: a ring of WQE slots that the device reads, and the wr_id of each slot.
//
// Two sides use it. Posting (Put, Ring) is under lock(). Completing (Complete) is under the lock of
// the completion queue; it only moves the head, which posting only reads.
//
// Indices run freely modulo 2^16 as the device's do; a slot is the index modulo the size.
class WorkQueue {
 public:
  // slots: a power of two. doorbell: EXRNIC_DOORBELL_SQ or EXRNIC_DOORBELL_RQ.
  WorkQueue(uint32_t slots, uint32_t doorbell);

  bool allocated() const { return memory_.data() != nullptr && wr_ids_ != nullptr; }
  void* ring() const { return memory_.data(); }
  uint32_t slots() const { return slots_; }
  SpinLock& lock() { return lock_; }

  bool Full() const { return Outstanding(tail_.load(std::memory_order_relaxed)) >= slots_; }

  // Writes a WQE into the next slot. Not full. The device does not look before the doorbell.
  void Put(const exrnic_wqe& wqe, uint64_t wr_id);

  // Tells the device of all that was put.
  void RingDoorbell(volatile void* user_page, uint32_t qpn) const;

  // The device has ended the WQE at wqe_index and all before it: gives their slots back. False: no
  // such WQE is outstanding.
  bool Complete(uint32_t wqe_index, uint64_t* wr_id);

  // Forgets everything: the queue pair has gone to RESET, where the device's indices start at 0.
  void Reset();

 private:
  uint16_t Outstanding(uint16_t tail) const {
    return static_cast<uint16_t>(tail - head_.load(std::memory_order_acquire));
  }

  const uint32_t slots_;
  const uint32_t doorbell_;
  RingMemory memory_;
  std::unique_ptr<uint64_t[]> wr_ids_;
  SpinLock lock_;
  std::atomic<uint16_t> tail_{0};  // next slot to post
  std::atomic<uint16_t> head_{0};  // oldest slot not known to have ended
};

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_WORK_QUEUE_H
