// SPDX-License-Identifier: BSD-2-Clause
// A segment of a queue pair that has a peer.
#pragma once

#include "rtl-model/ref/segment.h"
#include "rtl-model/ref/state.h"

namespace exrnic::ref {

// To the peer of queue pair `qpn`.
inline Segment segment_to_peer(const QueuePair& qp, uint32_t qpn) {
  Segment segment;
  segment.node = qp.dest_node;
  segment.dst_qpn = qp.dest_qpn;
  segment.src_qpn = qpn;
  segment.src_generation = qp.generation;
  segment.dst_generation = qp.at.peer.generation;
  segment.stream = qp.service == EXRNIC_SERVICE_RC;
  segment.tag.qpn = qpn;
  segment.tag.generation = qp.generation;
  return segment;
}

}  // namespace exrnic::ref
