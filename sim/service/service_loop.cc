// SPDX-License-Identifier: BSD-2-Clause
#include "sim/service/service_loop.h"

#include <algorithm>
#include <chrono>

namespace exrnic {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

// A look at the sockets takes 1 us. Between two of them passes so much of wall clock, at least.
constexpr nanoseconds kLeastWall{10'000};

// As long as that a slice of simulated time is meant to take, since each costs another 1 us. 50
// cycles at 250 MHz take verilated cores more; where there is little to do, a slice ends all the
// same.
constexpr int64_t kLeastSliceNs = 200;
constexpr int64_t kMostSliceNs = 1600;

}  // namespace

ServiceLoop::ServiceLoop(Testbed& testbed, Servers& servers, const StopSignal& stop)
    : testbed_(testbed), sockets_(testbed, servers, stop), slice_ns_(kLeastSliceNs) {}

bool ServiceLoop::may_go_on() { return testbed_.busy() && !sockets_.holds_time(); }

bool ServiceLoop::serve() {
  if (!testbed_.busy() && at_rest_) at_rest_();
  return sockets_.serve(may_go_on() ? std::chrono::microseconds::zero() : SocketService::kForever);
}

// Who may hold time is asked at each point of it.
void ServiceLoop::advance() {
  const auto ns = static_cast<uint64_t>(slice_ns_);
  if (!sockets_.may_hold_time()) return testbed_.run_while_busy(ns);
  testbed_.run_until([this] { return sockets_.holds_time(); }, ns);
}

void ServiceLoop::simulate() {
  const auto start = steady_clock::now();
  auto before = start;
  do {
    advance();
    sockets_.after_slice();
    const auto now = steady_clock::now();
    const nanoseconds took = std::max(nanoseconds{1}, nanoseconds{now - before});
    slice_ns_ = std::clamp(slice_ns_ * kLeastWall / took, kLeastSliceNs, kMostSliceNs);
    before = now;
  } while (may_go_on() && before - start < kLeastWall);
}

void ServiceLoop::run() {
  while (serve()) {
    if (may_go_on()) simulate();
  }
}

}  // namespace exrnic
