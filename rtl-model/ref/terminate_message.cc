// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/terminate_message.h"

#include "rtl-model/ref/ddp_check.h"
#include "rtl-model/ref/ddp_header.h"

namespace exrnic::ref {
namespace {

constexpr unsigned kLayerShift = 12;
constexpr unsigned kTypeShift = 8;

bool quotes_request(exrnic_term_code code, const Bytes& refused) {
  return code >> kLayerShift == 0 && !is_tagged(refused) &&
         exrnic_ddp_untagged_opcode(refused.data()) == EXRNIC_RDMAP_OPCODE_READ_REQUEST &&
         refused.size() >= EXRNIC_DDP_UNTAGGED_BYTES + EXRNIC_READ_REQUEST_BYTES;
}

}  // namespace

Bytes terminate_message(exrnic_term_code code, const std::optional<Bytes>& refused) {
  Bytes control(EXRNIC_TERMINATE_HEADER_OFFSET);
  exrnic_terminate_set_code(control.data(), code);
  size_t quoted = 0;
  if (refused) {
    const bool request = quotes_request(code, *refused);
    quoted = is_tagged(*refused) ? EXRNIC_DDP_TAGGED_BYTES : EXRNIC_DDP_UNTAGGED_BYTES;
    if (request) quoted += EXRNIC_READ_REQUEST_BYTES;
    exrnic_terminate_set_m(control.data(), 1);
    exrnic_terminate_set_d(control.data(), 1);
    exrnic_terminate_set_r(control.data(), request);
    exrnic_terminate_set_segment_length(control.data(), refused->size());
  }
  Untagged header;
  header.opcode = EXRNIC_RDMAP_OPCODE_TERMINATE;
  header.qn = EXRNIC_TERMINATE_QN;
  Bytes message = make_header(header);
  message.insert(message.end(), control.begin(), control.end());
  if (refused) message.insert(message.end(), refused->begin(), refused->begin() + quoted);
  return message;
}

// Remote protection and tagged buffer errors are access errors to the user of verbs.
exrnic_cqe_status status_of_terminate(uint16_t code) {
  const bool protection = code >> kTypeShift == EXRNIC_TERM_CODE_RDMAP_STAG >> kTypeShift;
  const bool buffer = code >= EXRNIC_TERM_CODE_TAGGED_STAG && code <= EXRNIC_TERM_CODE_TAGGED_WRAP;
  return protection || buffer ? EXRNIC_CQE_STATUS_REM_ACCESS_ERR : EXRNIC_CQE_STATUS_REM_OP_ERR;
}

}  // namespace exrnic::ref
