// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/lockstep/messages.h"

#include <fmt/format.h>

#include <algorithm>

#include "rtl-model/lockstep/mismatch.h"

namespace exrnic::lockstep {
// What its peer had given to it may have been taken in the life that is over.
void Messages::stop_judging(const Endpoint& receiver) {
  for (auto& [qp, end] : ends_)
    if (end.peer == receiver && end.posted) end.judged = false;
}

void Messages::connected(const Endpoint& qp, const Endpoint& peer) {
  End& end = ends_[qp] = {};
  end.peer = peer;
}

void Messages::closed(const Endpoint& qp) {
  ends_.erase(qp);
  stop_judging(qp);
}

void Messages::closed_all(uint32_t node) {
  for (auto end = ends_.begin(); end != ends_.end();)
    end = end->first.node == node ? ends_.erase(end) : std::next(end);
  overrun(node);
}

void Messages::overrun(uint32_t node) {
  for (auto& [qp, end] : ends_)
    if (end.peer.node == node) end.judged = false;
}

void Messages::posted(const Endpoint& qp) {
  if (const auto end = ends_.find(qp); end != ends_.end()) end->second.posted = true;
}

void Messages::completed(const Endpoint& qp, const exrnic_cqe& cqe) {
  const auto end = ends_.find(qp);
  if (end == ends_.end() || cqe.status != EXRNIC_CQE_STATUS_SUCCESS) return;
  if (cqe.opcode == EXRNIC_WQE_OPCODE_RECV) end->second.taken.push_back(cqe.byte_length);
  if (exrnic_of_wqe_opcode(cqe.opcode).receive) end->second.sent.push_back(cqe.byte_length);
}

// Not every work request has a completion: so those that have are among what the peer took.
void Messages::rest() const {
  for (const auto& [qp, end] : ends_) {
    const auto peer = ends_.find(end.peer);
    if (!end.judged || peer == ends_.end() || peer->second.peer != qp) continue;
    const std::vector<uint32_t>& taken = peer->second.taken;
    auto next = taken.begin();
    for (size_t i = 0; i < end.sent.size(); ++i) {
      next = std::find(next, taken.end(), end.sent[i]);
      if (next == taken.end())
        throw Mismatch(fmt::format(
            "lockstep: node {}: queue pair {}: message {} of {} bytes has ended with SUCCESS, and "
            "queue pair {} of node {}, which took {} messages, has no receive of it",
            qp.node, qp.qpn, i, end.sent[i], end.peer.qpn, end.peer.node, taken.size()));
      ++next;
    }
  }
}

}  // namespace exrnic::lockstep
