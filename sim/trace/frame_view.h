// SPDX-License-Identifier: BSD-2-Clause
// What tracing reads in a frame that a core sent or received.
#pragma once

#include <optional>

#include "exrnic_hw.h"
#include "rtl-model/systemc/core.h"

namespace exrnic::trace {

struct FrameView {
  uint32_t from = 0;  // nodes
  uint32_t to = 0;
  uint16_t session = 0;
  bool sequenced = false;  // else it only acknowledges, and what follows means nothing
  uint32_t seq = 0;
  uint32_t src_qpn = 0;
  uint32_t dst_qpn = 0;
  exrnic_rdmap_opcode opcode = EXRNIC_RDMAP_OPCODE_WRITE;
  bool last = false;  // of its message

  exrnic_message message() const {
    return static_cast<exrnic_message>(exrnic_of_rdmap_opcode(opcode).message);
  }
  // Of PULLs and of atomics.
  bool answers() const { return message() == EXRNIC_MESSAGE_RESPONSE; }
  bool asks() const { return message() == EXRNIC_MESSAGE_REQUEST; }
  bool terminates() const { return message() == EXRNIC_MESSAGE_TERMINATE; }
  bool takes_receive() const {
    return message() == EXRNIC_MESSAGE_SEND || message() == EXRNIC_MESSAGE_IMMEDIATE;
  }
};

// Nothing for a frame that is none of ours, or too short to tell.
std::optional<FrameView> view_of(const Frame& frame);

const char* opcode_name(exrnic_rdmap_opcode opcode);

}  // namespace exrnic::trace
