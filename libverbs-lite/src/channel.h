// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXRNIC_LIBVERBS_CHANNEL_H
#define EXRNIC_LIBVERBS_CHANNEL_H

#include "exrnic/verbs.h"

struct vl_comp_channel {
  vl_rnic* rnic;
  int fd;         // the transport's
  int users = 0;  // completion queues; guarded by rnic->control
};

#endif  // EXRNIC_LIBVERBS_CHANNEL_H
