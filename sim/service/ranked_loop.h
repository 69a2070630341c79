// SPDX-License-Identifier: BSD-2-Clause
// The simulator's main thread in free time where several ranks have hosts. All simulate the same
// slices; between two of them each serves its own sockets. While nothing is in flight at any rank,
// all sleep.
#pragma once

#include <functional>
#include <utility>

#include "sim/ranks/meeting.h"
#include "sim/service/slice.h"
#include "sim/service/socket_service.h"

namespace exrnic {

class RankedLoop {
 public:
  using Servers = SocketService::Servers;

  // No socket of them may hold time.
  RankedLoop(Testbed& testbed, Servers& servers, const StopSignal& stop, Ranks& ranks,
             Meeting& meeting)
      : testbed_(testbed),
        sockets_(testbed, servers, stop),
        stop_(stop),
        ranks_(ranks),
        meeting_(meeting) {}

  void serve(SideSocket& socket) { sockets_.serve(socket); }
  // Called when nothing is in flight at any rank any more, before each sleep.
  void at_rest(std::function<void()> action) { at_rest_ = std::move(action); }

  // Returns when a stop signal has come to each rank: until then the others' hosts need it. Throws
  // std::runtime_error if this one is told again.
  void run();

 private:
  void serve_sockets();

  Testbed& testbed_;
  SocketService sockets_;
  const StopSignal& stop_;
  Ranks& ranks_;
  Meeting& meeting_;
  std::function<void()> at_rest_;
  Slice slice_;
  bool stays_ = true;
};

}  // namespace exrnic
