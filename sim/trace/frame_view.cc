// SPDX-License-Identifier: BSD-2-Clause
#include "sim/trace/frame_view.h"

namespace exrnic::trace {

std::optional<FrameView> view_of(const Frame& frame) {
  constexpr size_t kHeaders = EXRNIC_ETH_BYTES + EXRNIC_EFE_BYTES;
  constexpr uint64_t kNodeMask = 0xffff;
  if (frame.data.size() < kHeaders || frame.fcs_error ||
      exrnic_eth_ethertype(frame.data.data()) != EXRNIC_ETHERTYPE)
    return std::nullopt;
  const uint8_t* efe = frame.data.data() + EXRNIC_ETH_BYTES;
  FrameView view;
  view.from = static_cast<uint32_t>(exrnic_efe_src_node(efe));
  const uint64_t to = exrnic_eth_dst(frame.data.data());
  const bool group = to >> 16 == EXRNIC_GROUP_MAC_PREFIX;
  view.to = static_cast<uint32_t>(to & kNodeMask) + (group ? EXRNIC_GROUP_QPN : 0);
  view.session = static_cast<uint16_t>(exrnic_efe_session(efe));
  view.sequenced = exrnic_efe_flags(efe) & EXRNIC_EFE_FLAGS_SEQ;
  if (!view.sequenced) return view;
  if (frame.data.size() < kHeaders + EXRNIC_DDP_TAGGED_BYTES) return std::nullopt;
  view.seq = static_cast<uint32_t>(exrnic_efe_seq(efe));
  view.src_qpn = static_cast<uint32_t>(exrnic_efe_src_qpn(efe));
  view.dst_qpn = static_cast<uint32_t>(exrnic_efe_dst_qpn(efe));
  // Both headers have these fields at the same place.
  const uint8_t* ddp = frame.data.data() + kHeaders;
  view.opcode = static_cast<exrnic_rdmap_opcode>(exrnic_ddp_tagged_opcode(ddp));
  view.last = exrnic_ddp_tagged_last(ddp);
  return view;
}

const char* opcode_name(exrnic_rdmap_opcode opcode) {
  switch (opcode) {
    case EXRNIC_RDMAP_OPCODE_WRITE:
      return "PUSH";
    case EXRNIC_RDMAP_OPCODE_READ_REQUEST:
      return "PULL";
    case EXRNIC_RDMAP_OPCODE_READ_RESPONSE:
      return "response";
    case EXRNIC_RDMAP_OPCODE_TERMINATE:
      return "terminate";
    case EXRNIC_RDMAP_OPCODE_IMMEDIATE:
    case EXRNIC_RDMAP_OPCODE_IMMEDIATE_SE:
      return "immediate";
    case EXRNIC_RDMAP_OPCODE_ATOMIC_REQUEST:
    case EXRNIC_RDMAP_OPCODE_ATOMIC_RESPONSE:
      return "atomic";
    default:
      return "SEND";
  }
}

}  // namespace exrnic::trace
