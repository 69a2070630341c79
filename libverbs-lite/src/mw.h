// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXRNIC_LIBVERBS_MW_H
#define EXRNIC_LIBVERBS_MW_H

#include <cstdint>

#include "exrnic/verbs.h"
#include "pd.h"

struct vl_mw {
  vl_pd* const pd;
  uint32_t stag;  // as it was allocated
};

#endif  // EXRNIC_LIBVERBS_MW_H
