// SPDX-License-Identifier: BSD-2-Clause
// The Scheduler on SystemC: one module with one process, however many actions wait. The process
// runs all that is due up to the end of the context's run, one point in time after the other, ahead
// of SystemC's own time (temporal decoupling, as in TLM-2.0): for each of them SystemC would take
// as long as the action.
#pragma once

#include <deque>
#include <queue>
#include <systemc>
#include <vector>

#include "sim/time/scheduler.h"
#include "sim/time/sim_context.h"

namespace exrnic {

class ScScheduler final : public sc_core::sc_module, public Scheduler {
 public:
  ScScheduler(const sc_core::sc_module_name& name, SimContext& context);

  SimTime now() const override { return context_.now(); }
  void at(SimTime time, std::function<void()> action) override;
  std::unique_ptr<Alarm> alarm(std::function<void()> action) override;

 private:
  class ScAlarm;
  static constexpr uint64_t kNotSet = ~uint64_t{0};

  // What waits has a slot, and an entry in the order of time with the slot's order; an entry with
  // another order was overtaken.
  struct Slot {
    std::function<void()> action;
    uint64_t order = kNotSet;
    bool lasting = false;  // of an alarm
  };
  struct Entry {
    SimTime time;
    uint64_t order;
    Slot* slot;
  };
  struct Later {
    bool operator()(const Entry& a, const Entry& b) const {
      return a.time != b.time ? a.time > b.time : a.order > b.order;
    }
  };

  Slot* new_slot(std::function<void()>&& action);
  void set(Slot* slot, SimTime time);
  void run_due();  // SystemC process
  void run(Slot* slot);
  bool due();  // before the end of the run
  void arm();

  SimContext& context_;
  std::priority_queue<Entry, std::vector<Entry>, Later> entries_;
  std::deque<Slot> slots_;
  std::vector<Slot*> free_slots_;
  uint64_t next_order_ = 0;
  bool running_ = false;
  sc_core::sc_event due_;
};

}  // namespace exrnic
