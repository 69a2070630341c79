// SPDX-License-Identifier: BSD-2-Clause
#include "sim/time/sc_timeline.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace exrnic {

ScTimeline::ScTimeline(const sc_core::sc_module_name& name, SimContext& context, unsigned islands,
                       unsigned threads, SimTime lookahead, OtherRanks* others)
    : sc_module(name),
      context_(context),
      lookahead_(lookahead),
      others_(others),
      one_island_(islands == 1 && others == nullptr),
      due_in_(std::max(1u, std::min(threads, islands))),
      crew_(static_cast<unsigned>(due_in_.size())) {
  assert(islands >= 1 && lookahead >= 1);
  const auto sooner_in = [this](unsigned island) {
    return [this, island] {
      list(island);
      if (!running_ && others_ == nullptr) arm(next());
    };
  };
  if (one_island_) {
    islands_.push_back(std::make_unique<Island>(context.clock(), gate_, sooner_in(0)));
  } else {
    context.set_step(lookahead);
    for (unsigned i = 0; i < islands; ++i) {
      islands_.push_back(std::make_unique<Island>(gate_, sooner_in(i)));
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
  if (one_island_) {
    islands_.front()->queue.run_to(context_.end_of_run());
    list(0);
  } else {
    run_windows(context_.end_of_run());
  }
  running_ = false;
  arm(others_ == nullptr ? next() : agreed_);
}

// Since agree() nothing has happened.
void ScTimeline::run_windows(SimTime end) {
  SimTime first = others_ == nullptr ? next() : agreed_;
  while (first != EventQueue::kNever && first <= end) {
    run_window(end - first < lookahead_ ? end : first + lookahead_ - 1);
    first = others_ == nullptr ? next() : others_->exchange(next());
  }
  agreed_ = first;
  // All rest where the last one came to rest.
  if (others_ != nullptr && first == EventQueue::kNever)
    context_.clock() = others_->greatest(context_.clock());
}

// SystemC's kernel is to know in all ranks alike when something happens.
void ScTimeline::agree() {
  if (others_ == nullptr) return;
  due_.cancel();
  agreed_ = others_->least(next());
  arm(agreed_);
}

void ScTimeline::run_island(unsigned island, SimTime end) {
  Island& one = *islands_[island];
  if (!measures_) return one.queue.run_to(end);
  const auto begin = std::chrono::steady_clock::now();
  one.queue.run_to(end);
  one.worked += std::chrono::steady_clock::now() - begin;
}

// What is due for one thread alone is not worth a word to another.
void ScTimeline::run_window(SimTime end) {
  take_due(end);
  const auto has_work = [](const auto& due) { return !due.empty(); };
  const auto work = [&](unsigned thread) {
    for (const unsigned island : due_in_[thread]) run_island(island, end);
  };
  gate_.close();
  outside_gate_.close();
  const auto busy = std::count_if(due_in_.begin(), due_in_.end(), has_work);
  if (busy == 1) {
    work(static_cast<unsigned>(std::find_if(due_in_.begin(), due_in_.end(), has_work) -
                               due_in_.begin()));
  } else if (busy > 1) {  // none: something is due in other ranks
    crew_.run(work);
  }
  gate_.open(end);
  outside_gate_.open(outside_.now);
  outside_.queue.run_to(end);
  for (std::vector<unsigned>& due : due_in_) {
    for (const unsigned island : due) {
      context_.clock() = std::max(context_.clock(), islands_[island]->now);
      list(island);
    }
    due.clear();
  }
}

// An island has its thread.
void ScTimeline::take_due(SimTime end) {
  while (next() <= end && !next_.empty()) {
    const unsigned island = next_.top().second;
    next_.pop();
    islands_[island]->listed = EventQueue::kNever;
    due_in_[island % threads()].push_back(island);
  }
}

void ScTimeline::list(unsigned island) {
  const SimTime time = islands_[island]->queue.next();
  if (time >= islands_[island]->listed) return;
  islands_[island]->listed = time;
  next_.emplace(time, island);
}

SimTime ScTimeline::next() {
  while (!next_.empty()) {
    const auto [time, index] = next_.top();
    Island& island = *islands_[index];
    if (time == island.listed && time == island.queue.next()) return time;
    next_.pop();
    if (time != island.listed) continue;
    island.listed = EventQueue::kNever;
    list(index);
  }
  return EventQueue::kNever;
}

uint64_t ScTimeline::actions() const {
  uint64_t sum = 0;
  for (const auto& island : islands_) sum += island->queue.actions();
  return sum;
}

// An event that is already notified for an earlier time stays there: SystemC keeps the earliest.
void ScTimeline::arm(SimTime first) {
  if (first == EventQueue::kNever) return;
  due_.notify(sc_core::sc_time::from_value(first) - simcontext()->time_stamp());
}

}  // namespace exrnic
