// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXRNIC_LIBVERBS_CQ_H
#define EXRNIC_LIBVERBS_CQ_H

#include <cstdint>

#include "exrnic/verbs.h"
#include "exrnic_hw.h"
#include "ring_memory.h"
#include "spin_lock.h"
#include "transport/transport.h"

struct vl_cq {
  vl_cq(vl_rnic* owner, const vl_cq_init_attr& attr, uint32_t ring_entries)
      : rnic(owner),
        channel(attr.channel),
        context(attr.context),
        entries(ring_entries),
        memory(ring_entries * sizeof(exrnic_cqe)) {}

  // The CQE at a free-running index, if the device has written it; else null.
  const exrnic_cqe* At(uint32_t index) const;
  // Moves one that it has written to the place of another.
  void Move(uint32_t from, uint32_t to);

  vl_rnic* const rnic;
  vl_comp_channel* const channel;  // or null
  void* const context;             // the caller's
  const uint32_t entries;          // of the ring; a power of two
  exrnic::RingMemory memory;
  uint32_t cqn = 0;
  uint64_t cookie = 0;  // in rnic->events
  int users = 0;        // queue pairs; guarded by rnic->control

  exrnic::SpinLock lock;  // guards what follows, and the entries that the device has written
  uint32_t consumer = 0;  // CQEs taken, modulo 2^32
  uint32_t reported = 0;  // CQEs that the device knows to be taken

 private:
  exrnic_cqe* Entry(uint32_t index) const {
    return static_cast<exrnic_cqe*>(memory.data()) + (index & (entries - 1));
  }
  uint8_t Phase(uint32_t index) const { return (index / entries + 1) & 1; }
};

namespace exrnic {

// Tells the device of all that was taken. doorbell: EXRNIC_DOORBELL_CQ*. Under cq->lock.
void ReportTaken(vl_cq* cq, uint32_t doorbell);

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_CQ_H
