// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXRNIC_LIBVERBS_CQ_H
#define EXRNIC_LIBVERBS_CQ_H

#include <cstdint>

#include "exrnic/verbs.h"
#include "exrnic_data_path.h"
#include "ring_memory.h"
#include "spin_lock.h"

struct vl_cq {
  vl_cq(vl_rnic* owner, const vl_cq_init_attr& attr, uint32_t ring_entries)
      : rnic(owner),
        channel(attr.channel),
        context(attr.context),
        memory(ring_entries * sizeof(exrnic_cqe)),
        ring{static_cast<exrnic_cqe*>(memory.data()), ring_entries, 0, 0, 0},
        smallest_ring(ring_entries) {}

  // Tells the device of what was taken, if that is due. Under `lock`.
  void ReportIfDue();

  vl_rnic* const rnic;
  vl_comp_channel* const channel;  // or null
  void* const context;             // the caller's
  exrnic::RingMemory memory;
  uint64_t cookie = 0;  // in rnic->events
  int users = 0;        // queue pairs; guarded by rnic->control

  exrnic::SpinLock lock;  // guards what follows, and the entries that the device has written
  exrnic_cq_ring ring;
  uint32_t smallest_ring;  // entries; of this one, and of one that it is to get
};

#endif  // EXRNIC_LIBVERBS_CQ_H
