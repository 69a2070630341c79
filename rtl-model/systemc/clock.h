// SPDX-License-Identifier: BSD-2-Clause
// The clock of a core, in simulated time. Rising edges lie at multiples of the period since time 0.
// An idle core gets none, nor does one in cycles that it can do without, but for the one that it
// wants to be woken for; an input starts the clock again at the next edge of that same grid,
// strictly after the input's arrival.
//
// Threads: none of its own; one calls at a time, see "Several threads" in sim/README.md.
#pragma once

#include <cstdint>
#include <memory>

#include "rtl-model/systemc/scheduler.h"

namespace exrnic {

// What has a clock; each call as that of a Core (core.h).
class Clocked {
 public:
  virtual ~Clocked() = default;
  virtual void step(uint64_t time_ns) = 0;
  virtual bool idle() const = 0;
  virtual uint64_t wakes_at_ns() const = 0;
  virtual uint32_t spare_cycles() { return 0; }
  virtual void skip(uint64_t /*cycles*/) {}
};

class Clock {
 public:
  static uint64_t period_of(uint32_t khz);  // ps

  // `what` outlives it.
  Clock(Scheduler& scheduler, uint32_t khz, Clocked& what);

  // Before an input: what comes at the time of an edge is there for the next one, in any order.
  void finish_edge();
  // Behind it.
  void wake();
  // Behind a reset: what was spared or waited for before is void. Cycles keep counting.
  void restart();

  uint64_t cycles() const { return cycles_; }  // edges that there have been
  bool clocked() const { return clocked_; }    // false: idle, no edge is scheduled
  uint64_t period_ps() const { return period_ps_; }
  // Edges that come before `ps`.
  uint64_t edges_before(uint64_t ps) const;

 private:
  void edge();
  void schedule(uint64_t ps);  // the next edge
  uint64_t wake_ps() const;    // the edge at which it wants to be woken; 0: none
  void sleep();                // until then
  void wake_up();

  const uint64_t period_ps_;
  Scheduler& scheduler_;
  Clocked& what_;
  std::unique_ptr<Scheduler::Alarm> edge_;
  std::unique_ptr<Scheduler::Alarm> wake_up_;
  uint64_t cycles_ = 0;
  bool clocked_ = false;
  bool spare_ = false;  // the next edge is a later one than the next of the grid
  uint64_t last_edge_ps_ = 0;
  uint64_t next_edge_ps_ = 0;     // means something while clocked
  uint64_t sleeps_until_ps_ = 0;  // 0: no such time, or the alarm has come
};

}  // namespace exrnic
