// SPDX-License-Identifier: BSD-2-Clause
#include "sim/service/ranked_sockets.h"

#include <stdexcept>

namespace exrnic {

Meeting::Word RankedSockets::meet(std::chrono::nanoseconds took) {
  if (!sockets_.serve(std::chrono::microseconds::zero())) {
    stop_.take();
    if (!stays_) throw std::runtime_error("stopped twice: the other ranks are ended, too");
    stays_ = false;
  }
  return meeting_.meet({stays_, took});
}

}  // namespace exrnic
