// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/ddp_check.h"

namespace exrnic::ref {
namespace {

// Messages of an opcode go to one queue (RFC 5040, 4.1; RFC 7306, 6). Of some, one segment is all.
bool is_untagged_message(const Bytes& ddp) {
  const uint8_t* header = ddp.data();
  const auto op = exrnic_of_rdmap_opcode(exrnic_ddp_untagged_opcode(header));
  if (op.message == EXRNIC_MESSAGE_BAD || op.is_tagged) return false;
  if (exrnic_ddp_untagged_qn(header) != op.qn) return false;
  return op.whole == 0 || (exrnic_ddp_untagged_last(header) &&
                           ddp.size() == size_t{EXRNIC_DDP_UNTAGGED_BYTES} + op.whole);
}

}  // namespace

bool is_tagged(const Bytes& ddp) { return exrnic_ddp_tagged_t(ddp.data()); }

bool is_terminate(const Bytes& ddp) {
  return !is_tagged(ddp) && exrnic_ddp_untagged_opcode(ddp.data()) == EXRNIC_RDMAP_OPCODE_TERMINATE;
}

bool is_introduction(const uint8_t* ddp, size_t length) {
  return length == EXRNIC_DDP_TAGGED_BYTES && exrnic_ddp_tagged_t(ddp) &&
         exrnic_ddp_tagged_opcode(ddp) == EXRNIC_RDMAP_OPCODE_WRITE &&
         exrnic_ddp_tagged_stag(ddp) == EXRNIC_INTRODUCTION_STAG;
}

std::optional<exrnic_term_code> header_error(const Bytes& ddp) {
  const uint8_t* header = ddp.data();
  if (is_tagged(ddp)) {
    if (exrnic_ddp_tagged_dv(header) != EXRNIC_DDP_VERSION) return EXRNIC_TERM_CODE_TAGGED_VERSION;
    if (exrnic_ddp_tagged_rv(header) != EXRNIC_RDMAP_VERSION) return EXRNIC_TERM_CODE_RDMAP_VERSION;
    if (exrnic_of_rdmap_opcode(exrnic_ddp_tagged_opcode(header)).is_tagged) return std::nullopt;
    return EXRNIC_TERM_CODE_OPCODE;
  }
  if (exrnic_ddp_untagged_dv(header) != EXRNIC_DDP_VERSION)
    return EXRNIC_TERM_CODE_UNTAGGED_VERSION;
  if (exrnic_ddp_untagged_rv(header) != EXRNIC_RDMAP_VERSION) return EXRNIC_TERM_CODE_RDMAP_VERSION;
  if (exrnic_ddp_untagged_qn(header) > EXRNIC_ATOMIC_QN) return EXRNIC_TERM_CODE_UNTAGGED_QN;
  if (is_untagged_message(ddp)) return std::nullopt;
  return EXRNIC_TERM_CODE_OPCODE;
}

}  // namespace exrnic::ref
