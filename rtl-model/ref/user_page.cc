// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/user_page.h"

#include <cstring>

namespace exrnic::ref {
namespace {

// The new index may run ahead of the consumer by no more than the ring holds, and takes back
// nothing: what was posted may have been taken already.
bool post(const exrnic_doorbell& bell, uint16_t consumer, uint32_t log_slots, uint16_t& producer) {
  const auto posted = static_cast<uint16_t>(bell.index - consumer);
  const auto posted_before = static_cast<uint16_t>(producer - consumer);
  if (bell.index > UINT16_MAX || posted < posted_before || posted > 1u << log_slots) return false;
  producer = static_cast<uint16_t>(bell.index);
  return true;
}

}  // namespace

void UserPage::store(const MmioAccess& access) {
  if (access.offset < EXRNIC_BAR2_SIZE && access.offset % EXRNIC_USER_PAGE_SIZE >= EXRNIC_PIO_AREA)
    return store_pio(access);
  exrnic_doorbell bell;
  static_assert(sizeof bell == sizeof access.data);
  std::memcpy(&bell, &access.data, sizeof bell);
  const uint32_t page = access.offset / EXRNIC_USER_PAGE_SIZE;
  const bool well_formed =
      state_.enabled() && access.size == sizeof bell && access.offset < EXRNIC_BAR2_SIZE;
  bool accepted = false;
  switch (well_formed ? access.offset % EXRNIC_USER_PAGE_SIZE : EXRNIC_USER_PAGE_SIZE) {
    case EXRNIC_DOORBELL_SQ:
      accepted = ring_queue_pair(bell, page, false);
      break;
    case EXRNIC_DOORBELL_RQ:
      accepted = ring_queue_pair(bell, page, true);
      break;
    case EXRNIC_DOORBELL_CQ:
      return completer_.ring({bell.number, bell.index, CompletionQueue::Arm::kNone, page});
    case EXRNIC_DOORBELL_CQ_ARM:
      return completer_.ring({bell.number, bell.index, CompletionQueue::Arm::kAny, page});
    case EXRNIC_DOORBELL_CQ_ARM_SOLICITED:
      return completer_.ring({bell.number, bell.index, CompletionQueue::Arm::kSolicited, page});
    case EXRNIC_DOORBELL_SRQ:
      accepted = ring_shared(bell, page);
      break;
    default:
      break;
  }
  state_.count(accepted ? EXRNIC_COUNTER_DOORBELLS : EXRNIC_COUNTER_DOORBELLS_REFUSED);
}

void UserPage::store_pio(const MmioAccess& access) {
  if (!state_.enabled()) return state_.count(EXRNIC_COUNTER_PIO_REFUSED);
  const uint32_t page = access.offset / EXRNIC_USER_PAGE_SIZE;
  const uint32_t offset = access.offset % EXRNIC_USER_PAGE_SIZE - EXRNIC_PIO_AREA;
  const auto outcome = state_.pio[page].store(offset, access.size, access.data);
  if (outcome.refused) state_.count(EXRNIC_COUNTER_PIO_REFUSED);
  if (!outcome.block) return;
  const bool accepted = post_block(page, *outcome.block);
  state_.count(accepted ? EXRNIC_COUNTER_DOORBELLS : EXRNIC_COUNTER_PIO_REFUSED);
}

// A doorbell of the next slot. It need not be read from the ring if nothing stands before it.
bool UserPage::post_block(uint32_t page, const exrnic_wqe& block) {
  if (block.number >= state_.qps.size() || block.num_slots != 1) return false;
  QueuePair& qp = state_.qps[block.number];
  const uint16_t slot = qp.at.sq_producer;
  const bool is_first = !qp.sq_posted() && !qp.at.halted;
  if (block.index != uint16_t(slot + 1) ||
      !ring_queue_pair({block.number, block.index}, page, /*receive=*/false))
    return false;
  if (is_first && qp.status.state == EXRNIC_QP_STATE_RTS) qp.at.held = HeldWork{slot, block};
  return true;
}

// One with a shared receive queue has none of its own.
bool UserPage::ring_queue_pair(const exrnic_doorbell& bell, uint32_t page, bool receive) {
  if (bell.number >= state_.qps.size()) return false;
  QueuePair& qp = state_.qps[bell.number];
  if (!qp.valid || qp.page != page || qp.status.state == EXRNIC_QP_STATE_RESET) return false;
  if (receive && qp.has_srq()) return false;
  if (!(receive ? post(bell, qp.at.rq_consumer, qp.rq_log_slots, qp.at.rq_producer)
                : post(bell, qp.at.sq_consumer, qp.sq_log_slots, qp.at.sq_producer)))
    return false;
  if (receive) state_.credits_changed.insert(bell.number);
  if (!receive) state_.trace(EXRNIC_TRACE_DOORBELL, bell.number, qp.at.sq_producer);
  state_.wake(bell.number);
  return true;
}

bool UserPage::ring_shared(const exrnic_doorbell& bell, uint32_t page) {
  if (bell.number >= state_.srqs.size()) return false;
  SharedReceiveQueue& srq = state_.srqs[bell.number];
  return srq.valid && srq.page == page && post(bell, srq.consumer, srq.log_slots, srq.producer);
}

}  // namespace exrnic::ref
