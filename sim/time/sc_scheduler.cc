// SPDX-License-Identifier: BSD-2-Clause
#include "sim/time/sc_scheduler.h"

#include <cassert>
#include <utility>

namespace exrnic {

ScScheduler::ScScheduler(const sc_core::sc_module_name& name) : sc_module(name) {
  SC_HAS_PROCESS(ScScheduler);
  SC_METHOD(run_due);
  sensitive << due_;
  dont_initialize();
}

SimTime ScScheduler::now() const { return simcontext()->time_stamp().value(); }

void ScScheduler::at(SimTime time, std::function<void()> action) {
  assert(time >= now());
  const uint64_t order = next_order_++;
  entries_.push({time, order, std::move(action)});
  if (entries_.top().order == order) arm();
}

void ScScheduler::run_due() {
  while (!entries_.empty() && entries_.top().time <= now()) {
    // top() is const only to protect the order, which the pop ends anyway.
    auto action = std::move(const_cast<Entry&>(entries_.top()).action);
    entries_.pop();
    action();
  }
  arm();
}

// An event that is already notified for an earlier time stays there: SystemC keeps the earliest.
void ScScheduler::arm() {
  if (entries_.empty()) return;
  due_.notify(sc_core::sc_time::from_value(entries_.top().time - now()));
}

}  // namespace exrnic
