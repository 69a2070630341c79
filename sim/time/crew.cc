// SPDX-License-Identifier: BSD-2-Clause
#include "sim/time/crew.h"

#include <cassert>
#include <string>
#include <system_error>
#include <utility>

namespace exrnic {
namespace {

// A thread that waits looks so often, some 50 us, which is longer than one that simulates takes
// between two pieces. Then the processor may be wanted elsewhere: by who does the work, perhaps.
constexpr unsigned kLooks = 2'000;

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

}  // namespace

Crew::Crew(unsigned threads) : thrown_(threads) {
  assert(threads >= 1);
  for (unsigned number = 1; number < threads; ++number) start(number);
}

Crew::~Crew() { send_home(); }

void Crew::start(unsigned number) {
  try {
    helpers_.emplace_back([this, number] { help(number); });
  } catch (const std::system_error& error) {
    send_home();
    throw std::system_error(error.code(),
                            "thread " + std::to_string(number + 1) + " cannot be started");
  }
}

void Crew::send_home() {
  work_ = nullptr;
  ++round_;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    woken_.notify_all();
  }
  for (std::thread& helper : helpers_) helper.join();
}

void Crew::run(const std::function<void(unsigned)>& work) {
  work_ = &work;
  at_work_ = threads() - 1;
  ++round_;
  if (asleep_ != 0) {
    const std::lock_guard<std::mutex> lock(mutex_);
    woken_.notify_all();
  }
  call(0);
  for (unsigned looks = 0; at_work_.load(std::memory_order_acquire) != 0; ++looks)
    looks < kLooks ? pause() : std::this_thread::yield();
  std::exception_ptr first;
  for (std::exception_ptr& thrown : thrown_) {
    const std::exception_ptr own = std::exchange(thrown, nullptr);
    if (!first) first = own;
  }
  if (first) std::rethrow_exception(first);
}

void Crew::call(unsigned number) {
  try {
    (*work_)(number);
  } catch (...) {
    thrown_[number] = std::current_exception();
  }
}

void Crew::help(unsigned number) {
  for (uint64_t done = 0;; ++done) {
    await_round(done);
    if (work_ == nullptr) return;
    call(number);
    at_work_.fetch_sub(1, std::memory_order_release);
  }
}

// Who falls asleep says so before it looks for the last time, and who hands out work hands it out
// before it asks who sleeps: one of the two sees the other.
void Crew::await_round(uint64_t done) {
  for (unsigned looks = 0; looks < kLooks; ++looks) {
    if (round_.load(std::memory_order_acquire) != done) return;
    pause();
  }
  std::unique_lock<std::mutex> lock(mutex_);
  ++asleep_;
  woken_.wait(lock, [&] { return round_ != done; });
  --asleep_;
}

}  // namespace exrnic
