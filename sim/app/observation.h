// SPDX-License-Identifier: BSD-2-Clause
// Who observes a run for --trace and --losses. Of several ranks each records what happens in its
// part, and rank 0 writes the files, from what all have recorded.
//
// Threads: none.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "rtl-model/systemc/scheduler.h"
#include "sim/app/options.h"
#include "sim/ranks/ranks.h"
#include "sim/trace/loss_log.h"
#include "sim/trace/recorder.h"
#include "sim/trace/tracer.h"

namespace exrnic {

class Observation {
 public:
  using Log = std::function<void(const std::string& line)>;

  // `ranks`: nullptr of one process. `lookahead`: of several, how long their windows are at most.
  Observation(const Options& options, Ranks* ranks, SimTime lookahead, const Log& log);

  // nullptr: nothing is asked for.
  trace::Observer* observer();

  // What has happened until now is in the files. To be called in all ranks at the same simulated
  // time.
  void flush();

 private:
  void gather();

  Ranks* const ranks_;
  std::unique_ptr<LossLog> losses_;
  std::unique_ptr<Tracer> tracer_;  // of several ranks: at rank 0
  std::optional<trace::Recorder> recorder_;
};

}  // namespace exrnic
