// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/ddp_check.h"

namespace exrnic::ref {
namespace {

bool is_tagged_opcode(uint64_t opcode) {
  return opcode == EXRNIC_RDMAP_OPCODE_WRITE || opcode == EXRNIC_RDMAP_OPCODE_READ_RESPONSE;
}

bool is_whole(const Bytes& ddp, size_t payload) {
  return exrnic_ddp_untagged_last(ddp.data()) && ddp.size() == EXRNIC_DDP_UNTAGGED_BYTES + payload;
}

// Messages of an opcode go to one queue (RFC 5040, 4.1; RFC 7306, 6). Of some, one segment is all.
bool is_untagged_message(const Bytes& ddp) {
  const uint64_t qn = exrnic_ddp_untagged_qn(ddp.data());
  switch (exrnic_ddp_untagged_opcode(ddp.data())) {
    case EXRNIC_RDMAP_OPCODE_SEND:
    case EXRNIC_RDMAP_OPCODE_SEND_INVALIDATE:
    case EXRNIC_RDMAP_OPCODE_SEND_SE:
    case EXRNIC_RDMAP_OPCODE_SEND_SE_INVALIDATE:
      return qn == EXRNIC_SEND_QN;
    case EXRNIC_RDMAP_OPCODE_IMMEDIATE:
    case EXRNIC_RDMAP_OPCODE_IMMEDIATE_SE:
      return qn == EXRNIC_SEND_QN && is_whole(ddp, EXRNIC_IMMEDIATE_BYTES);
    case EXRNIC_RDMAP_OPCODE_READ_REQUEST:
      return qn == EXRNIC_READ_QN && is_whole(ddp, EXRNIC_READ_REQUEST_BYTES);
    case EXRNIC_RDMAP_OPCODE_ATOMIC_REQUEST:
      return qn == EXRNIC_READ_QN && is_whole(ddp, EXRNIC_ATOMIC_REQUEST_BYTES);
    case EXRNIC_RDMAP_OPCODE_ATOMIC_RESPONSE:
      return qn == EXRNIC_ATOMIC_QN && is_whole(ddp, EXRNIC_ATOMIC_RESPONSE_BYTES);
    default:
      return false;
  }
}

}  // namespace

bool is_tagged(const Bytes& ddp) { return exrnic_ddp_tagged_t(ddp.data()); }

bool is_terminate(const Bytes& ddp) {
  return !is_tagged(ddp) &&
         exrnic_ddp_untagged_opcode(ddp.data()) == EXRNIC_RDMAP_OPCODE_TERMINATE &&
         exrnic_ddp_untagged_qn(ddp.data()) == EXRNIC_TERMINATE_QN;
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
    if (is_tagged_opcode(exrnic_ddp_tagged_opcode(header))) return std::nullopt;
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
