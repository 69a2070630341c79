// SPDX-License-Identifier: BSD-2-Clause
// Memory windows, and the work requests that bind them (BIND_MW).
#pragma once

#include "tests/support/rnic_driver.h"

namespace exrnic::testing {

constexpr uint32_t kRemoteRights =
    EXRNIC_ACCESS_REMOTE_WRITE | EXRNIC_ACCESS_REMOTE_READ | EXRNIC_ACCESS_REMOTE_ATOMIC;

inline uint32_t create_memory_window(RnicDriver& rnic, uint32_t index, uint32_t pd,
                                     exrnic_region_kind kind = EXRNIC_REGION_KIND_MEMORY_WINDOW) {
  exrnic_mbox_register_mr create{};
  create.stag = index << EXRNIC_STAG_INDEX_SHIFT;
  create.pd = pd;
  create.kind = static_cast<uint16_t>(kind);
  rnic.must(EXRNIC_MBOX_OP_REGISTER_MR, create);
  return create.stag;
}

struct Bind {
  uint32_t stag = 0;  // with its new key
  uint32_t region = 0;
  uint64_t to = 0;
  uint64_t length = 0;
  uint32_t rights = kRemoteRights;
};

inline exrnic_wqe bind_of(const Bind& bind) {
  exrnic_wqe wqe{};
  wqe.opcode = EXRNIC_WQE_OPCODE_BIND_MW;
  wqe.flags = EXRNIC_WQE_FLAGS_SIGNALED;
  wqe.num_slots = 1;
  wqe.imm_data = bind.stag;
  wqe.remote_to = bind.to;
  wqe.remote_stag = bind.rights;
  wqe.sge0_address = bind.length;
  wqe.sge0_stag = bind.region;
  return wqe;
}

}  // namespace exrnic::testing
