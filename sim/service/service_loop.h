// SPDX-License-Identifier: BSD-2-Clause
// The simulator's main thread in free time: serve the sockets, step simulated time by a slice,
// again. While nothing is in flight it sleeps in poll() and costs nothing; while anything is, it
// never waits, unless a socket holds time.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "sim/service/slice.h"
#include "sim/service/socket_service.h"

namespace exrnic {

class ServiceLoop {
 public:
  using Servers = SocketService::Servers;

  ServiceLoop(Testbed& testbed, Servers& servers, const StopSignal& stop);

  // Served beside the nodes' hosts; it outlives the loop.
  void serve(SideSocket& socket) { sockets_.serve(socket); }
  // Called when nothing is in flight any more, before each sleep.
  void at_rest(std::function<void()> action) { at_rest_ = std::move(action); }

  // Returns when a stop signal has come.
  void run();

 private:
  bool serve();  // false: stop
  void simulate();
  void advance();
  bool may_go_on();

  Testbed& testbed_;
  SocketService sockets_;
  std::function<void()> at_rest_;
  Slice slice_;
};

}  // namespace exrnic
