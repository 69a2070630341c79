// SPDX-License-Identifier: BSD-2-Clause
// A kernel with a scheduler and nothing else: what the test of a single model needs.
#pragma once

#include <memory>

#include "sim/time/sc_scheduler.h"
#include "sim/time/sim_context.h"

namespace exrnic {

class TestKernel {
 public:
  TestKernel() {
    SimContext::Scope scope(context);
    scheduler_ = std::make_unique<ScScheduler>("scheduler", context);
  }
  ~TestKernel() {
    SimContext::Scope scope(context);
    scheduler_.reset();
  }

  Scheduler& scheduler() { return *scheduler_; }

  // Runs until nothing is left, or 1 s of simulated time, whichever comes first.
  void run_all() { context.run_to(context.now() + 1'000'000 * kPsPerUs, true); }

  SimContext context;

 private:
  std::unique_ptr<ScScheduler> scheduler_;
};

}  // namespace exrnic
