// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXRNIC_LIBVERBS_MR_H
#define EXRNIC_LIBVERBS_MR_H

#include <atomic>
#include <cstdint>

#include "exrnic/verbs.h"
#include "pd.h"

namespace exrnic {

// VL_ACCESS_* as the device has them.
uint32_t DeviceAccess(int access);

}  // namespace exrnic

struct vl_mr {
  explicit vl_mr(vl_pd* domain) : rnic(domain->rnic), pd(domain) {}

  vl_rnic* const rnic;
  std::atomic<uint32_t> stag{0};
  // Under the RNIC's lock `control`.
  vl_pd* pd;
  bool lost = false;  // the device has cut it off
};

#endif  // EXRNIC_LIBVERBS_MR_H
