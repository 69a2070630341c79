// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/mailbox.h"

#include <cstring>

#include "rtl-model/ref/stag_table.h"

namespace exrnic::ref {
namespace {

bool pbl_good(uint64_t address) { return address % EXRNIC_PBL_LINE_SIZE == 0; }

bool log_good(uint32_t log, uint32_t most) { return log >= EXRNIC_RING_LOG_MIN && log <= most; }

// RESET to INIT to RTR to RTS; any to ERROR; any to RESET.
bool allowed(exrnic_qp_state from, exrnic_qp_state to) {
  switch (to) {
    case EXRNIC_QP_STATE_INIT:
      return from == EXRNIC_QP_STATE_RESET;
    case EXRNIC_QP_STATE_RTR:
      return from == EXRNIC_QP_STATE_INIT;
    case EXRNIC_QP_STATE_RTS:
      return from == EXRNIC_QP_STATE_RTR;
    default:
      return true;
  }
}

bool needs_rest(uint32_t op) {
  return op >= EXRNIC_MBOX_OP_CREATE_CQ && op <= EXRNIC_MBOX_OP_INVALIDATE_MR &&
         op != EXRNIC_MBOX_OP_QUERY_QP;
}

}  // namespace

void Mailbox::start(uint32_t op) {
  op_ = op;
  status_ = EXRNIC_MBOX_STATUS_BUSY;
  state_.quiesce = needs_rest(op);
}

void Mailbox::run(bool quiescent) {
  if (idle() || (state_.quiesce && !quiescent)) return;
  status_ = execute();
  if (state_.quiesce) pbl_cache_.flush();
  state_.quiesce = false;
  state_.causes |= EXRNIC_INT_CAUSE_MBOX;
}

template <typename Command>
Command Mailbox::command() const {
  Command command;
  static_assert(sizeof command <= sizeof payload_);
  std::memcpy(&command, payload_.data(), sizeof command);
  return command;
}

exrnic_mbox_status Mailbox::execute() {
  switch (op_) {
    case EXRNIC_MBOX_OP_NOP:
      return EXRNIC_MBOX_STATUS_OK;
    case EXRNIC_MBOX_OP_CREATE_CQ:
      return create_cq(command<exrnic_mbox_create_cq>());
    case EXRNIC_MBOX_OP_DESTROY_CQ:
      return destroy_cq(command<exrnic_mbox_object>());
    case EXRNIC_MBOX_OP_CREATE_QP:
      return create_qp(command<exrnic_mbox_create_qp>());
    case EXRNIC_MBOX_OP_MODIFY_QP:
      return modify_qp(command<exrnic_mbox_modify_qp>());
    case EXRNIC_MBOX_OP_QUERY_QP:
      return query_qp(command<exrnic_mbox_object>());
    case EXRNIC_MBOX_OP_DESTROY_QP:
      return destroy_qp(command<exrnic_mbox_object>());
    case EXRNIC_MBOX_OP_REGISTER_MR:
      return register_mr(command<exrnic_mbox_register_mr>());
    case EXRNIC_MBOX_OP_INVALIDATE_MR:
      return invalidate_mr(command<exrnic_mbox_object>());
    default:
      return EXRNIC_MBOX_STATUS_BAD_OPCODE;
  }
}

exrnic_mbox_status Mailbox::create_cq(const exrnic_mbox_create_cq& command) {
  if (command.cqn >= EXRNIC_MAX_CQ || command.page >= EXRNIC_USER_PAGES ||
      command.msix_vector >= EXRNIC_MSIX_VECTORS)
    return EXRNIC_MBOX_STATUS_BAD_INDEX;
  CompletionQueue& cq = state_.cqs[command.cqn];
  if (cq.valid) return EXRNIC_MBOX_STATUS_BAD_STATE;
  if (!log_good(command.log_entries, EXRNIC_CQ_LOG_MAX) || !pbl_good(command.pbl_address))
    return EXRNIC_MBOX_STATUS_BAD_PARAMETER;
  cq = {};
  cq.valid = true;
  cq.page = command.page;
  cq.log_entries = command.log_entries;
  cq.vector = command.msix_vector;
  cq.pbl = command.pbl_address;
  return EXRNIC_MBOX_STATUS_OK;
}

exrnic_mbox_status Mailbox::destroy_cq(const exrnic_mbox_object& command) {
  if (command.index >= EXRNIC_MAX_CQ) return EXRNIC_MBOX_STATUS_BAD_INDEX;
  if (!state_.cqs[command.index].valid) return EXRNIC_MBOX_STATUS_BAD_STATE;
  state_.cqs[command.index] = {};
  return EXRNIC_MBOX_STATUS_OK;
}

exrnic_mbox_status Mailbox::create_qp(const exrnic_mbox_create_qp& command) {
  if (command.qpn >= EXRNIC_MAX_QP || command.page >= EXRNIC_USER_PAGES ||
      command.pd >= EXRNIC_MAX_PD)
    return EXRNIC_MBOX_STATUS_BAD_INDEX;
  for (const uint32_t cqn : {command.send_cqn, command.recv_cqn})
    if (cqn >= EXRNIC_MAX_CQ || !state_.cqs[cqn].valid || state_.cqs[cqn].page != command.page)
      return EXRNIC_MBOX_STATUS_BAD_INDEX;
  QueuePair& qp = state_.qps[command.qpn];
  if (qp.valid) return EXRNIC_MBOX_STATUS_BAD_STATE;
  if (!log_good(command.sq_log_slots, EXRNIC_SQ_LOG_MAX) ||
      !log_good(command.rq_log_slots, EXRNIC_SQ_LOG_MAX) || command.service != EXRNIC_SERVICE_RC ||
      !pbl_good(command.sq_pbl_address) || !pbl_good(command.rq_pbl_address))
    return EXRNIC_MBOX_STATUS_BAD_PARAMETER;
  const uint8_t generation = qp.generation;
  qp = {};
  qp.valid = true;
  qp.page = command.page;
  qp.pd = command.pd;
  qp.send_cqn = command.send_cqn;
  qp.recv_cqn = command.recv_cqn;
  qp.sq_log = command.sq_log_slots;
  qp.rq_log = command.rq_log_slots;
  qp.sq_pbl = command.sq_pbl_address;
  qp.generation = static_cast<uint8_t>(generation + 1);
  return EXRNIC_MBOX_STATUS_OK;
}

exrnic_mbox_status Mailbox::modify_qp(const exrnic_mbox_modify_qp& command) {
  if (command.qpn >= EXRNIC_MAX_QP) return EXRNIC_MBOX_STATUS_BAD_INDEX;
  if (command.state > EXRNIC_QP_STATE_ERROR) return EXRNIC_MBOX_STATUS_BAD_PARAMETER;
  QueuePair& qp = state_.qps[command.qpn];
  const auto to = static_cast<exrnic_qp_state>(command.state);
  if (!qp.valid || !allowed(qp.status.state, to)) return EXRNIC_MBOX_STATUS_BAD_STATE;
  if (to == EXRNIC_QP_STATE_RTR) {
    if (command.dest_node >= EXRNIC_MAX_NODE || command.dest_node == state_.config.node_id ||
        command.dest_qpn >> 24 != 0)
      return EXRNIC_MBOX_STATUS_BAD_PARAMETER;
    qp.dest_node = command.dest_node;
    qp.dest_qpn = command.dest_qpn;
    // The peer may know us from before our reset: it must hear of the new session before it sends.
    if (state_.settings.enable) efe_tx_.owe_ack(qp.dest_node, false);
  }
  change_state(command.qpn, to);
  return EXRNIC_MBOX_STATUS_OK;
}

// RESET begins a new generation: what is under way ends without effect. With ERROR, what is under
// way is flushed; none of it has a cause of its own.
void Mailbox::change_state(uint32_t qpn, exrnic_qp_state to) {
  QueuePair& qp = state_.qps[qpn];
  if (to == EXRNIC_QP_STATE_RESET) {
    qp.status = {};
    qp.empty_rings();
    ++qp.generation;
  } else if (to == EXRNIC_QP_STATE_ERROR && !qp.in_error()) {
    qp.status.fault = qp.status.exact = false;
  }
  qp.status.state = to;
  if (to == EXRNIC_QP_STATE_RTS || to == EXRNIC_QP_STATE_ERROR) state_.wake(qpn);
}

exrnic_mbox_status Mailbox::query_qp(const exrnic_mbox_object& command) {
  if (command.index >= EXRNIC_MAX_QP) return EXRNIC_MBOX_STATUS_BAD_INDEX;
  const QueuePair& qp = state_.qps[command.index];
  if (!qp.valid) return EXRNIC_MBOX_STATUS_BAD_STATE;
  exrnic_mbox_query_qp answer{};
  answer.state = qp.status.state;
  answer.dest_node = qp.dest_node;
  answer.dest_qpn = qp.dest_qpn;
  answer.sq_producer = qp.sq_producer;
  answer.sq_consumer = qp.sq_consumer;
  std::memcpy(payload_.data(), &answer, sizeof answer);
  return EXRNIC_MBOX_STATUS_OK;
}

exrnic_mbox_status Mailbox::destroy_qp(const exrnic_mbox_object& command) {
  if (command.index >= EXRNIC_MAX_QP) return EXRNIC_MBOX_STATUS_BAD_INDEX;
  if (!state_.qps[command.index].valid) return EXRNIC_MBOX_STATUS_BAD_STATE;
  state_.qps[command.index].valid = false;  // the generation stays: the next one counts on
  return EXRNIC_MBOX_STATUS_OK;
}

exrnic_mbox_status Mailbox::register_mr(const exrnic_mbox_register_mr& command) {
  constexpr uint32_t kRights =
      EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_REMOTE_WRITE | EXRNIC_ACCESS_REMOTE_READ;
  if (stag_index(command.stag) >= EXRNIC_MAX_STAG || command.pd >= EXRNIC_MAX_PD)
    return EXRNIC_MBOX_STATUS_BAD_INDEX;
  Region& region = state_.regions[stag_index(command.stag)];
  if (region.valid) return EXRNIC_MBOX_STATUS_BAD_STATE;
  const bool wraps = command.base + (command.length - 1) < command.base;
  if (command.length == 0 || wraps || !pbl_good(command.pbl_address) ||
      (command.access & ~kRights) != 0 ||
      (command.page_shift != EXRNIC_PAGE_SHIFT && command.page_shift != EXRNIC_HUGE_PAGE_SHIFT))
    return EXRNIC_MBOX_STATUS_BAD_PARAMETER;
  region.valid = true;
  region.key = stag_key(command.stag);
  region.pd = command.pd;
  region.access = command.access;
  region.page_shift = command.page_shift;
  region.base = command.base;
  region.length = command.length;
  region.pbl = command.pbl_address;
  return EXRNIC_MBOX_STATUS_OK;
}

exrnic_mbox_status Mailbox::invalidate_mr(const exrnic_mbox_object& command) {
  if (stag_index(command.index) >= EXRNIC_MAX_STAG) return EXRNIC_MBOX_STATUS_BAD_INDEX;
  Region& region = state_.regions[stag_index(command.index)];
  if (!region.valid || region.key != stag_key(command.index)) return EXRNIC_MBOX_STATUS_BAD_STATE;
  region = {};
  return EXRNIC_MBOX_STATUS_OK;
}

}  // namespace exrnic::ref
