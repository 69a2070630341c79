// SPDX-License-Identifier: BSD-2-Clause
// DDP segments between the blocks, and how they end.
#pragma once

#include <optional>

#include "exrnic_records.h"
#include "rtl-model/ref/efe_state.h"

namespace exrnic::ref {

// What is to be told when a segment is acknowledged, or given up.
struct Tag {
  enum class Kind {
    kSegment,  // of a message that goes on, or of a window
    kLast,     // the last of a work request
    kProbe,    // the first of a message that is sent again, and not the last
    kTerminate,
    kResponse,      // to an RDMA Read Request
    kPort,          // of a port: its number stands for the queue pair's, its link for wqe_index
    kIntroduction,  // of a queue pair that waits for no answer
    kFlush,         // nothing: ends a work request of a queue pair that has withdrawn what it sent
  };
  Kind kind = Kind::kSegment;
  uint32_t qpn = 0;
  uint16_t generation = 0;
  uint16_t wqe_index = 0;
  uint32_t byte_length = 0;
  bool signaled = false;
  exrnic_wqe_opcode opcode = EXRNIC_WQE_OPCODE_PUSH;
};

inline uint64_t mac_of(uint64_t node) { return uint64_t{EXRNIC_MAC_PREFIX} << 16 | node; }
inline uint64_t mac_of_group(uint64_t group) {
  return uint64_t{EXRNIC_GROUP_MAC_PREFIX} << 16 | group;
}

inline bool is_group(uint32_t qpn) {
  return qpn >= EXRNIC_GROUP_QPN && qpn - EXRNIC_GROUP_QPN <= EXRNIC_GROUP_MAX;
}

// To be sent.
struct Segment {
  uint32_t node = 0;
  uint32_t dst_qpn = 0;
  uint32_t src_qpn = 0;
  uint16_t src_generation = 0;  // of the two
  uint16_t dst_generation = 0;
  Bytes ddp;                    // DDP header and payload, as on the wire
  std::optional<uint32_t> imm;  // for the EFE header, of a SEND
  bool ask = false;             // likewise: CREDIT_ASK
  // Of the unreliable class: sent once, and ended by that.
  struct Once {
    bool first = false;   // of its message
    uint32_t number = 0;  // of the frame, counted for the queue pair
  };
  std::optional<Once> once;
  // With once: of class datagram, with these in its headers; `node` is the own one.
  struct Datagram {
    uint32_t node = 0;
    uint32_t qkey = 0;
    uint16_t pkey = 0;
  };
  std::optional<Datagram> datagram;
  // Of what a queue pair of RC sends in an order: behind one that is lost for good none leaves, or
  // the peer would place it behind a gap.
  bool stream = false;
  // Never sent; ends behind those before it, with `status`.
  bool unsent = false;
  exrnic_cqe_status status = EXRNIC_CQE_STATUS_SUCCESS;
  Tag tag;
};

// Tells a node of a segment of its own that was not served, until it has heard that.
struct Refusal {
  uint8_t number = 0;
  uint32_t seq = 0;              // of the refused segment
  Segment message;               // terminate message
  std::optional<uint8_t> pause;  // RNR, and this code
};

// How a segment ended.
struct Ended {
  Tag tag;
  uint32_t node = 0;
  uint32_t seq = 0;  // with SUCCESS
  // SUCCESS: acknowledged, or sent if that is all; RETRY_EXC_ERR: given up; or what it was
  // submitted with as unsent.
  exrnic_cqe_status status = EXRNIC_CQE_STATUS_SUCCESS;
};

// Came, in sequence, or of the unreliable class, or a refusal; checked up to its EFE header.
struct Received {
  uint32_t node = 0;
  uint16_t session = 0;
  uint32_t seq = 0;     // as in its EFE header
  uint32_t ack = 0;     // likewise; of a refusal: the number of the refused segment
  uint8_t refusal = 0;  // its number, and
  uint16_t ours = 0;    // the session of ours that it is about
  bool stale = false;   // forgotten since it was handed out
  uint32_t dst_qpn = 0;
  uint32_t src_qpn = 0;
  uint16_t src_generation = 0;
  uint16_t dst_generation = 0;
  std::optional<uint32_t> imm;
  std::optional<uint8_t> pause;
  bool ask = false;
  bool unreliable = false;  // then seq counts for the queue pair, and
  bool first = false;       // it may be the first segment of a message
  struct Keys {
    uint32_t qkey = 0;
    uint16_t pkey = 0;
  };
  std::optional<Keys> datagram;   // with unreliable: it is a message of itself,
  std::optional<uint16_t> group;  // and may be for a group
  exrnic_service service() const {
    if (datagram) return EXRNIC_SERVICE_UD;
    return unreliable ? EXRNIC_SERVICE_UC : EXRNIC_SERVICE_RC;
  }
  Bytes ddp;
};

// How a receive or a PULL ended: the responder sees that.
using ReceiveEnded = records::RxDone;

}  // namespace exrnic::ref
