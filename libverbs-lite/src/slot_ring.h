// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXRNIC_LIBVERBS_SLOT_RING_H
#define EXRNIC_LIBVERBS_SLOT_RING_H

#include <cstdint>

#include "exrnic_data_path.h"
#include "ring_memory.h"
#include "spin_lock.h"
#include "transport/user_page.h"

namespace exrnic {

// What the library adds to a queue of work requests of the data path: the memory of its ring, and
// a lock that is held for all of posting.
template <typename Queue>
class SlotRing {
 public:
  void* ring() const { return queue_.ring.slots; }
  uint32_t slots() const { return queue_.ring.num_slots; }
  // Slots posted so far, modulo 2^16.
  uint16_t posted() const { return exrnic_ring_posted(&queue_.ring); }
  SpinLock& lock() { return lock_; }

  // Tells the device of all that was put. number: of the queue that the doorbell speaks of.
  void RingDoorbell(const UserPage& user_page, uint32_t number) const {
    exrnic_ring_announce(&queue_.ring, user_page.get(), number);
  }

 protected:
  // slots: a power of two. doorbell: EXRNIC_DOORBELL_*.
  SlotRing(uint32_t slots, uint32_t doorbell) : memory_(slots * sizeof(exrnic_wqe)) {
    queue_.ring = {static_cast<exrnic_wqe*>(memory_.data()), slots, doorbell, 0};
  }

  Queue queue_ = {};

 private:
  RingMemory memory_;
  SpinLock lock_;
};

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_SLOT_RING_H
