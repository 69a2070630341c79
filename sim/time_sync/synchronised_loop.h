// SPDX-License-Identifier: BSD-2-Clause
// The simulator in synchronised time, which has one thread only. Simulated time follows the guests:
// it never passes the guest that is furthest behind, and no guest passes the horizon, the next
// moment at which the simulation may touch a host. README.md has the rules and why they suffice.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "sim/service/socket_service.h"
#include "sim/testbed.h"
#include "sim/time_sync/guest_clocks.h"
#include "sim/time_sync/timed_node.h"

namespace exrnic {

class SynchronisedLoop {
 public:
  // servers[i] is the host of node i. `to_host_ns`: what the device does now reaches its host no
  // sooner.
  SynchronisedLoop(Testbed& testbed, SocketService::Servers& servers, const StopSignal& stop,
                   GuestClocks& clocks, uint64_t to_host_ns);

  // Served beside the nodes' hosts; it outlives the loop.
  void serve(SideSocket& socket) { sockets_.serve(socket); }
  // Called when nothing is in flight any more, before each sleep.
  void at_rest(std::function<void()> action) { at_rest_ = std::move(action); }

  // Returns when a stop signal has come. Time starts when the guests of all nodes are there.
  void run();

 private:
  bool step();  // true: something was done
  bool admit();
  bool simulate();
  bool take_accesses();
  void draw_horizon();
  std::chrono::microseconds patience(unsigned idle_steps) const;

  Testbed& testbed_;
  GuestClocks& clocks_;
  SocketService sockets_;
  std::function<void()> at_rest_;
  std::vector<std::unique_ptr<TimedNode>> nodes_;
  uint64_t to_host_ns_;
  uint64_t horizon_ns_ = 0;
  bool started_ = false;
};

}  // namespace exrnic
