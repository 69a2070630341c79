// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/systemc/clock.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "rtl-model/systemc/core.h"

namespace exrnic {

uint64_t Clock::period_of(uint32_t khz) {
  assert(khz != 0);
  constexpr uint64_t kPsPerMs = 1'000'000'000;
  return kPsPerMs / khz;
}

Clock::Clock(Scheduler& scheduler, uint32_t khz, Clocked& what)
    : period_ps_(period_of(khz)),
      scheduler_(scheduler),
      what_(what),
      edge_(scheduler.alarm([this] { edge(); })),
      wake_up_(scheduler.alarm([this] { wake_up(); })) {}

void Clock::finish_edge() {
  if (clocked_ && next_edge_ps_ == scheduler_.now()) edge();
  wake_up();
}

void Clock::edge() {
  const uint64_t now = scheduler_.now();
  if (next_edge_ps_ != now) return;  // an input was there first
  next_edge_ps_ = 0;
  if (std::exchange(spare_, false)) what_.skip((now - last_edge_ps_) / period_ps_ - 1);
  last_edge_ps_ = now;
  what_.step(now / kPsPerNs);
  ++cycles_;
  clocked_ = !what_.idle();
  if (!clocked_) return sleep();
  uint64_t spare = what_.spare_cycles();
  const uint64_t wake = spare > 0 ? wake_ps() : 0;
  if (wake != 0) spare = std::min(spare, (wake - now - 1) / period_ps_);
  spare_ = spare > 0;
  schedule(period_ps_ * (spare + 1));
}

// While cycles are left out, a later edge is scheduled, and is moved here.
void Clock::wake() {
  if ((clocked_ && !spare_) || what_.idle()) return;
  clocked_ = true;
  schedule(period_ps_ - scheduler_.now() % period_ps_);
}

void Clock::restart() {
  clocked_ = spare_ = false;
  next_edge_ps_ = 0;
  sleep();
  wake();
}

uint64_t Clock::edges_before(uint64_t ps) const {
  const uint64_t now = scheduler_.now();
  return ps <= now ? 0 : (ps - now - 1) / period_ps_;
}

uint64_t Clock::wake_ps() const {
  const uint64_t ns = what_.wakes_at_ns();
  return ns == Core::kNever ? 0 : (ns * kPsPerNs + period_ps_ - 1) / period_ps_ * period_ps_;
}

// The alarm stays while it is clocked: often it wants to sleep again until the same time.
void Clock::sleep() {
  const uint64_t wake = wake_ps();
  if (wake == sleeps_until_ps_) return;
  sleeps_until_ps_ = wake;
  wake == 0 ? wake_up_->cancel() : wake_up_->set(wake);
}

// What is clocked sees by itself that its time has come.
void Clock::wake_up() {
  const uint64_t now = scheduler_.now();
  if (sleeps_until_ps_ == 0 || sleeps_until_ps_ != now) return;
  sleeps_until_ps_ = 0;
  if (clocked_) return;
  next_edge_ps_ = now;
  edge();
}

void Clock::schedule(uint64_t ps) {
  next_edge_ps_ = scheduler_.now() + ps;
  edge_->set(next_edge_ps_);
}

}  // namespace exrnic
