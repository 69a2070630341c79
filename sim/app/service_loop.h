// SPDX-License-Identifier: BSD-2-Clause
// The simulator's one thread: serve the sockets, step simulated time by a slice, again. While
// nothing is in flight it sleeps in poll() and costs nothing; while anything is, it never waits.
#pragma once

#include <poll.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "sim/control/control_server.h"
#include "sim/testbed.h"
#include "sim/vfio_user/server.h"

namespace exrnic {

// SIGINT and SIGTERM as a file descriptor. While it lives they are blocked and end nothing.
class StopSignal {
 public:
  StopSignal();  // throws std::system_error
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  int fd() const { return fd_; }

 private:
  int fd_;
};

class ServiceLoop {
 public:
  using Servers = std::vector<std::unique_ptr<vfio_user::VfioUserServer>>;

  // servers[i] is the host of node i.
  ServiceLoop(Testbed& testbed, Servers& servers, const StopSignal& stop)
      : testbed_(testbed), servers_(servers), stop_(stop) {}

  // Served beside the nodes' hosts; it outlives the loop.
  void serve(ControlServer& control) { control_ = &control; }
  // Called when nothing is in flight any more, before each sleep.
  void at_rest(std::function<void()> action) { at_rest_ = std::move(action); }

  // Returns when a stop signal has come.
  void run();

 private:
  bool serve();  // false: stop
  void simulate();
  bool may_serve(unsigned node);
  int poll_all(int timeout_ms);

  Testbed& testbed_;
  Servers& servers_;
  const StopSignal& stop_;
  ControlServer* control_ = nullptr;
  std::function<void()> at_rest_;
  std::vector<pollfd> fds_;     // the stop signal, then each server's, then the control socket's
  std::vector<size_t> end_of_;  // by node: one past its last entry in fds_
};

}  // namespace exrnic
