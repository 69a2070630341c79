// SPDX-License-Identifier: BSD-2-Clause
// What the host does to a node: for the shadow too, and what it says about where time decides.
#include <utility>

#include "exrnic_hw.h"
#include "exrnic_registers.h"
#include "rtl-model/lockstep/comparison.h"
#include "rtl-model/lockstep/registers.h"

namespace exrnic::lockstep {
namespace {

bool is_for_cq(uint32_t bell) {
  return bell == EXRNIC_DOORBELL_CQ || bell == EXRNIC_DOORBELL_CQ_ARM ||
         bell == EXRNIC_DOORBELL_CQ_ARM_SOLICITED;
}

MmioAccess word_at(uint32_t offset) { return {EXRNIC_BAR_REGISTERS, offset, 4, 0}; }

}  // namespace

// Whoever was connected to it has lost its peer, sooner or later.
void Comparison::reset(uint32_t id) {
  for (const auto& [other, node] : nodes_)
    for (const auto& [qpn, qp] : node.ledger.driver().queue_pairs())
      if (other == id) {
        excuses_.raced({id, qpn});
      } else if (qp.peer && qp.peer->node == id) {
        excuses_.lost({other, qpn});
      }
  Node& node = nodes_.at(id);
  node.ledger.driver().reset();
  node.counters_differ = node.command_quiet = false;
  node.ahead.clear();
  node.overruns = node.subject_overruns = 0;
  messages_.closed_all(id);
  quiet_ = false;
  fabric_.reset(id);
}

void Comparison::store(uint32_t id, const MmioAccess& access) {
  const bool is_command = access.bar == EXRNIC_BAR_REGISTERS && access.size == sizeof(uint32_t) &&
                          access.offset == EXRNIC_REG_MBOX_COMMAND;
  if (is_command) read_payload(id);
  if (is_command) nodes_.at(id).ledger.driver().begins(static_cast<uint32_t>(access.data));
  if (access.bar == EXRNIC_BAR_WINDOW) quiet_ = false;
  if (access.bar != EXRNIC_BAR_USER) {
    fabric_.store(id, event_bell(id, access));
  } else {
    doorbell(id, access);
    fabric_.store(id, to_reference(id, access));
    look_for_overruns();
  }
  if (is_command) command(id, static_cast<uint32_t>(access.data));
}

// What the driver has not written is from the answer to an earlier command.
void Comparison::read_payload(uint32_t id) {
  for (uint32_t word = 0; word < EXRNIC_MBOX_DATA_BYTES; word += sizeof word)
    nodes_.at(id).ledger.driver().fill(word, shadow_register(id, EXRNIC_REG_MBOX_DATA + word));
}

// Where time has decided how many events there were, the two count them differently.
MmioAccess Comparison::event_bell(uint32_t id, MmioAccess access) {
  const bool arms = registers::in_eq_arm(access.offset);
  if (access.bar != EXRNIC_BAR_REGISTERS || access.size != sizeof(uint32_t) ||
      !(arms || registers::in_eq_consumer(access.offset)))
    return access;
  const uint32_t first = arms ? EXRNIC_REG_EQ_ARM : EXRNIC_REG_EQ_CONSUMER;
  EventRing* ring = nodes_.at(id).ledger.driver().event_ring((access.offset - first) / 4);
  if (ring == nullptr) return access;
  const auto index = ring->to_reference(static_cast<uint32_t>(access.data));
  if (!index) lose_all(id);
  if (index) access.data = *index;
  ring->rearmed |= arms && index && ring->reference_consumer == *index;
  return access;
}

// Those of pages that do not own what they name are refused by both.
void Comparison::doorbell(uint32_t id, const MmioAccess& access) {
  const bool was_quiet = std::exchange(quiet_, false);
  if (access.offset % EXRNIC_USER_PAGE_SIZE >= EXRNIC_PIO_AREA) return store_block(id, access);
  if (access.size != sizeof access.data) return;
  const uint32_t bell = access.offset % EXRNIC_USER_PAGE_SIZE;
  const uint32_t page = access.offset / EXRNIC_USER_PAGE_SIZE;
  const auto number = static_cast<uint32_t>(access.data);
  const auto index = static_cast<uint32_t>(access.data >> 32);
  DriverView& driver = nodes_.at(id).ledger.driver();
  if (bell == EXRNIC_DOORBELL_SQ || bell == EXRNIC_DOORBELL_RQ) {
    const bool receive = bell == EXRNIC_DOORBELL_RQ;
    if (!driver.owns_qp(page, number)) return;
    if (!receive) excuses_.posted({id, number});
    if (!receive) messages_.posted({id, number});
    if (driver.is_rash_qp(number, receive, index)) excuses_.lost({id, number});
    if (receive) driver.posted(number, index);
  } else if (bell == EXRNIC_DOORBELL_SRQ) {
    if (!driver.owns_srq(page, number)) return;
    if (driver.is_rash_srq(number, index)) lose_shared(id, number);
    driver.posted_shared(number, index);
  } else if (is_for_cq(bell) && driver.owns_cq(page, number)) {
    if (driver.is_rash_cq(number, index)) lose_all(id);
    // A reference that is ahead fires at once, where the subject may wait for a solicited one.
    const bool solicited = bell == EXRNIC_DOORBELL_CQ_ARM_SOLICITED;
    if (bell != EXRNIC_DOORBELL_CQ) driver.armed(number, was_quiet || !solicited);
  }
}

// A block that says something else than the ring: time decides which of the two is executed.
void Comparison::store_block(uint32_t id, const MmioAccess& access) {
  if (access.offset >= EXRNIC_BAR2_SIZE || shadow_register(id, EXRNIC_REG_CONTROL) == 0) return;
  Node& node = nodes_.at(id);
  DriverView& driver = node.ledger.driver();
  const auto block = driver.store_block(access);
  if (!block || !driver.owns_qp(access.offset / EXRNIC_USER_PAGE_SIZE, block->number)) return;
  const Endpoint qp{id, block->number};
  excuses_.posted(qp);
  messages_.posted(qp);
  const auto read_memory = [&node](uint64_t address, uint8_t* out, size_t length) {
    return node.subject->peek(address, out, length);
  };
  if (driver.is_rash_qp(qp.qpn, false, block->index) || !driver.is_in_ring(*block, read_memory))
    excuses_.lost(qp);
}

// Where time has decided how many completions there were, the two count them differently.
MmioAccess Comparison::to_reference(uint32_t id, MmioAccess access) const {
  if (access.size != sizeof access.data || !is_for_cq(access.offset % EXRNIC_USER_PAGE_SIZE))
    return access;
  const auto cqn = static_cast<uint32_t>(access.data);
  const auto index = static_cast<uint32_t>(access.data >> 32);
  const uint64_t counted = nodes_.at(id).ledger.driver().to_reference(cqn, index);
  access.data = cqn | counted << 32;
  return access;
}

void Comparison::lose_all(uint32_t id) {
  for (const auto& entry : nodes_.at(id).ledger.driver().queue_pairs())
    excuses_.lost({id, entry.first});
}

void Comparison::lose_shared(uint32_t id, uint32_t srqn) {
  for (const auto& [qpn, qp] : nodes_.at(id).ledger.driver().queue_pairs())
    if (qp.srqn == srqn) excuses_.lost({id, qpn});
}

// A shadow is ahead: its completion queue may be full where the subject's will not be.
void Comparison::look_for_overruns() {
  for (auto& [id, node] : nodes_) {
    const uint32_t overruns = shadow_register(id, overrun_counter());
    if (overruns != std::exchange(node.overruns, overruns)) lose_all(id);
  }
}

void Comparison::command(uint32_t id, uint32_t op) {
  Node& node = nodes_.at(id);
  node.command_quiet = quiet_;
  DriverView& driver = node.ledger.driver();
  const auto read_memory = [&node](uint64_t address, uint8_t* out, size_t length) {
    return node.subject->peek(address, out, length);
  };
  const uint32_t status = shadow_register(id, EXRNIC_REG_MBOX_STATUS);
  // A shadow is ahead: more may be unread in it.
  if (op == EXRNIC_MBOX_OP_RESIZE_CQ && status == EXRNIC_MBOX_STATUS_BAD_STATE && !quiet_ &&
      driver.may_resize(read_memory))
    lose_all(id);
  if (status != EXRNIC_MBOX_STATUS_OK) return driver.failed(op);
  take_away(id, op, driver.command<exrnic_mbox_object>().index);
  driver.succeeded(op, read_memory);
  follow_connection(id, op);
}

// Before RTR nothing is exchanged, and the reset before that is over.
void Comparison::follow_connection(uint32_t id, uint32_t op) {
  const DriverView& driver = nodes_.at(id).ledger.driver();
  const Endpoint qp{id, driver.command<exrnic_mbox_object>().index};
  if (op == EXRNIC_MBOX_OP_CREATE_QP || op == EXRNIC_MBOX_OP_DESTROY_QP) messages_.closed(qp);
  if (op != EXRNIC_MBOX_OP_MODIFY_QP) return;
  const QueuePairView& view = driver.queue_pairs().at(qp.qpn);
  if (view.state == EXRNIC_QP_STATE_RESET) messages_.closed(qp);
  const uint32_t state = driver.command<exrnic_mbox_modify_qp>().state;
  if (state == EXRNIC_QP_STATE_RTR && view.reliable && view.peer)
    messages_.connected(qp, {view.peer->node, view.peer->qpn});
}

// What the driver takes from work that is under way ends with the one core sooner than with the
// other. (The index is the first word of each of these commands.)
void Comparison::take_away(uint32_t id, uint32_t op, uint32_t index) {
  const Endpoint qp{id, index};
  const DriverView& driver = nodes_.at(id).ledger.driver();
  switch (op) {
    case EXRNIC_MBOX_OP_MODIFY_QP: {
      const uint32_t state = driver.command<exrnic_mbox_modify_qp>().state;
      const bool ends = state == EXRNIC_QP_STATE_RESET || state == EXRNIC_QP_STATE_ERROR ||
                        state == EXRNIC_QP_STATE_SQD;  // which work has begun then
      if (ends && !quiet_) excuses_.raced(qp);
      if (state == EXRNIC_QP_STATE_RESET) excuses_.renewed(qp);
      if (driver.has_skewed_receives(index)) excuses_.lost(qp);
      return;
    }
    case EXRNIC_MBOX_OP_SET_WINDOW:
      placed_differ_ = true;
      if (!quiet_) excuses_.raced(qp);
      return;
    case EXRNIC_MBOX_OP_CREATE_QP:
      return excuses_.renewed(qp);
    case EXRNIC_MBOX_OP_DESTROY_QP:
      if (!quiet_) excuses_.raced(qp);
      return excuses_.renewed(qp);
    case EXRNIC_MBOX_OP_DESTROY_CQ:
    case EXRNIC_MBOX_OP_DESTROY_SRQ:
    case EXRNIC_MBOX_OP_INVALIDATE_MR:
      if (quiet_) return;
      for (const auto& entry : driver.queue_pairs()) excuses_.raced({id, entry.first});
      return;
    default:
      return;
  }
}

Expectation Comparison::load(uint32_t id, const MmioAccess& access) {
  if (access.bar == EXRNIC_BAR_WINDOW) quiet_ = false;
  return {access, fabric_.load(id, access), quiet_};
}

uint32_t Comparison::shadow_register(uint32_t id, uint32_t offset) {
  return static_cast<uint32_t>(fabric_.load(id, word_at(offset)));
}

}  // namespace exrnic::lockstep
