// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/credits.h"

#include <utility>

namespace exrnic::ref {

void Credits::run() {
  if (state_.credits_heard.empty() && state_.credits_changed.empty()) return;
  for (const CreditUpdate& update : std::exchange(state_.credits_heard, {})) hear(update);
  for (const uint32_t qpn : std::exchange(state_.credits_changed, {})) tell(qpn);
}

// A limit only rises: it does not matter in which order updates come, or how often.
void Credits::hear(const CreditUpdate& update) {
  QueuePair* qp = update.dst_qpn < state_.qps.size() ? &state_.qps[update.dst_qpn] : nullptr;
  if (qp == nullptr || !qp->valid || qp->service != EXRNIC_SERVICE_RC || !qp->serves_peer() ||
      qp->dest_node != update.node || qp->dest_qpn != update.src_qpn ||
      qp->generation != update.dst_generation || qp->at.peer.generation != update.src_generation)
    return state_.count(EXRNIC_COUNTER_CREDIT_REFUSED);
  auto& at = qp->at;
  if (at.limit && credit_distance(*at.limit, update.limit) <= 0) return;
  at.limit = update.limit;
  if (at.pauses_for_credit && at.pause_until != 0) at.pause_until = state_.time_ns;
}

// When the peer may be about to run out, and new receives are at least as many as it knows of.
// The slots of the ring stand for its receives: there are no more.
void Credits::tell(uint32_t qpn) {
  QueuePair& qp = state_.qps[qpn];
  auto& told = qp.at.told;
  if (!qp.valid || !qp.serves_peer() || !told.peer_sends) return;
  const uint32_t messages = qp.at.inbound.messages + qp.at.inbound.open;
  const uint32_t limit = messages + static_cast<uint16_t>(qp.at.rq_producer - qp.at.rq_consumer);
  const uint32_t known = told.lapsed ? messages : told.limit;
  const int news = credit_distance(known, limit);
  const int left = credit_distance(messages, known);
  if (told.any && (news <= 0 || left >= news)) return;
  told.any = true;
  told.lapsed = false;
  told.limit = limit;
  efe_tx_.owe_credit({qp.dest_node, qp.dest_qpn, qpn, qp.generation, qp.at.peer.generation,
                      limit & ~EXRNIC_CREDIT_VALID});
}

}  // namespace exrnic::ref
