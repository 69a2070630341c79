// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/user_page.h"

#include <cstring>

namespace exrnic::ref {

void UserPage::store(const MmioAccess& access) {
  exrnic_doorbell bell;
  static_assert(sizeof bell == sizeof access.data);
  std::memcpy(&bell, &access.data, sizeof bell);
  const uint32_t page = access.offset / EXRNIC_USER_PAGE_SIZE;
  const bool well_formed =
      state_.settings.enable && access.size == sizeof bell && access.offset < EXRNIC_BAR2_SIZE;
  bool accepted = false;
  switch (well_formed ? access.offset % EXRNIC_USER_PAGE_SIZE : EXRNIC_USER_PAGE_SIZE) {
    case EXRNIC_DOORBELL_SQ:
      accepted = ring_queue_pair(bell, page, false);
      break;
    case EXRNIC_DOORBELL_RQ:
      accepted = ring_queue_pair(bell, page, true);
      break;
    case EXRNIC_DOORBELL_CQ:
      return completer_.ring({bell.number, bell.index, false, page});
    case EXRNIC_DOORBELL_CQ_ARM:
      return completer_.ring({bell.number, bell.index, true, page});
    default:
      break;
  }
  state_.count(accepted ? EXRNIC_COUNTER_DOORBELLS : EXRNIC_COUNTER_DOORBELLS_REFUSED);
}

// The new index may run ahead of the consumer by no more than the ring holds, and takes back
// nothing: what was posted may have been taken already.
bool UserPage::ring_queue_pair(const exrnic_doorbell& bell, uint32_t page, bool receive) {
  if (bell.number >= state_.qps.size() || bell.index > UINT16_MAX) return false;
  QueuePair& qp = state_.qps[bell.number];
  if (!qp.valid || qp.page != page || qp.status.state == EXRNIC_QP_STATE_RESET) return false;
  uint16_t& producer = receive ? qp.rq_producer : qp.sq_producer;
  const uint16_t consumer = receive ? qp.rq_consumer : qp.sq_consumer;
  const auto posted = static_cast<uint16_t>(bell.index - consumer);
  const auto posted_before = static_cast<uint16_t>(producer - consumer);
  if (posted < posted_before || posted > 1u << (receive ? qp.rq_log : qp.sq_log)) return false;
  producer = static_cast<uint16_t>(bell.index);
  state_.wake(bell.number);
  return true;
}

}  // namespace exrnic::ref
