// SPDX-License-Identifier: BSD-2-Clause
#include "sim/service/service_loop.h"

#include <chrono>

namespace exrnic {
using std::chrono::steady_clock;

ServiceLoop::ServiceLoop(Testbed& testbed, Servers& servers, const StopSignal& stop)
    : testbed_(testbed), sockets_(testbed, servers, stop) {}

bool ServiceLoop::may_go_on() { return testbed_.busy() && !sockets_.holds_time(); }

bool ServiceLoop::serve() {
  if (!testbed_.busy() && at_rest_) at_rest_();
  return sockets_.serve(may_go_on() ? std::chrono::microseconds::zero() : SocketService::kForever);
}

// Who may hold time is asked at each point of it.
void ServiceLoop::advance() {
  if (!sockets_.may_hold_time()) return testbed_.run_while_busy(slice_.ns());
  testbed_.run_until([this] { return sockets_.holds_time(); }, slice_.ns());
}

void ServiceLoop::simulate() {
  const auto start = steady_clock::now();
  auto before = start;
  do {
    advance();
    sockets_.after_slice();
    const auto now = steady_clock::now();
    slice_.took(now - before);
    before = now;
  } while (may_go_on() && before - start < Slice::kLeastWall);
}

void ServiceLoop::run() {
  while (serve()) {
    if (may_go_on()) simulate();
  }
}

}  // namespace exrnic
