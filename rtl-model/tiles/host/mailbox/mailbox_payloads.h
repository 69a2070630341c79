// SPDX-License-Identifier: BSD-2-Clause
// Good payloads for every command, and the objects that they name.
#pragma once

#include "rtl-model/tiles/host/mailbox/mailbox_bench.h"

namespace exrnic::testing {

constexpr exrnic_mbox_status kOk = EXRNIC_MBOX_STATUS_OK;
constexpr exrnic_mbox_status kBadOpcode = EXRNIC_MBOX_STATUS_BAD_OPCODE;
constexpr exrnic_mbox_status kBadIndex = EXRNIC_MBOX_STATUS_BAD_INDEX;
constexpr exrnic_mbox_status kBadState = EXRNIC_MBOX_STATUS_BAD_STATE;
constexpr exrnic_mbox_status kBadParameter = EXRNIC_MBOX_STATUS_BAD_PARAMETER;
constexpr exrnic_mbox_status kNoRoom = EXRNIC_MBOX_STATUS_NO_ROOM;

constexpr uint32_t kQpn = 0x155;
constexpr uint32_t kCqn = 0x3fe;
constexpr uint32_t kSrqn = 0xfe;
constexpr uint32_t kPage = 0x42;
constexpr uint32_t kPd = 0xbeef;
constexpr uint32_t kStagIndex = 0x1234;
constexpr uint32_t kStag = kStagIndex << EXRNIC_STAG_INDEX_SHIFT | 0x5a;

inline exrnic_mbox_object object(uint32_t index) { return {index}; }
inline exrnic_mbox_create_cq cq_payload() {
  exrnic_mbox_create_cq cq{};
  cq.cqn = kCqn;
  cq.page = kPage;
  cq.pbl_address = 0x123456789ac0;
  cq.log_entries = 10;
  cq.msix_vector = 17;
  cq.moderation_count = 16;
  cq.moderation_ns = 4000;
  cq.eqn = EXRNIC_NO_EQ;
  return cq;
}
inline exrnic_mbox_resize_cq resize_payload() {
  return {kCqn, EXRNIC_RING_LOG_MIN, 0x0fedcba98740};
}
inline exrnic_mbox_create_eq eq_payload() {
  exrnic_mbox_create_eq eq{};
  eq.eqn = 5;
  eq.log_entries = 9;
  eq.address = 0x5555555540;
  eq.msix_vector = 18;
  return eq;
}
inline exrnic_mbox_create_qp qp_payload() {
  exrnic_mbox_create_qp qp{};
  qp.qpn = kQpn;
  qp.page = kPage;
  qp.pd = kPd;
  qp.send_cqn = kCqn;
  qp.recv_cqn = kCqn - 1;
  qp.sq_log_slots = 12;
  qp.rq_log_slots = 3;
  qp.service = EXRNIC_SERVICE_RC;
  qp.sq_pbl_address = 0xaaaaaaaaaac0;
  qp.rq_pbl_address = 0xbbbbbbbbbb80;
  qp.srqn = EXRNIC_NO_SRQ;
  qp.max_reads_out = 5;
  qp.max_reads_in = EXRNIC_MAX_READS;
  return qp;
}
inline exrnic_mbox_create_srq srq_payload() {
  exrnic_mbox_create_srq srq{};
  srq.srqn = kSrqn;
  srq.page = kPage;
  srq.pd = kPd;
  srq.log_slots = 9;
  srq.pbl_address = 0xcccccccccc00;
  srq.limit = 100;
  return srq;
}
inline exrnic_mbox_register_mr mr_payload() {
  return {kStag,
          0xcafe,
          0x7f0000000123,
          0x100000001,
          0x1111111140,
          EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_REMOTE_WRITE | EXRNIC_ACCESS_REMOTE_READ,
          EXRNIC_PAGE_SHIFT,
          EXRNIC_REGION_KIND_MEMORY};
}
inline CqConfig own_cq() {
  CqConfig cq;
  cq.valid = true;
  cq.page = kPage;
  cq.log_entries = 4;
  cq.msix_vector = 1;
  cq.pbl = 0x40;
  return cq;
}
inline Srq own_srq() {
  Srq srq;
  srq.cfg.valid = true;
  srq.cfg.page = kPage;
  srq.cfg.pd = kPd;
  srq.cfg.log_slots = 4;
  srq.cfg.pbl = 0x80;
  srq.limit = 7;
  srq.producer = 0x10;
  srq.consumer = 0xfffe;
  return srq;
}

// A mailbox with the two completion queues that qp_payload() names.
inline void create_cqs(Mailbox& mailbox) {
  mailbox.cqs[kCqn] = own_cq();
  mailbox.cqs[kCqn - 1] = own_cq();
}
inline Qp qp_in(exrnic_qp_state state) {
  Qp qp;
  qp.cfg.valid = true;
  qp.cfg.page = kPage;
  qp.cfg.generation = 0xffff;
  qp.cfg.dest_node = 9;
  qp.cfg.dest_qpn = 0x777;
  qp.cfg.places_out = 5;
  qp.cfg.places_in = 4;
  qp.cfg.max_reads_out = 1;
  qp.cfg.max_reads_in = 2;
  qp.cfg.access = EXRNIC_ACCESS_REMOTE_WRITE;
  qp.cfg.path_mtu = 1040;
  qp.cfg.rnr_timer = 19;
  qp.cfg.rnr_retry = 5;
  qp.cfg.timeout = 18;
  qp.cfg.retry_count = 6;
  qp.status.state = state;
  qp.sq_producer = 0xfff0;
  qp.sq.consumer = 0xffe0;
  qp.sq.halted = true;
  return qp;
}

// A change of state, with what it cannot do without.
constexpr uint32_t kKeys = EXRNIC_QP_ATTRIBUTES_QKEY | EXRNIC_QP_ATTRIBUTES_PKEY_INDEX;
inline exrnic_mbox_modify_qp change_to(uint32_t state, uint32_t attributes) {
  exrnic_mbox_modify_qp change{};
  change.qpn = kQpn;
  change.state = state;
  change.attributes = attributes;
  return change;
}
inline exrnic_mbox_modify_qp change_to(uint32_t state) {
  return change_to(state, state == EXRNIC_QP_STATE_RTR ? EXRNIC_QP_ATTRIBUTES_DEST : 0);
}

// Those that a queue pair has that nobody has set any.
inline void check_new_attributes(const QpConfig& cfg) {
  CHECK(cfg.qkey == 0);
  CHECK(cfg.pkey_index == 0);
  CHECK(cfg.access ==
        (EXRNIC_ACCESS_REMOTE_WRITE | EXRNIC_ACCESS_REMOTE_READ | EXRNIC_ACCESS_REMOTE_ATOMIC));
  CHECK(cfg.path_mtu == EXRNIC_MTU_MAX);
  CHECK(cfg.max_reads_out == cfg.places_out);
  CHECK(cfg.max_reads_in == cfg.places_in);
  CHECK(cfg.rnr_timer == 0);
  CHECK(cfg.rnr_retry == 0);
  CHECK(cfg.timeout == 0);
  CHECK(cfg.retry_count == 0);
}

// What a peer's refusal leaves.
inline QpStatus refused() {
  QpStatus status;
  status.state = EXRNIC_QP_STATE_ERROR;
  status.fault = status.exact = status.told = true;
  status.fault_status = EXRNIC_CQE_STATUS_REM_OP_ERR;
  status.fault_detail = EXRNIC_TERM_CODE_OPCODE;
  status.fault_seq = 99;
  return status;
}

}  // namespace exrnic::testing
