// SPDX-License-Identifier: BSD-2-Clause
#include "sim/service/ranked_loop.h"

#include <chrono>

namespace exrnic {

using std::chrono::microseconds;
using std::chrono::steady_clock;

void RankedLoop::run() {
  std::chrono::nanoseconds took{0};
  for (;;) {
    const Meeting::Word all = sockets_.meet(took);
    if (!all.stays) return;
    slice_.took(all.took);
    const auto start = steady_clock::now();
    testbed_.run_while_busy(slice_.ns());
    took = steady_clock::now() - start;
    sockets_.after_slice();
    if (testbed_.was_busy()) continue;
    if (at_rest_) at_rest_();
    ranks_.rest([this](microseconds most) { return sockets_.await(most); });
  }
}

}  // namespace exrnic
