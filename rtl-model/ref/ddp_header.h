// SPDX-License-Identifier: BSD-2-Clause
// DDP segments to be sent (RFC 5041, 4; RFC 5040, 4; RFC 7306, 6): headers, and the payloads that
// are headers themselves.
#pragma once

#include "rtl-model/ref/state.h"

namespace exrnic::ref {

struct Tagged {
  exrnic_rdmap_opcode opcode = EXRNIC_RDMAP_OPCODE_WRITE;
  bool last = false;
  uint32_t stag = 0;
  uint64_t to = 0;
};

struct Untagged {
  exrnic_rdmap_opcode opcode = EXRNIC_RDMAP_OPCODE_SEND;
  bool last = true;
  uint32_t qn = EXRNIC_SEND_QN;
  uint32_t msn = 1;
  uint32_t mo = 0;
  uint32_t invalidate_stag = 0;
};

Bytes make_header(const Tagged& header);
Bytes make_header(const Untagged& header);

// Whole segments.
Bytes make_read_request(const Read& read);  // or the Atomic Request that it is
Bytes make_atomic_response(uint32_t msn, uint32_t request_id, uint64_t value);
Bytes make_immediate(uint32_t msn, uint32_t data, bool solicited);

}  // namespace exrnic::ref
