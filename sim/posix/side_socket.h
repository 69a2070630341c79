// SPDX-License-Identifier: BSD-2-Clause
// A socket of the simulator beside those of the nodes' hosts: for whoever watches or debugs it.
//
// Threads: none; no call waits for a client.
#pragma once

#include <poll.h>

#include <vector>

namespace exrnic {

class SideSocket {
 public:
  virtual ~SideSocket() = default;
  // What to poll for before the next service() has something to do.
  virtual void append_poll_fds(std::vector<pollfd>& fds) = 0;
  virtual void service() = 0;
  // After so long service() has something to do in any case; -1: never.
  virtual int poll_timeout_ms() const { return -1; }
  // While holds_time() simulated time stands: something is waited for that has no time. Only of one
  // that may_hold_time().
  virtual bool may_hold_time() const { return false; }
  virtual bool holds_time() const { return false; }
  // After each slice of simulated time.
  virtual void after_slice() {}
};

}  // namespace exrnic
