// SPDX-License-Identifier: BSD-2-Clause
#include "sim/service/ranked_loop.h"

#include <chrono>
#include <stdexcept>

namespace exrnic {

using std::chrono::microseconds;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

void RankedLoop::serve_sockets() {
  if (sockets_.serve(microseconds::zero())) return;
  stop_.take();
  if (!stays_) throw std::runtime_error("stopped twice: the other ranks are ended, too");
  stays_ = false;
}

void RankedLoop::run() {
  nanoseconds took{0};
  for (;;) {
    serve_sockets();
    const Meeting::Word all = meeting_.meet({stays_, took});
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
