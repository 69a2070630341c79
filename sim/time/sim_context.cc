// SPDX-License-Identifier: BSD-2-Clause
#include "sim/time/sim_context.h"

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

SimTime SimContext::now() const { return kernel_->time_stamp().value(); }

bool SimContext::pending() const { return sc_core::sc_pending_activity(kernel_.get()); }

SimTime SimContext::next_event() const {
  if (!pending()) return kNever;
  return now() + sc_core::sc_time_to_pending_activity(kernel_.get()).value();
}

// Starved, SystemC leaves time at the last event, also when others wait beyond `end`: then the
// second start moves it. And what is due at `end` itself is left by both; a start of zero length
// runs one round of it.
void SimContext::run_to(SimTime end, bool stop_when_idle) {
  Scope scope(*this);  // next_event() needs it too: SystemC subtracts the current kernel's time
  if (stop_when_idle && end > now() && next_event() <= end) {
    sc_core::sc_start(sc_time::from_value(end - now()), sc_core::SC_EXIT_ON_STARVATION);
  }
  if (end > now() && (!stop_when_idle || pending())) {
    sc_core::sc_start(sc_time::from_value(end - now()), sc_core::SC_RUN_TO_TIME);
  }
  while (now() <= end && next_event() == now()) sc_core::sc_start(sc_core::SC_ZERO_TIME);
}

// One start, for it costs as much as a tenth of a core's cycle: what is due before the picosecond
// after `next` runs, and starved of more SystemC leaves time at `next`.
bool SimContext::run_next(SimTime end) {
  Scope scope(*this);
  const SimTime next = next_event();
  if (next > end) return false;
  sc_core::sc_start(sc_time::from_value(next - now() + 1), sc_core::SC_EXIT_ON_STARVATION);
  return true;
}

}  // namespace exrnic
