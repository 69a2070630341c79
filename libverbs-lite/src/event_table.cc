// SPDX-License-Identifier: BSD-2-Clause
#include "event_table.h"

#include <new>

namespace exrnic {

uint64_t EventTable::Add() {
  std::lock_guard<std::mutex> guard(mutex_);
  try {
    entries_[last_ + 1];
  } catch (const std::bad_alloc&) {
    return 0;
  }
  return ++last_;
}

void EventTable::Set(uint64_t cookie, void* object) {
  std::lock_guard<std::mutex> guard(mutex_);
  entries_[cookie].object = object;
}

void* EventTable::Take(uint64_t cookie) {
  std::lock_guard<std::mutex> guard(mutex_);
  const auto entry = entries_.find(cookie);
  if (entry == entries_.end() || entry->second.object == nullptr) return nullptr;
  ++entry->second.taken;
  return entry->second.object;
}

bool EventTable::Acknowledge(uint64_t cookie, unsigned events) {
  std::lock_guard<std::mutex> guard(mutex_);
  const auto entry = entries_.find(cookie);
  if (entry == entries_.end() || entry->second.taken < events) return false;
  entry->second.taken -= events;
  return true;
}

bool EventTable::Retire(uint64_t cookie) {
  std::lock_guard<std::mutex> guard(mutex_);
  const auto entry = entries_.find(cookie);
  if (entry == entries_.end()) return true;
  if (entry->second.taken > 0) return false;
  entry->second.object = nullptr;
  return true;
}

void EventTable::Forget(uint64_t cookie) {
  std::lock_guard<std::mutex> guard(mutex_);
  entries_.erase(cookie);
}

}  // namespace exrnic
