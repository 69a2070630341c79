// SPDX-License-Identifier: BSD-2-Clause
#include "lock_manager.h"

#include <algorithm>
#include <utility>

#include "dsm_error.h"

namespace exrnic {

void MergeDsmClock(const DsmClock& from, DsmClock* into) {
  for (size_t i = 0; i < from.size(); ++i) (*into)[i] = std::max((*into)[i], from[i]);
}

DsmLockManager::OneLock* DsmLockManager::Lock(uint32_t lock) {
  OneLock* const found = &locks_[lock];
  found->clock.resize(nodes_);
  return found;
}

DsmLockManager::OneCondition* DsmLockManager::Condition(uint32_t condition) {
  OneCondition* const found = &conditions_[condition];
  found->clock.resize(nodes_);
  return found;
}

bool DsmLockManager::Acquire(uint32_t lock, unsigned node) {
  OneLock* const found = Lock(lock);
  const auto& waiting = found->waiting;
  if (found->holder == node || std::count(waiting.begin(), waiting.end(), node) != 0) {
    throw DsmError("lock " + std::to_string(lock) + " is asked for by node " +
                   std::to_string(node) + ", which has it, or has asked before");
  }
  if (found->holder) {
    found->waiting.push_back(node);
    return false;
  }
  found->holder = node;
  return true;
}

std::optional<unsigned> DsmLockManager::Release(uint32_t lock, unsigned node,
                                                const DsmClock& clock) {
  OneLock* const found = Lock(lock);
  if (found->holder != node) {
    throw DsmError("lock " + std::to_string(lock) + " is released by node " + std::to_string(node) +
                   ", which does not hold it");
  }
  MergeDsmClock(clock, &found->clock);
  found->holder.reset();
  if (found->waiting.empty()) return std::nullopt;
  found->holder = found->waiting.front();
  found->waiting.pop_front();
  return found->holder;
}

std::vector<unsigned> DsmLockManager::Set(uint32_t condition, const DsmClock& clock) {
  OneCondition* const found = Condition(condition);
  MergeDsmClock(clock, &found->clock);
  found->is_set = true;
  return std::exchange(found->waiting, {});
}

bool DsmLockManager::Await(uint32_t condition, unsigned node) {
  OneCondition* const found = Condition(condition);
  if (std::count(found->waiting.begin(), found->waiting.end(), node) != 0) {
    throw DsmError("condition variable " + std::to_string(condition) + " is awaited by node " +
                   std::to_string(node) + ", which awaits it already");
  }
  if (!found->is_set) found->waiting.push_back(node);
  return found->is_set;
}

}  // namespace exrnic
