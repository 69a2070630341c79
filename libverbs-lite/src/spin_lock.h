// SPDX-License-Identifier: BSD-2-Clause
// The lock of the data path. A std::mutex would be a system call away whenever threads meet, and
// seccomp strict mode kills for that; the sections it guards are some tens of instructions.
#ifndef EXRNIC_LIBVERBS_SPIN_LOCK_H
#define EXRNIC_LIBVERBS_SPIN_LOCK_H

#include <sched.h>

#include <atomic>

namespace exrnic {

// Lockable as std::lock_guard wants it.
class SpinLock {
 public:
  void lock() {
    for (int spins = 0; flag_.exchange(true, std::memory_order_acquire); ++spins) {
      // The holder lost its processor: give it ours.
      if (spins >= kSpinsBeforeYield) sched_yield();
      while (flag_.load(std::memory_order_relaxed) && spins < kSpinsBeforeYield) ++spins;
    }
  }
  bool try_lock() { return !flag_.exchange(true, std::memory_order_acquire); }
  void unlock() { flag_.store(false, std::memory_order_release); }

 private:
  static constexpr int kSpinsBeforeYield = 10000;
  std::atomic<bool> flag_{false};
};

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_SPIN_LOCK_H
