// SPDX-License-Identifier: BSD-2-Clause
// A SystemC kernel of one's own. SystemC keeps its kernel in a global pointer and allows no new
// modules once it has run; here each simulation owns a kernel, and the pointer is set only while
// that kernel builds or runs. So a process may hold any number of simulations, one after the other
// or side by side, which is what unit tests need.
//
// Use: construct modules under a Scope; destroy them before the context. The ScTimeline is the one
// process, and now() is its time: within a run it goes ahead of SystemC's.
#pragma once

#include <memory>
#include <systemc>
#include <vector>

#include "rtl-model/systemc/scheduler.h"

namespace exrnic {

class SimContext {
 public:
  SimContext();
  ~SimContext();
  SimContext(const SimContext&) = delete;
  SimContext& operator=(const SimContext&) = delete;

  // Makes this kernel the current one, for as long as the scope lives.
  class Scope {
   public:
    explicit Scope(SimContext& context);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    sc_core::sc_simcontext* previous_current_;
    sc_core::sc_simcontext* previous_default_;
  };

  SimTime now() const { return now_; }

  // True while an event waits: a clock edge, a packet on a wire, a timer.
  bool pending() const;

  // When something happens next, ~0 if nothing waits; under a Scope.
  SimTime next_event() const;

  // Runs what is due up to and including `end`; time then stands at `end`, or, with
  // `stop_when_idle`, at the last event if none was left before.
  void run_to(SimTime end, bool stop_when_idle);

  // Runs the next point in time at which anything happens, and what comes within the step from
  // there, if it is not after `end`. Returns false, with nothing run, if there is none.
  bool run_next(SimTime end);

  // For the process, which runs ahead of SystemC's time: up to where, where it is, how much
  // run_next() takes at a time, and clocks that go by themselves during a run: behind it they stand
  // where this one does.
  SimTime end_of_run() const { return end_; }
  SimTime& clock() { return now_; }
  void set_step(SimTime step) { step_ = step; }
  void lead(SimTime& clock) { led_.push_back(&clock); }

 private:
  void start(SimTime next);
  void stand();

  std::unique_ptr<sc_core::sc_simcontext> kernel_;
  SimTime now_ = 0;  // SystemC's own time may lie behind
  SimTime end_ = 0;
  SimTime step_ = 1;
  std::vector<SimTime*> led_;
};

}  // namespace exrnic
