// SPDX-License-Identifier: BSD-2-Clause
// The Scheduler on SystemC: one module with one event, however many actions wait.
#pragma once

#include <queue>
#include <systemc>
#include <vector>

#include "sim/time/scheduler.h"

namespace exrnic {

class ScScheduler final : public sc_core::sc_module, public Scheduler {
 public:
  explicit ScScheduler(const sc_core::sc_module_name& name);

  SimTime now() const override;
  void at(SimTime time, std::function<void()> action) override;

 private:
  struct Entry {
    SimTime time;
    uint64_t order;
    std::function<void()> action;
  };
  struct Later {
    bool operator()(const Entry& a, const Entry& b) const {
      return a.time != b.time ? a.time > b.time : a.order > b.order;
    }
  };

  void run_due();  // SystemC process
  void arm();

  std::priority_queue<Entry, std::vector<Entry>, Later> entries_;
  uint64_t next_order_ = 0;
  sc_core::sc_event due_;
};

}  // namespace exrnic
