// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXRNIC_LIBVERBS_WORK_QUEUE_H
#define EXRNIC_LIBVERBS_WORK_QUEUE_H

#include <cstdint>
#include <memory>
#include <new>

#include "slot_ring.h"

namespace exrnic {

// The send or the receive queue of a queue pair. Posting (Put, RingDoorbell) is under lock(),
// completing (Complete) under the lock of the completion queue.
class WorkQueue : public SlotRing<exrnic_work_queue> {
 public:
  WorkQueue(uint32_t slots, uint32_t doorbell)
      : SlotRing(slots, doorbell), wr_ids_(new(std::nothrow) uint64_t[slots]) {
    queue_.wr_ids = wr_ids_.get();
  }

  bool allocated() const { return ring() != nullptr && wr_ids_ != nullptr; }

  bool HasRoom(uint32_t count) const { return exrnic_work_queue_has_room(&queue_, count); }
  void Put(const exrnic_work& work, uint32_t count, uint64_t wr_id) {
    exrnic_work_queue_put(&queue_, &work, count, wr_id);
  }
  // Of one slot.
  void PutSlot(const exrnic_wqe& wqe, uint64_t wr_id) {
    exrnic_work_queue_put_slot(&queue_, &wqe, wr_id);
  }
  bool Complete(uint32_t wqe_index, uint64_t* wr_id) {
    return exrnic_work_queue_complete(&queue_, wqe_index, wr_id);
  }
  void Reset() { exrnic_work_queue_reset(&queue_); }

 private:
  const std::unique_ptr<uint64_t[]> wr_ids_;
};

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_WORK_QUEUE_H
