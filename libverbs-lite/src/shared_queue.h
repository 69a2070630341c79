// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXRNIC_LIBVERBS_SHARED_QUEUE_H
#define EXRNIC_LIBVERBS_SHARED_QUEUE_H

#include <cstdint>
#include <memory>
#include <new>

#include "slot_ring.h"

namespace exrnic {

// The ring of a shared receive queue. Posting (HasRoom, Put, RingDoorbell) is under lock();
// Complete is under no lock.
class SharedQueue : public SlotRing<exrnic_shared_queue> {
 public:
  explicit SharedQueue(uint32_t slots)
      : SlotRing(slots, EXRNIC_DOORBELL_SRQ),
        wr_ids_(new(std::nothrow) uint64_t[EXRNIC_SHARED_INDICES]),
        busy_(new(std::nothrow) uint8_t[EXRNIC_SHARED_INDICES]()) {
    queue_.wr_ids = wr_ids_.get();
    queue_.busy = busy_.get();
  }

  exrnic_shared_queue* get() { return &queue_; }
  bool allocated() const { return ring() != nullptr && wr_ids_ != nullptr && busy_ != nullptr; }

  bool HasRoom(uint32_t count) const { return exrnic_shared_queue_has_room(&queue_, count); }
  void Put(const exrnic_work& work, uint32_t count, uint64_t wr_id) {
    exrnic_shared_queue_put(&queue_, &work, count, wr_id);
  }
  bool Complete(uint32_t wqe_index, uint64_t* wr_id) {
    return exrnic_shared_queue_complete(&queue_, wqe_index, wr_id);
  }

 private:
  const std::unique_ptr<uint64_t[]> wr_ids_;
  const std::unique_ptr<uint8_t[]> busy_;
};

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_SHARED_QUEUE_H
