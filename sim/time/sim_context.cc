// SPDX-License-Identifier: BSD-2-Clause
#include "sim/time/sim_context.h"

#include <algorithm>
#include <cstdio>

// libsystemc's own main() wants this symbol. Our programs have a main() of their own, because
// SystemC's prints a banner and runs a kernel that nobody here uses; so this is never called.
int sc_main(int, char**) {
  std::fputs("exrnic: the program must define main()\n", stderr);
  return 2;
}

namespace exrnic {

using sc_core::sc_curr_simcontext;
using sc_core::sc_default_global_context;
using sc_core::sc_simcontext;
using sc_core::sc_time;

namespace {

constexpr SimTime kNever = ~SimTime{0};

}  // namespace

SimContext::Scope::Scope(SimContext& context)
    : previous_current_(sc_curr_simcontext), previous_default_(sc_default_global_context) {
  sc_curr_simcontext = context.kernel_.get();
  sc_default_global_context = context.kernel_.get();
}

SimContext::Scope::~Scope() {
  sc_curr_simcontext = previous_current_;
  sc_default_global_context = previous_default_;
}

SimContext::SimContext() : kernel_(std::make_unique<sc_simcontext>()) {}

SimContext::~SimContext() {
  Scope scope(*this);  // the kernel's destructor looks at the global pointer
  kernel_.reset();
}

bool SimContext::pending() const { return sc_core::sc_pending_activity(kernel_.get()); }

SimTime SimContext::next_event() const {
  if (!pending()) return kNever;
  const sc_time next = kernel_->time_stamp() + sc_core::sc_time_to_pending_activity(kernel_.get());
  return next.value();
}

// What is due before the picosecond after `next` runs, and what that process runs ahead.
void SimContext::start(SimTime next) {
  sc_core::sc_start(sc_time::from_value(next + 1) - kernel_->time_stamp(),
                    sc_core::SC_EXIT_ON_STARVATION);
}

void SimContext::run_to(SimTime end, bool stop_when_idle) {
  Scope scope(*this);  // next_event() needs it too: SystemC subtracts the current kernel's time
  end_ = end;
  const SimTime next = next_event();
  if (next != kNever && next <= end) start(next);
  if (!stop_when_idle || pending()) now_ = std::max(now_, end);
  stand();
}

bool SimContext::run_next(SimTime end) {
  Scope scope(*this);
  const SimTime next = next_event();
  if (next == kNever || next > end) return false;
  now_ = next;
  end_ = std::min(end, next + step_ - 1);
  start(next);
  stand();
  return true;
}

void SimContext::stand() {
  for (SimTime* clock : led_) *clock = now_;
}

}  // namespace exrnic
