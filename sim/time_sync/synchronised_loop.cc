// SPDX-License-Identifier: BSD-2-Clause
#include "sim/time_sync/synchronised_loop.h"

#include <sched.h>

#include <algorithm>
#include <optional>

#include "sim/time_sync/nanoseconds.h"
#include "sim/time_sync/pace.h"

namespace exrnic {

using std::chrono::microseconds;

SynchronisedLoop::SynchronisedLoop(Testbed& testbed, SocketService::Servers& servers,
                                   const StopSignal& stop, GuestClocks& clocks, uint64_t to_host_ns)
    : testbed_(testbed),
      clocks_(clocks),
      sockets_(testbed, servers, stop),
      to_host_ns_(to_host_ns) {
  for (unsigned id = 0; id < servers.size(); ++id) {
    Node& node = testbed.node(id);
    nodes_.push_back(std::make_unique<TimedNode>(id, node.scheduler(), node.combined_device(),
                                                 *servers[id], clocks));
    servers[id]->attach(*nodes_.back());
    node.connect_host(nodes_.back().get());
  }
}

// The first guests begin together. One that comes later begins where the last of the others is.
bool SynchronisedLoop::admit() {
  if (!started_ && !clocks_.all_join()) return false;
  const uint64_t now = nanoseconds_up(testbed_.now());
  bool admitted = false;
  for (unsigned id = 0; id < nodes_.size(); ++id) {
    if (clocks_.state(id) != EXRNIC_GUEST_JOINING) continue;
    const uint64_t others = started_ ? clocks_.least_bound(id) : 0;
    if (!admitted) draw_horizon();
    clocks_.set(id, EXRNIC_GUEST_RUNNING,
                std::max(now, others == GuestClocks::kNever ? 0 : others));
    admitted = true;
  }
  started_ |= admitted;
  return admitted;
}

// Nothing of the simulation touches a host before what is under way to it, or else before the next
// event and the way from the device to the host.
void SynchronisedLoop::draw_horizon() {
  const SimTime next = testbed_.next_event();
  uint64_t horizon = GuestClocks::kNever;
  if (next != Testbed::kNothing) {
    horizon = nanoseconds_up(next + picoseconds(to_host_ns_));
    for (unsigned id = 0; id < nodes_.size(); ++id) {
      horizon = std::min(horizon, nanoseconds_up(testbed_.node(id).pcie().next_touch()));
    }
  }
  if (horizon == horizon_ns_) return;
  horizon_ns_ = horizon;
  clocks_.set_horizon(horizon);
}

bool SynchronisedLoop::simulate() {
  const SimTime end = picoseconds(std::min(clocks_.least_bound(), horizon_ns_));
  if (testbed_.next_event() > end || testbed_.next_event() == Testbed::kNothing) return false;
  testbed_.run_to(end);
  draw_horizon();
  return true;
}

// An access takes place when all events up to its moment have happened and no other guest can do
// anything before; of equal moments, the lower node is first.
bool SynchronisedLoop::take_accesses() {
  bool taken = false;
  for (unsigned id = 0; id < nodes_.size(); ++id) {
    const std::optional<uint64_t> ns = nodes_[id]->access_ns();
    if (!ns || *ns >= GuestClocks::kNever) continue;
    bool first = testbed_.next_event() > picoseconds(*ns);
    for (unsigned other = 0; other < nodes_.size() && first; ++other) {
      if (other == id) continue;
      const uint64_t bound = clocks_.bound(other);
      first = bound > *ns || (bound == *ns && other > id && nodes_[other]->access_ns() == ns);
    }
    if (!first) continue;
    testbed_.run_to(std::max(picoseconds(*ns), testbed_.now()));
    taken = true;
    if (nodes_[id]->stalls()) continue;
    nodes_[id]->begin();
    draw_horizon();
    nodes_[id]->release();
  }
  return taken;
}

bool SynchronisedLoop::step() {
  bool worked = admit();
  if (!started_) return worked;
  for (const auto& node : nodes_) worked |= node->settle();
  worked |= simulate();
  worked |= take_accesses();
  return worked;
}

microseconds SynchronisedLoop::patience(unsigned idle_steps) const {
  if (idle_steps < pace::kIdleSteps) return microseconds::zero();
  bool waiting = !started_;
  for (const auto& node : nodes_) waiting |= node->waiting();
  return waiting || testbed_.busy() ? pace::kNap : pace::kSleep;
}

void SynchronisedLoop::run() {
  unsigned idle = 0;
  for (unsigned steps = 0;; ++steps) {
    if (step()) {
      idle = 0;
      if (steps % pace::kStepsBetweenLooks != 0) continue;
    } else if (++idle > 1) {
      sched_yield();
    }
    const microseconds timeout = patience(idle);
    if (timeout == pace::kSleep && at_rest_) at_rest_();
    if (!sockets_.serve(timeout)) return;
  }
}

}  // namespace exrnic
