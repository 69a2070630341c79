// SPDX-License-Identifier: BSD-2-Clause
// Simulated time, and the one thing that links, switches and hosts need from it: "call me then".
//
// A simulation is one island of time, or several, each with a scheduler of its own: a node, a
// switch. What belongs to an island is touched by its actions alone while the simulation runs, and
// comes to another one through an Entrance of that. Then islands may run side by side.
//
// Threads: callbacks of an island run one after the other, in one thread; those of two islands
// perhaps at the same time. While the simulation does not run, all belongs to the thread that has
// it.
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
  // Whether one of its actions runs: then now() is the time of that.
  virtual bool runs() const = 0;

  // Calls `action` at `time`, which must not lie in the past. Actions of equal time run in the
  // order in which they were scheduled.
  virtual void at(SimTime time, std::function<void()> action) = 0;

  // An action that is called whenever it was set to be. Set again while it waits, it comes at the
  // new time instead; cancelled, not at all. It must not outlive the scheduler.
  class Alarm {
   public:
    virtual ~Alarm() = default;
    virtual void set(SimTime time) = 0;
    virtual void cancel() = 0;
  };
  virtual std::unique_ptr<Alarm> alarm(std::function<void()> action) = 0;

  // Where actions come in from one other island, or from this one. Of equal time they run before
  // all that was scheduled by at() and by alarms; those of several entrances in the order in which
  // the entrances were made: so the order does not depend on which island ran first. It must not
  // outlive the scheduler.
  class Entrance {
   public:
    virtual ~Entrance() = default;
    // From another island, `time` lies at least the simulation's lookahead in the future.
    virtual void at(SimTime time, std::function<void()> action) = 0;
  };
  virtual std::unique_ptr<Entrance> entrance() = 0;

  void after(SimTime delay, std::function<void()> action) { at(now() + delay, std::move(action)); }
};

}  // namespace exrnic
