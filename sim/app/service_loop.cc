// SPDX-License-Identifier: BSD-2-Clause
#include "sim/app/service_loop.h"

#include <chrono>

namespace exrnic {
namespace {

// Between two looks at the sockets: at least so much simulated time, 50 cycles at 250 MHz, which
// take verilated cores some 100 us of wall clock. A reference model is through with them in less
// than a look takes: it goes on until a look is worth its 2 us.
constexpr uint64_t kSliceNs = 200;
constexpr std::chrono::microseconds kLeastWall{10};

}  // namespace

bool ServiceLoop::serve() {
  const bool busy = testbed_.busy();
  if (!busy && at_rest_) at_rest_();
  return sockets_.serve(busy ? kLeastWall.zero() : SocketService::kForever);
}

void ServiceLoop::simulate() {
  const auto end = std::chrono::steady_clock::now() + kLeastWall;
  do {
    testbed_.run_while_busy(kSliceNs);
    sockets_.after_slice();
  } while (testbed_.busy() && std::chrono::steady_clock::now() < end);
}

void ServiceLoop::run() {
  while (serve()) {
    if (testbed_.busy()) simulate();
  }
}

}  // namespace exrnic
