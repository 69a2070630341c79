// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/lockstep/excuses.h"

namespace exrnic::lockstep {

void Excuses::rest() {
  for (auto entry = of_.begin(); entry != of_.end();) {
    if (entry->second.lost) {
      (entry++)->second = {false, false, false, true};
    } else {
      entry = of_.erase(entry);
    }
  }
}

Excuses::Facts Excuses::facts(const Endpoint& qp) const {
  const auto own = of_.find(qp);
  const auto other = of_.find(peer_of_(qp));
  const Facts a = own == of_.end() ? Facts{} : own->second;
  const Facts b = other == of_.end() ? Facts{} : other->second;
  return {a.posted && b.posted, a.failed || b.failed, a.raced || b.raced, a.lost || b.lost};
}

bool Excuses::cut_short(const Endpoint& qp) const { return facts(qp).failed || any_outcome(qp); }

bool Excuses::any_outcome(const Endpoint& qp) const {
  const Facts both = facts(qp);
  return both.raced || both.lost || (both.failed && both.posted);
}

template <typename Judge>
bool Excuses::any(uint32_t node, Judge judge) const {
  for (const auto& entry : of_) {
    const Endpoint& qp = entry.first;
    if ((qp.node == node || peer_of_(qp).node == node) && judge(qp)) return true;
  }
  return false;
}

bool Excuses::any_at(uint32_t node) const {
  return any(node, [this](const Endpoint& qp) { return cut_short(qp); });
}

bool Excuses::lost_at(uint32_t node) const {
  return any(node, [this](const Endpoint& qp) { return of_.at(qp).lost; });
}

}  // namespace exrnic::lockstep
