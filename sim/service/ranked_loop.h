// SPDX-License-Identifier: BSD-2-Clause
// The simulator's main thread in free time where several ranks have hosts. All simulate the same
// slices; between two of them each serves its own sockets. While nothing is in flight at any rank,
// all sleep.
#pragma once

#include <functional>
#include <utility>

#include "sim/service/ranked_sockets.h"
#include "sim/service/slice.h"

namespace exrnic {

class RankedLoop {
 public:
  RankedLoop(Testbed& testbed, SocketService::Servers& servers, const StopSignal& stop,
             Ranks& ranks, Meeting& meeting)
      : testbed_(testbed), ranks_(ranks), sockets_(testbed, servers, stop, meeting) {}

  void serve(SideSocket& socket) { sockets_.serve(socket); }
  // Called when nothing is in flight at any rank any more, before each sleep: in all of them.
  void at_rest(std::function<void()> action) { at_rest_ = std::move(action); }

  // Returns when no rank stays (RankedSockets).
  void run();

 private:
  Testbed& testbed_;
  Ranks& ranks_;
  RankedSockets sockets_;
  std::function<void()> at_rest_;
  Slice slice_;
};

}  // namespace exrnic
