// SPDX-License-Identifier: BSD-2-Clause
// The sockets of one of several ranks, and the meetings at which all tell whether they end.
//
// Threads: none of its own; every call comes from the thread that serves the sockets.
#pragma once

#include <chrono>

#include "sim/ranks/meeting.h"
#include "sim/service/socket_service.h"

namespace exrnic {

class RankedSockets {
 public:
  // No socket may hold time.
  RankedSockets(Testbed& testbed, SocketService::Servers& servers, const StopSignal& stop,
                Meeting& meeting)
      : sockets_(testbed, servers, stop), stop_(stop), meeting_(meeting) {}

  void serve(SideSocket& socket) { sockets_.serve(socket); }

  // Handles what has come, then meets the others: their longest last slice, and whether any stays.
  // None does when a stop signal has come to each of them: until then the others' hosts need this
  // one. Throws std::runtime_error if it is told again.
  Meeting::Word meet(std::chrono::nanoseconds took);

  bool await(std::chrono::microseconds most) { return sockets_.await(most); }
  void after_slice() { sockets_.after_slice(); }

 private:
  SocketService sockets_;
  const StopSignal& stop_;
  Meeting& meeting_;
  bool stays_ = true;
};

}  // namespace exrnic
