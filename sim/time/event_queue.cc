// SPDX-License-Identifier: BSD-2-Clause
#include "sim/time/event_queue.h"

#include <cassert>
#include <utility>

namespace exrnic {

class EventQueue::QueueAlarm final : public Alarm {
 public:
  QueueAlarm(EventQueue& queue, std::function<void()>&& action)
      : queue_(queue), slot_(queue.new_slot(std::move(action))) {
    slot_->lasting = true;
  }
  ~QueueAlarm() override {
    *slot_ = {};
    queue_.free_slots_.push_back(slot_);
  }
  void set(SimTime time) override { queue_.set(slot_, time, kOwn); }
  void cancel() override { slot_->order = kNotSet; }

 private:
  EventQueue& queue_;
  Slot* const slot_;
};

class EventQueue::QueueEntrance final : public Entrance {
 public:
  explicit QueueEntrance(EventQueue& queue) : queue_(queue), rank_(queue.entrances_++) {}

  void at(SimTime time, std::function<void()> action) override {
    if (!queue_.gate_.closed_) return queue_.set(queue_.new_slot(std::move(action)), time, rank_);
    if (outside_.empty()) line_up();
    outside_.push_back({time, std::move(action)});
  }

  // Returns the next one before the gate.
  QueueEntrance* take_in([[maybe_unused]] SimTime end) {
    for (Arrival& arrival : outside_) {
      assert(arrival.time > end);
      queue_.set(queue_.new_slot(std::move(arrival.action)), arrival.time, rank_);
    }
    outside_.clear();
    return next_;
  }

 private:
  struct Arrival {
    SimTime time;
    std::function<void()> action;
  };

  // In any order: what one entrance brings has its own rank.
  void line_up() {
    next_ = queue_.gate_.last_;
    while (!queue_.gate_.last_.compare_exchange_weak(next_, this)) {
    }
  }

  EventQueue& queue_;
  const uint32_t rank_;
  QueueEntrance* next_ = nullptr;
  std::vector<Arrival> outside_;
};

EventQueue::Slot* EventQueue::new_slot(std::function<void()>&& action) {
  if (free_slots_.empty()) free_slots_.push_back(&slots_.emplace_back());
  Slot* const slot = free_slots_.back();
  free_slots_.pop_back();
  slot->action = std::move(action);
  return slot;
}

void EventQueue::at(SimTime time, std::function<void()> action) {
  set(new_slot(std::move(action)), time, kOwn);
}

std::unique_ptr<Scheduler::Alarm> EventQueue::alarm(std::function<void()> action) {
  return std::make_unique<QueueAlarm>(*this, std::move(action));
}

std::unique_ptr<Scheduler::Entrance> EventQueue::entrance() {
  return std::make_unique<QueueEntrance>(*this);
}

void EventQueue::set(Slot* slot, SimTime time, uint32_t rank) {
  assert(time >= now_);
  slot->order = next_order_++;
  entries_.push({time, rank, slot->order, slot});
  if (!running_ && entries_.top().order == slot->order) sooner_();
}

SimTime EventQueue::next() {
  while (!entries_.empty() && entries_.top().slot->order != entries_.top().order) entries_.pop();
  return entries_.empty() ? kNever : entries_.top().time;
}

void EventQueue::run_to(SimTime end) {
  running_ = true;
  for (SimTime time = next(); time <= end && !entries_.empty(); time = next()) {
    Slot* const slot = entries_.top().slot;
    entries_.pop();
    now_ = time;
    ++actions_;
    run(slot);
  }
  running_ = false;
}

void EventQueue::run(Slot* slot) {
  slot->order = kNotSet;
  if (slot->lasting) return slot->action();
  const auto action = std::exchange(slot->action, nullptr);
  free_slots_.push_back(slot);
  action();
}

void EventQueue::Gate::open(SimTime end) {
  closed_ = false;
  for (QueueEntrance* entrance = last_.exchange(nullptr); entrance != nullptr;)
    entrance = entrance->take_in(end);
}

}  // namespace exrnic
