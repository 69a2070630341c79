// SPDX-License-Identifier: BSD-2-Clause
// How a program of ours is asked to end.
#pragma once

#include "sim/posix/unique_fd.h"

namespace exrnic {

// SIGINT and SIGTERM as a file descriptor. While it lives they are blocked and end nothing.
class StopSignal {
 public:
  StopSignal();  // throws std::system_error

  int fd() const { return fd_.get(); }

 private:
  UniqueFd fd_;
};

}  // namespace exrnic
