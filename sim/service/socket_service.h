// SPDX-License-Identifier: BSD-2-Clause
// The sockets of a run: waits for them, and serves the clients behind them.
//
// Threads: none of its own; every call comes from the thread that serves the sockets.
#pragma once

#include <poll.h>

#include <chrono>
#include <memory>
#include <vector>

#include "sim/posix/side_socket.h"
#include "sim/posix/stop_signal.h"
#include "sim/testbed.h"
#include "sim/vfio_user/server.h"

namespace exrnic {

class SocketService {
 public:
  using Servers = std::vector<std::unique_ptr<vfio_user::VfioUserServer>>;
  static constexpr std::chrono::microseconds kForever{-1};

  // servers[i] is the host of node i; nullptr: of another rank.
  SocketService(Testbed& testbed, Servers& servers, const StopSignal& stop)
      : testbed_(testbed), servers_(servers), stop_(stop) {}

  // Served beside the nodes' hosts; it outlives this.
  void serve(SideSocket& socket);

  // Waits at most so long for anything to come, and handles it. False: a stop signal has come.
  bool serve(std::chrono::microseconds timeout);
  // Waits at most so long until serve() has something to do; whether it has.
  bool await(std::chrono::microseconds timeout);
  // Whether simulated time stands (SideSocket); it never does unless it may.
  bool may_hold_time() const { return !holders_.empty(); }
  bool holds_time() const;
  // Simulated time has gone on.
  void after_slice();

 private:
  int poll_all(std::chrono::microseconds timeout);
  std::chrono::microseconds shortened(std::chrono::microseconds timeout) const;
  void serve_unasked();

  Testbed& testbed_;
  Servers& servers_;
  const StopSignal& stop_;
  std::vector<SideSocket*> side_sockets_;
  std::vector<SideSocket*> holders_;  // of these, those that may hold time
  std::vector<pollfd> fds_;           // the stop signal, then each server's, then the others'
  std::vector<size_t> end_of_;        // by node: one past its last entry in fds_
};

}  // namespace exrnic
