// SPDX-License-Identifier: BSD-2-Clause
#include "sim/time/sc_scheduler.h"

#include <cassert>
#include <utility>

namespace exrnic {

class ScScheduler::ScAlarm final : public Alarm {
 public:
  ScAlarm(ScScheduler& scheduler, std::function<void()>&& action)
      : scheduler_(scheduler), slot_(scheduler.new_slot(std::move(action))) {
    slot_->lasting = true;
  }
  ~ScAlarm() override {
    *slot_ = {};
    scheduler_.free_slots_.push_back(slot_);
  }
  void set(SimTime time) override { scheduler_.set(slot_, time); }

 private:
  ScScheduler& scheduler_;
  Slot* const slot_;
};

ScScheduler::ScScheduler(const sc_core::sc_module_name& name, SimContext& context)
    : sc_module(name), context_(context) {
  SC_HAS_PROCESS(ScScheduler);
  SC_METHOD(run_due);
  sensitive << due_;
  dont_initialize();
}

ScScheduler::Slot* ScScheduler::new_slot(std::function<void()>&& action) {
  if (free_slots_.empty()) free_slots_.push_back(&slots_.emplace_back());
  Slot* const slot = free_slots_.back();
  free_slots_.pop_back();
  slot->action = std::move(action);
  return slot;
}

void ScScheduler::at(SimTime time, std::function<void()> action) {
  set(new_slot(std::move(action)), time);
}

std::unique_ptr<Scheduler::Alarm> ScScheduler::alarm(std::function<void()> action) {
  return std::make_unique<ScAlarm>(*this, std::move(action));
}

void ScScheduler::set(Slot* slot, SimTime time) {
  assert(time >= now());
  slot->order = next_order_++;
  entries_.push({time, slot->order, slot});
  if (!running_ && entries_.top().order == slot->order) arm();
}

bool ScScheduler::due() {
  while (!entries_.empty() && entries_.top().slot->order != entries_.top().order) entries_.pop();
  return !entries_.empty() && entries_.top().time <= context_.end_of_run();
}

void ScScheduler::run_due() {
  running_ = true;
  while (due()) {
    const Entry entry = entries_.top();
    entries_.pop();
    context_.advance(entry.time);
    run(entry.slot);
  }
  running_ = false;
  arm();
}

void ScScheduler::run(Slot* slot) {
  slot->order = kNotSet;
  if (slot->lasting) return slot->action();
  const auto action = std::exchange(slot->action, nullptr);
  free_slots_.push_back(slot);
  action();
}

// An event that is already notified for an earlier time stays there: SystemC keeps the earliest.
void ScScheduler::arm() {
  if (entries_.empty()) return;
  due_.notify(sc_core::sc_time::from_value(entries_.top().time) - simcontext()->time_stamp());
}

}  // namespace exrnic
