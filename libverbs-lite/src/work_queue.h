// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXRNIC_LIBVERBS_WORK_QUEUE_H
#define EXRNIC_LIBVERBS_WORK_QUEUE_H

#include <atomic>
#include <cstdint>
#include <memory>

#include "slot_ring.h"

namespace exrnic {

// The send or the receive queue of a queue pair: its work ends in order.
//
// Two sides use it. Posting (Put, RingDoorbell) is under lock(). Completing (Complete) is under the
// lock of the completion queue; it only moves the head, which posting only reads.
class WorkQueue : public SlotRing {
 public:
  WorkQueue(uint32_t slots, uint32_t doorbell);

  bool allocated() const { return ring() != nullptr && wr_ids_ != nullptr; }

  bool HasRoom(uint32_t count) const {
    return Outstanding(tail_.load(std::memory_order_relaxed)) + count <= slots();
  }

  // Writes a work request of `count` slots into the next ones. There is room. The device does not
  // look before the doorbell.
  void Put(const Wqe& wqe, uint32_t count, uint64_t wr_id);

  // The device has ended the work request whose last slot is wqe_index, and all before it: gives
  // their slots back. False: no such slot is outstanding.
  bool Complete(uint32_t wqe_index, uint64_t* wr_id);

  // Forgets everything: the queue pair has gone to RESET, where the device's indices start at 0.
  void Reset();

 private:
  uint16_t Outstanding(uint16_t tail) const {
    return static_cast<uint16_t>(tail - head_.load(std::memory_order_acquire));
  }

  std::unique_ptr<uint64_t[]> wr_ids_;  // by slot; of a work request the last one counts
  std::atomic<uint16_t> head_{0};       // oldest slot not known to have ended
};

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_WORK_QUEUE_H
