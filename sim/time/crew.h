// SPDX-License-Identifier: BSD-2-Clause
// Threads that share one short piece of work after the other: handing it out costs about a
// microsecond while they are awake. They stay so for a moment behind each piece, then sleep.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace exrnic {

class Crew {
 public:
  // `threads`, 1 or more: with the one that calls run(). Throws std::system_error if one cannot be
  // started.
  explicit Crew(unsigned threads);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  unsigned threads() const { return static_cast<unsigned>(helpers_.size()) + 1; }

  // Calls work(0) here, and work(1) to work(threads() - 1) in the other threads; each number always
  // in the same one. Returns when all have; throws what the first of them, by number, threw.
  void run(const std::function<void(unsigned)>& work);

 private:
  void help(unsigned number);
  void call(unsigned number);
  void start(unsigned number);
  void send_home();
  void await_round(uint64_t done);

  const std::function<void(unsigned)>* work_ = nullptr;  // nullptr: go home
  std::vector<std::exception_ptr> thrown_;               // by number
  alignas(64) std::atomic<uint64_t> round_{0};
  alignas(64) std::atomic<unsigned> at_work_{0};
  std::atomic<unsigned> asleep_{0};
  std::mutex mutex_;
  std::condition_variable woken_;
  std::vector<std::thread> helpers_;
};

}  // namespace exrnic
