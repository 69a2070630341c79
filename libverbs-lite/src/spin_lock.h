// SPDX-License-Identifier: BSD-2-Clause
// The lock of the data path. It never enters the kernel: a std::mutex does where threads meet, and
// so does giving the processor away, and seccomp strict mode kills for either. What it guards is
// some tens of instructions, without a system call; only PioBlocks holds one for longer, and nobody
// waits for that one, and vl_resize_cq, while it moves what is unread.
//
// Who waits looks ever less often, so the holder has the cache line to itself. A holder that has
// lost its processor is waited for until it is on again: the scheduler sees to that, but not where
// the waiting thread has a real-time priority above the holder's and its only processor.
#ifndef EXRNIC_LIBVERBS_SPIN_LOCK_H
#define EXRNIC_LIBVERBS_SPIN_LOCK_H

#include <atomic>
#include <cstdint>

namespace exrnic {

// Tells the processor that this thread only waits: it saves power, and a sibling thread runs
// faster.
inline void PauseProcessor() {
#if defined(__x86_64__)
  asm volatile("pause" ::: "memory");
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#else
#error "name the instruction of a thread that spins here"
#endif
}

// Lockable as std::lock_guard wants it.
class SpinLock {
 public:
  void lock() {
    for (uint32_t pauses = 1; !try_lock();) {
      do {
        for (uint32_t i = 0; i < pauses; ++i) PauseProcessor();
        if (pauses < kMostPauses) pauses *= 2;
      } while (flag_.load(std::memory_order_relaxed));
    }
  }
  bool try_lock() { return !flag_.exchange(true, std::memory_order_acquire); }
  void unlock() { flag_.store(false, std::memory_order_release); }

 private:
  static constexpr uint32_t kMostPauses = 64;  // a microsecond or two
  std::atomic<bool> flag_{false};
};

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_SPIN_LOCK_H
