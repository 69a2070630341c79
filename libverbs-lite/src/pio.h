// SPDX-License-Identifier: BSD-2-Clause
// Sends by PIO: a work request of one slot goes to the device whole, by the processor's own stores
// into the user page, and the device need not read it from the ring.
#ifndef EXRNIC_LIBVERBS_PIO_H
#define EXRNIC_LIBVERBS_PIO_H

#include <cstdint>

#include "exrnic_data_path.h"
#include "spin_lock.h"
#include "transport/user_page.h"
#include "work_queue.h"

namespace exrnic {

// The PIO blocks of a user page. Of a page the device takes one block at a time: so one is stored
// under lock(), and nobody waits for it, as a doorbell does as well. The device also forgets what
// there is of a block when a queue pair of the page is created or reset (as when it is destroyed),
// so that is done under it.
class PioBlocks {
 public:
  // Unless the environment says VL_PIO=0.
  PioBlocks();

  // Whether this work request should go this way: one slot, its bytes inline.
  bool Suits(const exrnic_wqe& head) const { return enabled_ && exrnic_suits_block(&head); }

  // Stores the block of a work request that stands in the ring; index: slots posted with it. False:
  // somebody else is storing one; the doorbell is to be rung instead.
  bool TrySend(const UserPage& user_page, const exrnic_wqe& wqe, uint32_t number, uint16_t index);

  // The same of one that is put into the queue of that number first, if nobody else is storing a
  // block. wqe: without number and index, and then with.
  [[gnu::always_inline]] bool TryShort(const UserPage& user_page, exrnic_wqe* wqe, uint32_t number,
                                       WorkQueue* queue, uint64_t wr_id) {
    if (!enabled_ || !lock_.try_lock()) return false;
    queue->PutSlot(*wqe, wr_id);
    wqe->number = number;
    wqe->index = queue->posted();
    exrnic_store_block(user_page.get(), exrnic_next_block(&next_), wqe);
    lock_.unlock();
    return true;
  }

  // Likewise the block of the message channel, which also stands in its work ring.
  bool TryFirmware(const UserPage& user_page, const exrnic_channel_work& work, uint32_t number,
                   uint32_t index);

  SpinLock& lock() { return lock_; }

 private:
  const bool enabled_;
  SpinLock lock_;
  uint32_t next_ = 0;
};

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_PIO_H
