// SPDX-License-Identifier: BSD-2-Clause
// Locks and condition variables of which this node is the manager. No messages here: it says who is
// to be told what. Each has the clock of those who released it, or set it.
#ifndef EXRNIC_DSM_LOCK_MANAGER_H
#define EXRNIC_DSM_LOCK_MANAGER_H

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dsm_message.h"

namespace exrnic {

void MergeDsmClock(const DsmClock& from, DsmClock* into);

class DsmLockManager {
 public:
  explicit DsmLockManager(unsigned nodes) : nodes_(nodes) {}

  // Each throws DsmError of what the node may not do: it has the lock, or has it not.
  // True: it has it now.
  bool Acquire(uint32_t lock, unsigned node);
  // Who has it now, if one waits.
  std::optional<unsigned> Release(uint32_t lock, unsigned node, const DsmClock& clock);
  const DsmClock& ClockOfLock(uint32_t lock) { return Lock(lock)->clock; }
  std::optional<unsigned> Holder(uint32_t lock) { return Lock(lock)->holder; }

  // Those who waited for it.
  std::vector<unsigned> Set(uint32_t condition, const DsmClock& clock);
  void Reset(uint32_t condition) { Condition(condition)->is_set = false; }
  // True: it is set.
  bool Await(uint32_t condition, unsigned node);
  const DsmClock& ClockOfCondition(uint32_t condition) { return Condition(condition)->clock; }

 private:
  struct OneLock {
    std::optional<unsigned> holder;
    std::deque<unsigned> waiting;
    DsmClock clock;
  };
  struct OneCondition {
    bool is_set = false;
    std::vector<unsigned> waiting;
    DsmClock clock;
  };
  OneLock* Lock(uint32_t lock);
  OneCondition* Condition(uint32_t condition);

  const unsigned nodes_;
  std::map<uint32_t, OneLock> locks_;
  std::map<uint32_t, OneCondition> conditions_;
};

}  // namespace exrnic

#endif  // EXRNIC_DSM_LOCK_MANAGER_H
