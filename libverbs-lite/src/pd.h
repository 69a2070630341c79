// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXRNIC_LIBVERBS_PD_H
#define EXRNIC_LIBVERBS_PD_H

#include <cstdint>

#include "exrnic/verbs.h"

struct vl_pd {
  vl_rnic* rnic;
  uint32_t number;
  int users = 0;  // queue pairs, memory regions, ...; guarded by rnic->control
};

#endif  // EXRNIC_LIBVERBS_PD_H
