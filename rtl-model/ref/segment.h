// SPDX-License-Identifier: BSD-2-Clause
// DDP segments between the blocks, and how they end.
#pragma once

#include "rtl-model/ref/state.h"

namespace exrnic::ref {

// What is to be told when a segment is acknowledged, or given up.
struct Tag {
  enum class Kind {
    kSegment,  // of a message that goes on
    kLast,     // the last of a work request
    kTerminate,
  };
  Kind kind = Kind::kSegment;
  uint32_t qpn = 0;
  uint8_t generation = 0;
  uint16_t wqe_index = 0;
  uint32_t byte_length = 0;
  bool signaled = false;
  exrnic_wqe_opcode opcode = EXRNIC_WQE_OPCODE_PUSH;
};

// To be sent.
struct Segment {
  uint32_t node = 0;
  uint32_t dst_qpn = 0;
  uint32_t src_qpn = 0;
  uint8_t refused = 0;  // for the EFE header, see there
  Bytes ddp;            // DDP header and payload, as on the wire
  // Not SUCCESS: never sent; ends with this status behind those before it.
  exrnic_cqe_status failed = EXRNIC_CQE_STATUS_SUCCESS;
  Tag tag;
};

// How a segment ended.
struct Ended {
  Tag tag;
  uint32_t node = 0;
  uint32_t seq = 0;  // with SUCCESS
  // SUCCESS: acknowledged; RETRY_EXC_ERR: given up; or what it was submitted as failed with.
  exrnic_cqe_status status = EXRNIC_CQE_STATUS_SUCCESS;
};

// Came, in sequence; checked up to its EFE header.
struct Received {
  uint32_t node = 0;
  uint16_t session = 0;
  uint32_t seq = 0;
  uint32_t ack = 0;  // these two as in its EFE header
  uint8_t refused = 0;
  uint32_t dst_qpn = 0;
  uint32_t src_qpn = 0;
  Bytes ddp;
};

}  // namespace exrnic::ref
