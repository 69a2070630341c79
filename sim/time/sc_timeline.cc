// SPDX-License-Identifier: BSD-2-Clause
#include "sim/time/sc_timeline.h"

#include <algorithm>
#include <cassert>
#include <set>
#include <utility>

namespace exrnic {

ScTimeline::ScTimeline(const sc_core::sc_module_name& name, SimContext& context, unsigned islands,
                       unsigned threads, SimTime lookahead)
    : sc_module(name),
      context_(context),
      lookahead_(lookahead),
      crew_(std::max(1u, std::min(threads, islands))) {
  assert(islands >= 1 && lookahead >= 1);
  const auto sooner = [this] {
    if (!running_) arm();
  };
  if (islands == 1) {
    islands_.push_back(std::make_unique<Island>(context.clock(), sooner));
  } else {
    context.set_step(lookahead);
    for (unsigned i = 0; i < islands; ++i) {
      islands_.push_back(std::make_unique<Island>(sooner));
      context.lead(islands_.back()->now);
    }
  }
  SC_HAS_PROCESS(ScTimeline);
  SC_METHOD(run_due);
  sensitive << due_;
  dont_initialize();
}

void ScTimeline::run_due() {
  running_ = true;
  if (islands() == 1) {
    islands_.front()->queue.run_to(context_.end_of_run());
  } else {
    run_windows(context_.end_of_run());
  }
  running_ = false;
  arm();
}

void ScTimeline::run_windows(SimTime end) {
  for (SimTime first = next(); first != EventQueue::kNever && first <= end; first = next())
    run_window(end - first < lookahead_ ? end : first + lookahead_ - 1);
  for (const auto& island : islands_) context_.clock() = std::max(context_.clock(), island->now);
}

// An island has its thread. What is due for one thread alone is not worth a word to another.
void ScTimeline::run_window(SimTime end) {
  const unsigned threads = crew_.threads();
  std::set<unsigned> wanted;
  for (unsigned i = 0; i < islands(); ++i) {
    if (islands_[i]->queue.next() <= end) wanted.insert(i % threads);
    islands_[i]->queue.close();
  }
  const auto work = [&](unsigned thread) {
    for (unsigned i = thread; i < islands(); i += threads) islands_[i]->queue.run_to(end);
  };
  if (wanted.size() == 1) {
    work(*wanted.begin());
  } else {
    crew_.run(work);
  }
  for (const auto& island : islands_) island->queue.open(end);
}

SimTime ScTimeline::next() {
  SimTime first = EventQueue::kNever;
  for (const auto& island : islands_) first = std::min(first, island->queue.next());
  return first;
}

// An event that is already notified for an earlier time stays there: SystemC keeps the earliest.
void ScTimeline::arm() {
  const SimTime first = next();
  if (first == EventQueue::kNever) return;
  due_.notify(sc_core::sc_time::from_value(first) - simcontext()->time_stamp());
}

}  // namespace exrnic
