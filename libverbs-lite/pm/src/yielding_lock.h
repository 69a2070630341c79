// SPDX-License-Identifier: BSD-2-Clause
// The lock of a context. Nobody sleeps in a library that polls: one that finds it held gives its
// processor away, and looks again. Where there is one thread, it is one exchange and one store.
#ifndef EXRNIC_PM_YIELDING_LOCK_H
#define EXRNIC_PM_YIELDING_LOCK_H

#include <sched.h>

#include <atomic>

namespace exrnic {

// Lockable as std::lock_guard wants it.
class YieldingLock {
 public:
  void lock() {
    while (!try_lock()) {
      do sched_yield();
      while (held_.load(std::memory_order_relaxed));
    }
  }
  bool try_lock() { return !held_.exchange(true, std::memory_order_acquire); }
  void unlock() { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> held_{false};
};

}  // namespace exrnic

#endif  // EXRNIC_PM_YIELDING_LOCK_H
