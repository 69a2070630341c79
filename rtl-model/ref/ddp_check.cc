// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/ddp_check.h"

namespace exrnic::ref {

bool is_tagged(const Bytes& ddp) { return exrnic_ddp_tagged_t(ddp.data()); }

bool is_terminate(const Bytes& ddp) {
  return !is_tagged(ddp) && exrnic_ddp_untagged_opcode(ddp.data()) == EXRNIC_RDMAP_OPCODE_TERMINATE;
}

std::optional<exrnic_term_code> header_error(const Bytes& ddp) {
  const uint8_t* header = ddp.data();
  if (is_tagged(ddp)) {
    if (exrnic_ddp_tagged_dv(header) != EXRNIC_DDP_VERSION) return EXRNIC_TERM_CODE_TAGGED_VERSION;
    if (exrnic_ddp_tagged_rv(header) != EXRNIC_RDMAP_VERSION) return EXRNIC_TERM_CODE_RDMAP_VERSION;
    if (exrnic_ddp_tagged_opcode(header) == EXRNIC_RDMAP_OPCODE_WRITE) return std::nullopt;
    return EXRNIC_TERM_CODE_OPCODE;
  }
  if (exrnic_ddp_untagged_dv(header) != EXRNIC_DDP_VERSION)
    return EXRNIC_TERM_CODE_UNTAGGED_VERSION;
  if (exrnic_ddp_untagged_rv(header) != EXRNIC_RDMAP_VERSION) return EXRNIC_TERM_CODE_RDMAP_VERSION;
  if (exrnic_ddp_untagged_qn(header) > EXRNIC_TERMINATE_QN) return EXRNIC_TERM_CODE_UNTAGGED_QN;
  return EXRNIC_TERM_CODE_OPCODE;
}

}  // namespace exrnic::ref
