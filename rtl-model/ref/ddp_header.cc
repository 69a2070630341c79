// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/ddp_header.h"

namespace exrnic::ref {

Bytes make_header(const Tagged& header) {
  Bytes bytes(EXRNIC_DDP_TAGGED_BYTES);
  uint8_t* p = bytes.data();
  exrnic_ddp_tagged_set_t(p, 1);
  exrnic_ddp_tagged_set_last(p, header.last);
  exrnic_ddp_tagged_set_dv(p, EXRNIC_DDP_VERSION);
  exrnic_ddp_tagged_set_rv(p, EXRNIC_RDMAP_VERSION);
  exrnic_ddp_tagged_set_opcode(p, header.opcode);
  exrnic_ddp_tagged_set_stag(p, header.stag);
  exrnic_ddp_tagged_set_to(p, header.to);
  return bytes;
}

Bytes make_header(const Untagged& header) {
  Bytes bytes(EXRNIC_DDP_UNTAGGED_BYTES);
  uint8_t* p = bytes.data();
  exrnic_ddp_untagged_set_last(p, header.last);
  exrnic_ddp_untagged_set_dv(p, EXRNIC_DDP_VERSION);
  exrnic_ddp_untagged_set_rv(p, EXRNIC_RDMAP_VERSION);
  exrnic_ddp_untagged_set_opcode(p, header.opcode);
  exrnic_ddp_untagged_set_invalidate_stag(p, header.invalidate_stag);
  exrnic_ddp_untagged_set_qn(p, header.qn);
  exrnic_ddp_untagged_set_msn(p, header.msn);
  exrnic_ddp_untagged_set_mo(p, header.mo);
  return bytes;
}

static Bytes make_atomic_request(const Read& read) {
  const Atomic& atomic = *read.atomic;
  Untagged header;
  header.opcode = EXRNIC_RDMAP_OPCODE_ATOMIC_REQUEST;
  header.qn = EXRNIC_READ_QN;
  header.msn = read.msn;
  header.mo = read.mo;
  Bytes bytes = make_header(header);
  bytes.resize(bytes.size() + EXRNIC_ATOMIC_REQUEST_BYTES);
  uint8_t* p = bytes.data() + EXRNIC_DDP_UNTAGGED_BYTES;
  exrnic_atomic_request_set_operation(p, atomic.operation);
  exrnic_atomic_request_set_request_id(p, atomic.request_id);
  exrnic_atomic_request_set_stag(p, atomic.stag);
  exrnic_atomic_request_set_to(p, atomic.to);
  exrnic_atomic_request_set_data(p, atomic.data);
  exrnic_atomic_request_set_mask(p, atomic.mask);
  exrnic_atomic_request_set_compare(p, atomic.compare);
  exrnic_atomic_request_set_compare_mask(p, atomic.compare_mask);
  return bytes;
}

Bytes make_atomic_response(uint32_t msn, uint32_t request_id, uint64_t value) {
  Untagged header;
  header.opcode = EXRNIC_RDMAP_OPCODE_ATOMIC_RESPONSE;
  header.qn = EXRNIC_ATOMIC_QN;
  header.msn = msn;
  Bytes bytes = make_header(header);
  bytes.resize(bytes.size() + EXRNIC_ATOMIC_RESPONSE_BYTES);
  uint8_t* p = bytes.data() + EXRNIC_DDP_UNTAGGED_BYTES;
  exrnic_atomic_response_set_request_id(p, request_id);
  exrnic_atomic_response_set_value(p, value);
  return bytes;
}

Bytes make_read_request(const Read& read) {
  if (read.atomic) return make_atomic_request(read);
  Untagged header;
  header.opcode = EXRNIC_RDMAP_OPCODE_READ_REQUEST;
  header.qn = EXRNIC_READ_QN;
  header.msn = read.msn;
  header.mo = read.mo;
  Bytes bytes = make_header(header);
  bytes.resize(bytes.size() + EXRNIC_READ_REQUEST_BYTES);
  uint8_t* p = bytes.data() + EXRNIC_DDP_UNTAGGED_BYTES;
  exrnic_read_request_set_sink_stag(p, read.sink_stag);
  exrnic_read_request_set_sink_to(p, read.sink_to);
  exrnic_read_request_set_length(p, read.length);
  exrnic_read_request_set_source_stag(p, read.source_stag);
  exrnic_read_request_set_source_to(p, read.source_to);
  return bytes;
}

Bytes make_immediate(uint32_t msn, uint32_t data, bool solicited) {
  Untagged header;
  header.opcode = solicited ? EXRNIC_RDMAP_OPCODE_IMMEDIATE_SE : EXRNIC_RDMAP_OPCODE_IMMEDIATE;
  header.msn = msn;
  Bytes bytes = make_header(header);
  bytes.resize(bytes.size() + EXRNIC_IMMEDIATE_BYTES);
  exrnic_immediate_set_data(bytes.data() + EXRNIC_DDP_UNTAGGED_BYTES, data);
  return bytes;
}

}  // namespace exrnic::ref
