// SPDX-License-Identifier: BSD-2-Clause
// What waits in one island of time, in its order; see scheduler.h.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <queue>
#include <vector>

#include "rtl-model/systemc/scheduler.h"

namespace exrnic {

class EventQueue final : public Scheduler {
 public:
  static constexpr SimTime kNever = ~SimTime{0};
  class Gate;

  // `now`: the island's clock, which the queue moves while it runs. `sooner` is called when
  // something was scheduled, while the queue does not run, before all else that waits. `gate`: of
  // all islands.
  EventQueue(SimTime& now, Gate& gate, std::function<void()> sooner)
      : now_(now), gate_(gate), sooner_(std::move(sooner)) {}

  SimTime now() const override { return now_; }
  bool runs() const override { return running_; }
  void at(SimTime time, std::function<void()> action) override;
  std::unique_ptr<Alarm> alarm(std::function<void()> action) override;
  std::unique_ptr<Entrance> entrance() override;

  // When the first of all that waits is due; kNever: nothing waits.
  SimTime next();

  // Runs what is due up to and including `end`, one point in time after the other. The clock then
  // stands where the last action ran.
  void run_to(SimTime end);

  uint64_t actions() const { return actions_; }  // that it has run

 private:
  class QueueAlarm;
  class QueueEntrance;
  static constexpr uint64_t kNotSet = ~uint64_t{0};
  static constexpr uint32_t kOwn = ~uint32_t{0};  // the rank of what comes through no entrance

  // What waits has a slot, and an entry in the order of time with the slot's order; an entry with
  // another order was overtaken.
  struct Slot {
    std::function<void()> action;
    uint64_t order = kNotSet;
    bool lasting = false;  // of an alarm
  };
  struct Entry {
    SimTime time;
    uint32_t rank;
    uint64_t order;
    Slot* slot;
  };
  struct Later {
    bool operator()(const Entry& a, const Entry& b) const {
      if (a.time != b.time) return a.time > b.time;
      return a.rank != b.rank ? a.rank > b.rank : a.order > b.order;
    }
  };

  Slot* new_slot(std::function<void()>&& action);
  void set(Slot* slot, SimTime time, uint32_t rank);
  void run(Slot* slot);

  SimTime& now_;
  Gate& gate_;
  std::function<void()> sooner_;
  std::priority_queue<Entry, std::vector<Entry>, Later> entries_;
  std::deque<Slot> slots_;
  std::vector<Slot*> free_slots_;
  uint64_t next_order_ = 0;
  uint64_t actions_ = 0;
  bool running_ = false;
  uint32_t entrances_ = 0;  // made so far
};

// Before the entrances of all islands. While it is closed, what comes through an entrance lies
// before it, unseen by its queue: so the threads that simulate may bring it. Opened again, the
// queues take it in; all that is later than `end`, to which they have run. Where nothing came,
// nothing is done.
class EventQueue::Gate {
 public:
  void close() { closed_ = true; }
  void open(SimTime end);

 private:
  friend class EventQueue::QueueEntrance;
  bool closed_ = false;
  std::atomic<QueueEntrance*> last_{nullptr};  // of those where something lies, each tells the next
};

}  // namespace exrnic
