// SPDX-License-Identifier: BSD-2-Clause
// How large the tables of a reference core are.
#pragma once

#include <cstdint>

#include "exrnic_records.h"

namespace exrnic {

// If nothing else is said, as those of the RTL of this build (rtl-model/spec/blocks/types.yaml).
struct RefSizes {
  uint32_t qps = records::kNQp;
  uint32_t cqs = records::kNCq;
  uint32_t srqs = records::kNSrq;
  uint32_t stags = records::kNStag;
  uint32_t reads = records::kNReads;
  uint32_t windows = records::kNWindow;
  uint32_t nodes = records::kNNode;
};

}  // namespace exrnic
