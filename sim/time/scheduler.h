// SPDX-License-Identifier: BSD-2-Clause
// Simulated time, and the one thing that links, switches and hosts need from it: "call me then".
//
// Threads: none; callbacks run in the simulator's one thread, while it steps.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace exrnic {

// Picoseconds since the simulation's start: one byte at 25 Gb/s lasts 320 of them, and 64 bits
// hold 213 days.
using SimTime = uint64_t;

constexpr SimTime kPsPerNs = 1000;
constexpr SimTime kPsPerUs = 1000 * kPsPerNs;

class Scheduler {
 public:
  virtual ~Scheduler() = default;

  virtual SimTime now() const = 0;

  // Calls `action` at `time`, which must not lie in the past. Actions of equal time run in the
  // order in which they were scheduled.
  virtual void at(SimTime time, std::function<void()> action) = 0;

  // An action that is called whenever it was set to be. Set again while it waits, it comes at the
  // new time instead. It must not outlive the scheduler.
  class Alarm {
   public:
    virtual ~Alarm() = default;
    virtual void set(SimTime time) = 0;
  };
  virtual std::unique_ptr<Alarm> alarm(std::function<void()> action) = 0;

  void after(SimTime delay, std::function<void()> action) { at(now() + delay, std::move(action)); }
};

}  // namespace exrnic
