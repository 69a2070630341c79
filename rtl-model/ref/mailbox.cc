// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/mailbox.h"

#include <cstring>

#include "rtl-model/ref/stag_table.h"

namespace exrnic::ref {
namespace {

bool pbl_good(uint64_t address) { return address % EXRNIC_PBL_LINE_SIZE == 0; }

bool log_good(uint32_t log, uint32_t most) { return log >= EXRNIC_RING_LOG_MIN && log <= most; }

bool allowed(exrnic_qp_state from, exrnic_qp_state to) {
  switch (to) {
    case EXRNIC_QP_STATE_INIT:
      return from == EXRNIC_QP_STATE_RESET || from == EXRNIC_QP_STATE_INIT;
    case EXRNIC_QP_STATE_RTR:
      return from == EXRNIC_QP_STATE_INIT;
    case EXRNIC_QP_STATE_RTS:
      return from == EXRNIC_QP_STATE_RTR || from == EXRNIC_QP_STATE_RTS ||
             from == EXRNIC_QP_STATE_SQD;
    case EXRNIC_QP_STATE_SQD:
      return from == EXRNIC_QP_STATE_RTS || from == EXRNIC_QP_STATE_SQD;
    default:
      return true;
  }
}

// ---- Attributes (flags qp_attributes)

constexpr uint32_t kOfUd = EXRNIC_QP_ATTRIBUTES_QKEY | EXRNIC_QP_ATTRIBUTES_PKEY_INDEX;
constexpr uint32_t kOfUc =
    EXRNIC_QP_ATTRIBUTES_DEST | EXRNIC_QP_ATTRIBUTES_ACCESS | EXRNIC_QP_ATTRIBUTES_PATH_MTU;
constexpr uint32_t kOfRc = kOfUc | EXRNIC_QP_ATTRIBUTES_MAX_READS_IN |
                           EXRNIC_QP_ATTRIBUTES_MAX_READS_OUT | EXRNIC_QP_ATTRIBUTES_MIN_RNR_TIMER |
                           EXRNIC_QP_ATTRIBUTES_RNR_RETRY | EXRNIC_QP_ATTRIBUTES_TIMEOUT |
                           EXRNIC_QP_ATTRIBUTES_RETRY_COUNT;

uint32_t attributes_of(uint32_t service) {
  if (service == EXRNIC_SERVICE_UD) return kOfUd;
  return service == EXRNIC_SERVICE_UC ? kOfUc : kOfRc;
}

uint32_t attributes_with(exrnic_qp_state from, exrnic_qp_state to) {
  switch (to) {
    case EXRNIC_QP_STATE_INIT:
      return kOfUd | EXRNIC_QP_ATTRIBUTES_ACCESS;
    case EXRNIC_QP_STATE_RTR:
      return kOfUd | kOfUc | EXRNIC_QP_ATTRIBUTES_MAX_READS_IN | EXRNIC_QP_ATTRIBUTES_MIN_RNR_TIMER;
    case EXRNIC_QP_STATE_RTS:
      return EXRNIC_QP_ATTRIBUTES_QKEY | EXRNIC_QP_ATTRIBUTES_ACCESS |
             EXRNIC_QP_ATTRIBUTES_MIN_RNR_TIMER | EXRNIC_QP_ATTRIBUTES_RNR_RETRY |
             EXRNIC_QP_ATTRIBUTES_TIMEOUT | EXRNIC_QP_ATTRIBUTES_RETRY_COUNT |
             (from == EXRNIC_QP_STATE_RTR ? EXRNIC_QP_ATTRIBUTES_MAX_READS_OUT : 0u);
    case EXRNIC_QP_STATE_SQD:
      if (from == EXRNIC_QP_STATE_RTS) return 0;
      return (kOfRc | kOfUd) & ~(EXRNIC_QP_ATTRIBUTES_DEST | EXRNIC_QP_ATTRIBUTES_PATH_MTU);
    default:
      return 0;
  }
}

uint32_t attributes_needed(const QueuePair& qp, exrnic_qp_state to) {
  if (to == EXRNIC_QP_STATE_INIT && qp.status.state == EXRNIC_QP_STATE_RESET && qp.is_datagram())
    return kOfUd;
  return to == EXRNIC_QP_STATE_RTR && qp.has_peer() ? EXRNIC_QP_ATTRIBUTES_DEST : 0u;
}

bool needs_rest(uint32_t op) {
  return op >= EXRNIC_MBOX_OP_CREATE_CQ && op <= EXRNIC_MBOX_OP_RESIZE_CQ &&
         op != EXRNIC_MBOX_OP_QUERY_QP && op != EXRNIC_MBOX_OP_QUERY_SRQ;
}

}  // namespace

void Mailbox::start(uint32_t op) {
  op_ = op;
  status_ = EXRNIC_MBOX_STATUS_BUSY;
  windows_.mark();
}

// What stores of windows have begun is sent before the core stops: peers may need it to make room
// for them.
void Mailbox::run(bool quiescent) {
  if (idle()) return;
  if (needs_rest(op_)) {
    state_.quiesce |= windows_.sent_to_mark();
    if (!state_.quiesce || !quiescent) return;
  }
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

template <typename Answer>
void Mailbox::answer(const Answer& answer) {
  static_assert(sizeof answer <= sizeof payload_);
  std::memcpy(payload_.data(), &answer, sizeof answer);
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
    case EXRNIC_MBOX_OP_CREATE_SRQ:
      return create_srq(command<exrnic_mbox_create_srq>());
    case EXRNIC_MBOX_OP_DESTROY_SRQ:
      return destroy_srq(command<exrnic_mbox_object>());
    case EXRNIC_MBOX_OP_MODIFY_SRQ:
      return modify_srq(command<exrnic_mbox_modify_srq>());
    case EXRNIC_MBOX_OP_QUERY_SRQ:
      return query_srq(command<exrnic_mbox_object>());
    case EXRNIC_MBOX_OP_SET_WINDOW:
      return set_window(command<exrnic_mbox_set_window>());
    case EXRNIC_MBOX_OP_ATTACH_GROUP:
      return attach_group(command<exrnic_mbox_group>());
    case EXRNIC_MBOX_OP_DETACH_GROUP:
      return detach_group(command<exrnic_mbox_group>());
    case EXRNIC_MBOX_OP_CREATE_EQ:
      return create_eq(command<exrnic_mbox_create_eq>());
    case EXRNIC_MBOX_OP_DESTROY_EQ:
      return destroy_eq(command<exrnic_mbox_object>());
    case EXRNIC_MBOX_OP_RESIZE_CQ:
      return resize_cq(command<exrnic_mbox_resize_cq>());
    default:
      return EXRNIC_MBOX_STATUS_BAD_OPCODE;
  }
}

exrnic_mbox_status Mailbox::create_eq(const exrnic_mbox_create_eq& command) {
  if (command.eqn >= EXRNIC_MAX_EQ || command.msix_vector >= EXRNIC_MSIX_VECTORS)
    return EXRNIC_MBOX_STATUS_BAD_INDEX;
  EventQueue& eq = state_.eqs[command.eqn];
  if (eq.valid) return EXRNIC_MBOX_STATUS_BAD_STATE;
  if (!log_good(command.log_entries, EXRNIC_EQ_LOG_MAX) || !pbl_good(command.address))
    return EXRNIC_MBOX_STATUS_BAD_PARAMETER;
  eq = {command, true};
  state_.unpark_events();
  return EXRNIC_MBOX_STATUS_OK;
}

exrnic_mbox_status Mailbox::destroy_eq(const exrnic_mbox_object& command) {
  if (command.index >= EXRNIC_MAX_EQ) return EXRNIC_MBOX_STATUS_BAD_INDEX;
  if (!state_.eqs[command.index].valid) return EXRNIC_MBOX_STATUS_BAD_STATE;
  state_.eqs[command.index] = {};
  state_.unpark_events();
  return EXRNIC_MBOX_STATUS_OK;
}

// It names an event queue that there is, or a vector.
bool Mailbox::is_heard(const exrnic_mbox_create_cq& command) const {
  if (command.eqn == EXRNIC_NO_EQ) return command.msix_vector < EXRNIC_MSIX_VECTORS;
  return command.eqn < EXRNIC_MAX_EQ && state_.eqs[command.eqn].valid;
}

exrnic_mbox_status Mailbox::create_cq(const exrnic_mbox_create_cq& command) {
  if (command.cqn >= state_.cqs.size() || command.page >= EXRNIC_USER_PAGES || !is_heard(command))
    return EXRNIC_MBOX_STATUS_BAD_INDEX;
  CompletionQueue& cq = state_.cqs[command.cqn];
  if (cq.valid) return EXRNIC_MBOX_STATUS_BAD_STATE;
  if (!log_good(command.log_entries, EXRNIC_CQ_LOG_MAX) || !pbl_good(command.pbl_address) ||
      command.moderation_count > EXRNIC_MODERATION_COUNT_MAX ||
      command.moderation_ns > EXRNIC_MODERATION_NS_MAX)
    return EXRNIC_MBOX_STATUS_BAD_PARAMETER;
  cq = {command, true};
  state_.forget_events(EXRNIC_EQE_OBJECT_CQ, command.cqn);
  return EXRNIC_MBOX_STATUS_OK;
}

exrnic_mbox_status Mailbox::destroy_cq(const exrnic_mbox_object& command) {
  if (command.index >= state_.cqs.size()) return EXRNIC_MBOX_STATUS_BAD_INDEX;
  if (!state_.cqs[command.index].valid) return EXRNIC_MBOX_STATUS_BAD_STATE;
  state_.cqs[command.index] = {};
  state_.forget_events(EXRNIC_EQE_OBJECT_CQ, command.index);
  return EXRNIC_MBOX_STATUS_OK;
}

// Its indices stay, and so does what it is armed for and has counted.
exrnic_mbox_status Mailbox::resize_cq(const exrnic_mbox_resize_cq& command) {
  if (command.cqn >= state_.cqs.size()) return EXRNIC_MBOX_STATUS_BAD_INDEX;
  CompletionQueue& cq = state_.cqs[command.cqn];
  if (!cq.valid) return EXRNIC_MBOX_STATUS_BAD_STATE;
  if (!log_good(command.log_entries, EXRNIC_CQ_LOG_MAX) || !pbl_good(command.pbl_address))
    return EXRNIC_MBOX_STATUS_BAD_PARAMETER;
  if (cq.producer - cq.consumer > 1u << command.log_entries) return EXRNIC_MBOX_STATUS_BAD_STATE;
  cq.log_entries = command.log_entries;
  cq.pbl_address = command.pbl_address;
  answer(exrnic_mbox_resized_cq{cq.producer});
  return EXRNIC_MBOX_STATUS_OK;
}

// Completion queues and shared receive queue are of the same user page.
bool Mailbox::owns_queues(const exrnic_mbox_create_qp& command) const {
  for (const uint32_t cqn : {command.send_cqn, command.recv_cqn})
    if (cqn >= state_.cqs.size() || !state_.cqs[cqn].valid || state_.cqs[cqn].page != command.page)
      return false;
  if (command.srqn == EXRNIC_NO_SRQ) return true;
  return command.srqn < state_.srqs.size() && state_.srqs[command.srqn].valid &&
         state_.srqs[command.srqn].page == command.page;
}

exrnic_mbox_status Mailbox::create_qp(const exrnic_mbox_create_qp& command) {
  if (command.qpn >= state_.qps.size() || command.page >= EXRNIC_USER_PAGES ||
      command.pd >= EXRNIC_FW_PD || !owns_queues(command))
    return EXRNIC_MBOX_STATUS_BAD_INDEX;
  QueuePair& qp = state_.qps[command.qpn];
  if (qp.valid) return EXRNIC_MBOX_STATUS_BAD_STATE;
  const bool has_srq = command.srqn != EXRNIC_NO_SRQ;
  if (!log_good(command.sq_log_slots, EXRNIC_SQ_LOG_MAX) ||
      !log_good(command.rq_log_slots, EXRNIC_SQ_LOG_MAX) || command.service > EXRNIC_SERVICE_UD ||
      !pbl_good(command.sq_pbl_address) || !pbl_good(command.rq_pbl_address) ||
      (has_srq && state_.srqs[command.srqn].pd != command.pd) ||
      command.max_reads_out > EXRNIC_MAX_READS || command.max_reads_in > EXRNIC_MAX_READS ||
      (command.flags & ~(command.service == EXRNIC_SERVICE_UD ? EXRNIC_QP_FLAGS_GRH : 0u)) != 0)
    return EXRNIC_MBOX_STATUS_BAD_PARAMETER;
  if (exrnic_read_places(command.max_reads_out) > state_.pulls_free ||
      exrnic_read_places(command.max_reads_in) > state_.reads_free)
    return EXRNIC_MBOX_STATUS_NO_ROOM;
  const uint16_t generation = qp.generation;
  const BrokenLives broken = qp.broken;
  qp = {};
  static_cast<exrnic_mbox_create_qp&>(qp) = command;
  qp.valid = true;
  qp.has = qp.new_attributes();
  state_.pulls_free -= exrnic_read_places(qp.max_reads_out);
  state_.reads_free -= exrnic_read_places(qp.max_reads_in);
  qp.generation = next_generation(generation);
  qp.broken = broken;
  qp.broken.begins(qp.generation);
  state_.forget_events(EXRNIC_EQE_OBJECT_QP, command.qpn);
  state_.pio[qp.page].drop();
  return EXRNIC_MBOX_STATUS_OK;
}

exrnic_mbox_status Mailbox::modify_qp(const exrnic_mbox_modify_qp& command) {
  if (command.qpn >= state_.qps.size()) return EXRNIC_MBOX_STATUS_BAD_INDEX;
  if (command.state > EXRNIC_QP_STATE_SQD || (command.attributes & ~(kOfRc | kOfUd)) != 0)
    return EXRNIC_MBOX_STATUS_BAD_PARAMETER;
  QueuePair& qp = state_.qps[command.qpn];
  const auto to = static_cast<exrnic_qp_state>(command.state);
  const exrnic_qp_state from = qp.status.state;
  if (!qp.valid || !allowed(from, to) ||
      (command.attributes & ~(attributes_of(qp.service) & attributes_with(from, to))) != 0)
    return EXRNIC_MBOX_STATUS_BAD_STATE;
  if ((attributes_needed(qp, to) & ~command.attributes) != 0 || !values_good(command, qp))
    return EXRNIC_MBOX_STATUS_BAD_PARAMETER;
  change_state(command.qpn, to);
  set_attributes(command, qp);
  state_.watched.erase(command.qpn);
  if (qp.sends() && qp.has_work_out()) state_.work_begins(command.qpn);
  // Datagrams have no peer: those of all queue pairs queue together, in their order.
  if (to == EXRNIC_QP_STATE_RTR && qp.is_datagram()) qp.dest_node = state_.config.node_id;
  return EXRNIC_MBOX_STATUS_OK;
}

bool Mailbox::values_good(const exrnic_mbox_modify_qp& command, const QueuePair& qp) const {
  constexpr uint32_t kRights =
      EXRNIC_ACCESS_REMOTE_WRITE | EXRNIC_ACCESS_REMOTE_READ | EXRNIC_ACCESS_REMOTE_ATOMIC;
  const auto bad = [&](uint32_t attribute, bool good) {
    return (command.attributes & attribute) != 0 && !good;
  };
  const uint32_t index = command.pkey_index;
  return !bad(EXRNIC_QP_ATTRIBUTES_DEST,
              state_.has_node(command.dest_node) && command.dest_qpn < EXRNIC_RESERVED_QPN) &&
         !bad(EXRNIC_QP_ATTRIBUTES_PKEY_INDEX,
              index < EXRNIC_PKEYS && (state_.pkeys[index] & ~EXRNIC_PKEY_FULL) != 0) &&
         !bad(EXRNIC_QP_ATTRIBUTES_ACCESS, (command.access & ~kRights) == 0) &&
         !bad(EXRNIC_QP_ATTRIBUTES_PATH_MTU, command.path_mtu >= EXRNIC_MTU_MIN &&
                                                 command.path_mtu <= EXRNIC_MTU_MAX &&
                                                 command.path_mtu % EXRNIC_MTU_STEP == 0) &&
         !bad(EXRNIC_QP_ATTRIBUTES_MAX_READS_IN, command.max_reads_in <= qp.max_reads_in) &&
         !bad(EXRNIC_QP_ATTRIBUTES_MAX_READS_OUT, command.max_reads_out <= qp.max_reads_out) &&
         !bad(EXRNIC_QP_ATTRIBUTES_MIN_RNR_TIMER, command.min_rnr_timer <= EXRNIC_RNR_TIMER_MAX) &&
         !bad(EXRNIC_QP_ATTRIBUTES_RNR_RETRY, command.rnr_retry <= EXRNIC_RNR_RETRY_ENDLESS) &&
         !bad(EXRNIC_QP_ATTRIBUTES_TIMEOUT, command.timeout <= EXRNIC_QP_TIMEOUT_MAX) &&
         !bad(EXRNIC_QP_ATTRIBUTES_RETRY_COUNT, command.retry_count <= EXRNIC_QP_RETRY_COUNT_MAX);
}

void Mailbox::set_attributes(const exrnic_mbox_modify_qp& command, QueuePair& qp) {
  const auto set = [&](uint32_t attribute, auto& what, auto to) {
    if (command.attributes & attribute) what = to;
  };
  set(EXRNIC_QP_ATTRIBUTES_DEST, qp.dest_node, command.dest_node);
  set(EXRNIC_QP_ATTRIBUTES_DEST, qp.dest_qpn, command.dest_qpn);
  set(EXRNIC_QP_ATTRIBUTES_QKEY, qp.has.qkey, command.qkey);
  set(EXRNIC_QP_ATTRIBUTES_PKEY_INDEX, qp.has.pkey_index, command.pkey_index);
  set(EXRNIC_QP_ATTRIBUTES_ACCESS, qp.has.access, command.access);
  set(EXRNIC_QP_ATTRIBUTES_PATH_MTU, qp.has.path_mtu, command.path_mtu);
  set(EXRNIC_QP_ATTRIBUTES_MAX_READS_IN, qp.has.reads_in, command.max_reads_in);
  set(EXRNIC_QP_ATTRIBUTES_MAX_READS_OUT, qp.has.reads_out, command.max_reads_out);
  set(EXRNIC_QP_ATTRIBUTES_MIN_RNR_TIMER, qp.has.rnr_timer, command.min_rnr_timer);
  set(EXRNIC_QP_ATTRIBUTES_RNR_RETRY, qp.has.rnr_retry, command.rnr_retry);
  set(EXRNIC_QP_ATTRIBUTES_TIMEOUT, qp.has.timeout, command.timeout);
  set(EXRNIC_QP_ATTRIBUTES_RETRY_COUNT, qp.has.retry_count, command.retry_count);
}

// RESET begins a new generation: what is under way ends without effect. With ERROR, what is under
// way is flushed; none of it has a cause of its own.
void Mailbox::change_state(uint32_t qpn, exrnic_qp_state to) {
  QueuePair& qp = state_.qps[qpn];
  if (to == EXRNIC_QP_STATE_RESET) {
    qp.status = {};
    qp.at = {};
    qp.has = qp.new_attributes();
    state_.pulling.erase(qpn);
    state_.forget_life(qpn);
    qp.generation = next_generation(qp.generation);
    qp.broken.begins(qp.generation);
    state_.pio[qp.page].drop();
  } else if (to == EXRNIC_QP_STATE_ERROR && !qp.in_error()) {
    qp.status.fault = qp.status.answer_lost = false;
    qp.status.exact = qp.status.rnr;
  }
  if (to == EXRNIC_QP_STATE_SQD && qp.status.state == EXRNIC_QP_STATE_RTS)
    qp.status.drains = !qp.at.drained;
  qp.status.state = to;
  if (qp.serves_peer() || qp.in_error()) state_.wake(qpn);
}

bool Mailbox::is_under_way(const QueuePair& qp) {
  return !qp.at.pulls.empty() || !qp.at.reads.empty() || qp.at.inbound.open || qp.at.reports != 0 ||
         (qp.status.answer_lost && !qp.status.told);
}

exrnic_mbox_status Mailbox::query_qp(const exrnic_mbox_object& command) {
  if (command.index >= state_.qps.size()) return EXRNIC_MBOX_STATUS_BAD_INDEX;
  const QueuePair& qp = state_.qps[command.index];
  if (!qp.valid) return EXRNIC_MBOX_STATUS_BAD_STATE;
  exrnic_mbox_query_qp now{};
  now.state = qp.status.state;
  now.dest_node = qp.dest_node;
  now.dest_qpn = qp.dest_qpn;
  now.sq_producer = qp.at.sq_producer;
  now.sq_consumer = qp.at.sq_consumer;
  now.under_way = is_under_way(qp);
  now.pkey_index = qp.has.pkey_index;
  now.qkey = qp.has.qkey;
  now.access = qp.has.access;
  now.path_mtu = qp.has.path_mtu;
  now.max_reads_in = qp.has.reads_in;
  now.max_reads_out = qp.has.reads_out;
  now.min_rnr_timer = qp.has.rnr_timer;
  now.rnr_retry = qp.has.rnr_retry;
  now.timeout = qp.has.timeout;
  now.retry_count = qp.has.retry_count;
  now.sq_draining = qp.is_draining();
  answer(now);
  return EXRNIC_MBOX_STATUS_OK;
}

exrnic_mbox_status Mailbox::destroy_qp(const exrnic_mbox_object& command) {
  if (command.index >= state_.qps.size()) return EXRNIC_MBOX_STATUS_BAD_INDEX;
  if (!state_.qps[command.index].valid) return EXRNIC_MBOX_STATUS_BAD_STATE;
  QueuePair& qp = state_.qps[command.index];
  for (auto& attachment : state_.attachments)
    if (attachment && attachment->qpn == command.index) attachment.reset();
  state_.pulls_free += exrnic_read_places(qp.max_reads_out);
  state_.reads_free += exrnic_read_places(qp.max_reads_in);
  qp.valid = false;  // the generation stays: the next one counts on
  qp.at = {};
  state_.pulling.erase(command.index);
  state_.watched.erase(command.index);
  state_.forget_events(EXRNIC_EQE_OBJECT_QP, command.index);
  state_.pio[qp.page].drop();
  return EXRNIC_MBOX_STATUS_OK;
}

exrnic_mbox_status Mailbox::register_mr(const exrnic_mbox_register_mr& command) {
  constexpr uint32_t kRights = EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_REMOTE_WRITE |
                               EXRNIC_ACCESS_REMOTE_READ | EXRNIC_ACCESS_REMOTE_ATOMIC |
                               EXRNIC_ACCESS_MW_BIND;
  if (stag_index(command.stag) >= state_.regions.size() || command.pd >= EXRNIC_MAX_PD)
    return EXRNIC_MBOX_STATUS_BAD_INDEX;
  Region& region = state_.regions[stag_index(command.stag)];
  if (region.valid) return EXRNIC_MBOX_STATUS_BAD_STATE;
  const uint32_t life = region.life + 1;
  if (command.kind == EXRNIC_REGION_KIND_FAST || command.kind == EXRNIC_REGION_KIND_MEMORY_WINDOW ||
      command.kind == EXRNIC_REGION_KIND_DOMAIN_WINDOW) {
    region = {command, /*valid=*/true, /*invalidated=*/true, life};
    return EXRNIC_MBOX_STATUS_OK;
  }
  const bool wraps = command.base + (command.length - 1) < command.base;
  if (command.kind != EXRNIC_REGION_KIND_MEMORY || command.length == 0 || wraps ||
      !pbl_good(command.pbl_address) || (command.access & ~kRights) != 0 ||
      (command.page_shift != EXRNIC_PAGE_SHIFT && command.page_shift != EXRNIC_HUGE_PAGE_SHIFT))
    return EXRNIC_MBOX_STATUS_BAD_PARAMETER;
  region = {command, /*valid=*/true, /*invalidated=*/false, life};
  return EXRNIC_MBOX_STATUS_OK;
}

exrnic_mbox_status Mailbox::invalidate_mr(const exrnic_mbox_object& command) {
  if (stag_index(command.index) >= state_.regions.size()) return EXRNIC_MBOX_STATUS_BAD_INDEX;
  Region& region = state_.regions[stag_index(command.index)];
  const bool named = region.stag == command.index || region.kind != EXRNIC_REGION_KIND_MEMORY;
  if (!region.valid || !named) return EXRNIC_MBOX_STATUS_BAD_STATE;
  const uint32_t life = region.life + 1;
  region = {};
  region.life = life;
  return EXRNIC_MBOX_STATUS_OK;
}

exrnic_mbox_status Mailbox::create_srq(const exrnic_mbox_create_srq& command) {
  if (command.srqn >= state_.srqs.size() || command.page >= EXRNIC_USER_PAGES ||
      command.pd >= EXRNIC_MAX_PD)
    return EXRNIC_MBOX_STATUS_BAD_INDEX;
  SharedReceiveQueue& srq = state_.srqs[command.srqn];
  if (srq.valid) return EXRNIC_MBOX_STATUS_BAD_STATE;
  if (!log_good(command.log_slots, EXRNIC_SQ_LOG_MAX) || !pbl_good(command.pbl_address) ||
      command.limit > EXRNIC_SRQ_LIMIT_MAX)
    return EXRNIC_MBOX_STATUS_BAD_PARAMETER;
  srq = {command, true};
  state_.forget_events(EXRNIC_EQE_OBJECT_SRQ, command.srqn);
  return EXRNIC_MBOX_STATUS_OK;
}

exrnic_mbox_status Mailbox::destroy_srq(const exrnic_mbox_object& command) {
  if (command.index >= state_.srqs.size()) return EXRNIC_MBOX_STATUS_BAD_INDEX;
  if (!state_.srqs[command.index].valid) return EXRNIC_MBOX_STATUS_BAD_STATE;
  state_.srqs[command.index] = {};
  state_.forget_events(EXRNIC_EQE_OBJECT_SRQ, command.index);
  return EXRNIC_MBOX_STATUS_OK;
}

exrnic_mbox_status Mailbox::modify_srq(const exrnic_mbox_modify_srq& command) {
  if (command.srqn >= state_.srqs.size()) return EXRNIC_MBOX_STATUS_BAD_INDEX;
  SharedReceiveQueue& srq = state_.srqs[command.srqn];
  if (!srq.valid) return EXRNIC_MBOX_STATUS_BAD_STATE;
  if (command.limit > EXRNIC_SRQ_LIMIT_MAX) return EXRNIC_MBOX_STATUS_BAD_PARAMETER;
  srq.limit = command.limit;
  return EXRNIC_MBOX_STATUS_OK;
}

exrnic_mbox_status Mailbox::query_srq(const exrnic_mbox_object& command) {
  if (command.index >= state_.srqs.size()) return EXRNIC_MBOX_STATUS_BAD_INDEX;
  const SharedReceiveQueue& srq = state_.srqs[command.index];
  if (!srq.valid) return EXRNIC_MBOX_STATUS_BAD_STATE;
  answer(exrnic_mbox_query_srq{srq.limit, srq.producer, srq.consumer});
  return EXRNIC_MBOX_STATUS_OK;
}

// ---- Groups

exrnic_mbox_status Mailbox::judge(const exrnic_mbox_group& command) const {
  if (command.qpn >= state_.qps.size()) return EXRNIC_MBOX_STATUS_BAD_INDEX;
  const QueuePair& qp = state_.qps[command.qpn];
  if (!qp.valid || !qp.is_datagram()) return EXRNIC_MBOX_STATUS_BAD_STATE;
  if (command.group > EXRNIC_GROUP_MAX) return EXRNIC_MBOX_STATUS_BAD_PARAMETER;
  return EXRNIC_MBOX_STATUS_OK;
}

std::optional<Attachment>* Mailbox::attachment(const exrnic_mbox_group& command) {
  for (auto& entry : state_.attachments)
    if (entry && entry->group == command.group && entry->qpn == command.qpn) return &entry;
  return nullptr;
}

exrnic_mbox_status Mailbox::attach_group(const exrnic_mbox_group& command) {
  if (const auto status = judge(command); status != EXRNIC_MBOX_STATUS_OK) return status;
  if (attachment(command) != nullptr) return EXRNIC_MBOX_STATUS_BAD_STATE;
  for (auto& entry : state_.attachments) {
    if (entry) continue;
    entry = {command.group, command.qpn};
    return EXRNIC_MBOX_STATUS_OK;
  }
  return EXRNIC_MBOX_STATUS_BAD_INDEX;
}

exrnic_mbox_status Mailbox::detach_group(const exrnic_mbox_group& command) {
  if (const auto status = judge(command); status != EXRNIC_MBOX_STATUS_OK) return status;
  std::optional<Attachment>* entry = attachment(command);
  if (entry == nullptr) return EXRNIC_MBOX_STATUS_BAD_STATE;
  entry->reset();
  return EXRNIC_MBOX_STATUS_OK;
}

exrnic_mbox_status Mailbox::set_window(const exrnic_mbox_set_window& command) {
  constexpr uint32_t kRights = EXRNIC_WINDOW_ACCESS_STORE | EXRNIC_WINDOW_ACCESS_LOAD;
  if (command.window >= state_.windows.size()) return EXRNIC_MBOX_STATUS_BAD_INDEX;
  if (command.access == 0) {
    windows_.set(command.window, {});
    return EXRNIC_MBOX_STATUS_OK;
  }
  if (command.qpn >= state_.qps.size()) return EXRNIC_MBOX_STATUS_BAD_INDEX;
  const QueuePair& qp = state_.qps[command.qpn];
  if (!qp.valid || qp.status.state != EXRNIC_QP_STATE_RTS || qp.service != EXRNIC_SERVICE_RC)
    return EXRNIC_MBOX_STATUS_BAD_STATE;
  // What was posted may have to be sent again, and stores that leave before that would be lost.
  // Loads have numbers of their own, which the peer knows already where there were PULLs.
  if (qp.sq_posted() || !qp.all_ended() || !qp.at.pulls.empty() || qp.at.read_msn != 0)
    return EXRNIC_MBOX_STATUS_BAD_STATE;
  const bool wraps = command.base + (command.length - 1) < command.base;
  if ((command.access & ~kRights) != 0 || command.length == 0 ||
      command.length > state_.window_size() || wraps || qp.dest_node == state_.config.node_id)
    return EXRNIC_MBOX_STATUS_BAD_PARAMETER;
  windows_.set(command.window, {command, qp.generation});
  return EXRNIC_MBOX_STATUS_OK;
}

}  // namespace exrnic::ref
