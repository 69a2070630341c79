// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXRNIC_LIBVERBS_MR_H
#define EXRNIC_LIBVERBS_MR_H

#include <cstdint>

#include "exrnic/verbs.h"

struct vl_mr {
  vl_pd* pd;
  uint32_t stag;
  bool lost = false;  // the device has cut it off
};

#endif  // EXRNIC_LIBVERBS_MR_H
