// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXRNIC_LIBVERBS_SRQ_H
#define EXRNIC_LIBVERBS_SRQ_H

#include <cstdint>

#include "exrnic/verbs.h"
#include "queue_shape.h"
#include "shared_queue.h"

struct vl_srq {
  vl_srq(vl_pd* domain, const exrnic::QueueShape& granted)
      : pd(domain), shape(granted), queue(granted.slots) {}

  vl_pd* const pd;
  const exrnic::QueueShape shape;
  exrnic::SharedQueue queue;
  uint32_t number = 0;
  uint64_t cookie = 0;  // in the RNIC's events
  int users = 0;        // queue pairs; guarded by rnic->control
};

#endif  // EXRNIC_LIBVERBS_SRQ_H
