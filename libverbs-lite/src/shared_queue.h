// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXRNIC_LIBVERBS_SHARED_QUEUE_H
#define EXRNIC_LIBVERBS_SHARED_QUEUE_H

#include <atomic>
#include <cstdint>
#include <memory>

#include "slot_ring.h"

namespace exrnic {

// The ring of a shared receive queue: its receives end in any order, and on several completion
// queues at once. The device may read the slots of a receive until it ends, so each slot tells for
// itself whether it is free; posting goes on in turn, and waits for the slot that is next.
//
// Posting (HasRoom, Put, RingDoorbell) is under lock(); Complete is under no lock.
class SharedQueue : public SlotRing {
 public:
  explicit SharedQueue(uint32_t slots);

  bool allocated() const { return ring() != nullptr && entries_ != nullptr; }

  bool HasRoom(uint32_t count) const;

  // As WorkQueue::Put.
  void Put(const Wqe& wqe, uint32_t count, uint64_t wr_id);

  // The receive whose last slot is wqe_index has ended: gives its slots back. One that the device
  // could not read ends by its first slot. False: no such receive is outstanding.
  bool Complete(uint32_t wqe_index, uint64_t* wr_id);

 private:
  struct Entry {
    uint64_t wr_id;
    uint16_t index;
    // Slots of the receive whose last one this is; kBefore: one of its others; 0: free.
    std::atomic<uint8_t> busy{0};
  };
  static constexpr uint8_t kBefore = 0xff;

  uint16_t LastOf(uint16_t index) const;

  std::unique_ptr<Entry[]> entries_;  // by slot
};

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_SHARED_QUEUE_H
