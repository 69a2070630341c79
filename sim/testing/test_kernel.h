// SPDX-License-Identifier: BSD-2-Clause
// A kernel with one island of time and nothing else: what the test of a single model needs.
#pragma once

#include <memory>

#include "sim/time/sc_timeline.h"
#include "sim/time/sim_context.h"

namespace exrnic {

class TestKernel {
 public:
  TestKernel() {
    SimContext::Scope scope(context);
    timeline_ = std::make_unique<ScTimeline>("timeline", context);
  }
  ~TestKernel() {
    SimContext::Scope scope(context);
    timeline_.reset();
  }

  Scheduler& scheduler() { return timeline_->island(0); }

  // Runs until nothing is left, or 1 s of simulated time, whichever comes first.
  void run_all() { context.run_to(context.now() + 1'000'000 * kPsPerUs, true); }

  SimContext context;

 private:
  std::unique_ptr<ScTimeline> timeline_;
};

}  // namespace exrnic
