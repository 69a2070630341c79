// SPDX-License-Identifier: BSD-2-Clause
// A queue pair, and what its peer sends it.
#pragma once

#include "rtl-model/testing/records.h"

namespace exrnic::testing {

constexpr unsigned kQpn = 0x155;
constexpr unsigned kSrqn = 0x5a;
constexpr uint32_t kPeerQpn = 0xabcdef;
constexpr uint8_t kPeer = 0x33;
constexpr uint16_t kPd = 0x0dad;
constexpr uint32_t kSeq = 0xfffffffe;
constexpr uint32_t kAck = 0x00000042;
constexpr uint8_t kRqLog = 8;  // four pages
constexpr uint8_t kSrqLog = 3;
constexpr uint64_t kRqPbl = 0x7000000000;
constexpr uint64_t kSrqPbl = 0x7100000000;
constexpr uint16_t kGeneration = 0xb7b8;
constexpr uint16_t kPeerGeneration = 0xc3c4;
constexpr uint8_t kRnrTimer = 0x15;

inline Qp receiving_qp() {
  Qp qp;
  qp.cfg.valid = true;
  qp.cfg.pd = kPd;
  qp.cfg.rq_log = kRqLog;
  qp.cfg.rq_pbl = kRqPbl;
  qp.cfg.max_reads_in = 2;
  qp.cfg.access =
      EXRNIC_ACCESS_REMOTE_WRITE | EXRNIC_ACCESS_REMOTE_READ | EXRNIC_ACCESS_REMOTE_ATOMIC;
  qp.cfg.generation = kGeneration;
  qp.cfg.dest_node = kPeer;
  qp.cfg.dest_qpn = kPeerQpn;
  qp.peer = {kPeerGeneration, true, 0};
  qp.status.state = EXRNIC_QP_STATE_RTS;
  return qp;
}

// RFC 5041, 4.2: T, L, DV 1; RV 1, RDMA Write; STag 0xa1b2c3d4; TO 0x10000.
inline RxDesc write_segment(uint16_t payload) {
  RxDesc desc;
  desc.node = kPeer;
  desc.seq = kSeq;
  desc.ack = kAck;
  desc.dst_qpn = kQpn;
  desc.src_qpn = kPeerQpn;
  desc.src_generation = kPeerGeneration;
  desc.dst_generation = kGeneration;
  desc.length = static_cast<uint16_t>(14 + payload);
  desc.ddp = {0xc1, 0x40, 0xa1, 0xb2, 0xc3, 0xd4, 0, 0, 0, 0, 0, 1, 0, 0, 0xee, 0xee};
  desc.start = 0x1230;
  return desc;
}
// RFC 5041, 4.3: L, DV 1; RV 1, opcode; no STag; queue, message, offset.
inline RxDesc untagged_segment(uint8_t opcode, uint32_t qn, uint32_t msn, uint32_t offset,
                               uint16_t payload) {
  RxDesc desc = write_segment(0);
  desc.length = static_cast<uint16_t>(18 + payload);
  desc.ddp = {0x41, static_cast<uint8_t>(0x40 | opcode)};
  exrnic_ddp_untagged_set_qn(desc.ddp.data(), qn);
  exrnic_ddp_untagged_set_msn(desc.ddp.data(), msn);
  exrnic_ddp_untagged_set_mo(desc.ddp.data(), offset);
  return desc;
}
inline RxDesc send_segment(uint32_t msn, uint32_t offset, uint16_t payload, bool last = true) {
  RxDesc desc = untagged_segment(EXRNIC_RDMAP_OPCODE_SEND, 0, msn, offset, payload);
  exrnic_ddp_untagged_set_last(desc.ddp.data(), last);
  return desc;
}
inline RxDesc immediate_segment(uint32_t msn, uint32_t data) {
  RxDesc desc = untagged_segment(EXRNIC_RDMAP_OPCODE_IMMEDIATE, 0, msn, 0, 8);
  exrnic_immediate_set_rsvd(desc.ddp.data() + 18, 0xdeadbeef);
  exrnic_immediate_set_data(desc.ddp.data() + 18, data);
  return desc;
}
inline RxDesc read_request_segment(uint32_t msn, uint32_t length) {
  RxDesc desc = untagged_segment(EXRNIC_RDMAP_OPCODE_READ_REQUEST, 1, msn, 0, 28);
  uint8_t* request = desc.ddp.data() + 18;
  exrnic_read_request_set_sink_stag(request, 0x51515151);
  exrnic_read_request_set_sink_to(request, 0x123456789abc);
  exrnic_read_request_set_length(request, length);
  exrnic_read_request_set_source_stag(request, 0x50505050);
  exrnic_read_request_set_source_to(request, 0xcba987654321);
  return desc;
}
inline RxDesc atomic_request_segment(uint32_t msn) {
  return untagged_segment(EXRNIC_RDMAP_OPCODE_ATOMIC_REQUEST, EXRNIC_READ_QN, msn, 0,
                          EXRNIC_ATOMIC_REQUEST_BYTES);
}
inline RxDesc response_segment(uint32_t stag, uint64_t to, uint16_t payload, bool last) {
  RxDesc desc = write_segment(payload);
  exrnic_ddp_tagged_set_opcode(desc.ddp.data(), EXRNIC_RDMAP_OPCODE_READ_RESPONSE);
  exrnic_ddp_tagged_set_stag(desc.ddp.data(), stag);
  exrnic_ddp_tagged_set_to(desc.ddp.data(), to);
  exrnic_ddp_tagged_set_last(desc.ddp.data(), last);
  return desc;
}
// First bytes of the control as payload.
inline RxDesc terminate_segment(uint16_t code) {
  RxDesc desc = untagged_segment(EXRNIC_RDMAP_OPCODE_TERMINATE, 2, 1, 0, 20);
  desc.ddp[18] = static_cast<uint8_t>(code >> 8);
  desc.ddp[19] = static_cast<uint8_t>(code);
  return desc;
}

inline XlateRsp refuse(XlateStatus status) { return {status, 0xdead, 0xbeef}; }

}  // namespace exrnic::testing
