// SPDX-License-Identifier: BSD-2-Clause
// A SystemC kernel of one's own. SystemC keeps its kernel in a global pointer and allows no new
// modules once it has run; here each simulation owns a kernel, and the pointer is set only while
// that kernel builds or runs. So a process may hold any number of simulations, one after the other
// or side by side, which is what unit tests need.
//
// Use: construct modules under a Scope; destroy them before the context. The ScScheduler is the one
// process, and now() is its time: within a run it goes ahead of SystemC's.
#pragma once

#include <memory>
#include <systemc>

#include "sim/time/scheduler.h"

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

  // Runs the next point in time at which anything happens, if it is not after `end`. Returns false,
  // with nothing run, if there is none.
  bool run_next(SimTime end);

  // For a process that runs ahead of SystemC's time: up to where, and where it is.
  SimTime end_of_run() const { return end_; }
  void advance(SimTime now) { now_ = now; }

 private:
  void start(SimTime next);

  std::unique_ptr<sc_core::sc_simcontext> kernel_;
  SimTime now_ = 0;  // SystemC's own time may lie behind
  SimTime end_ = 0;
};

}  // namespace exrnic
