// SPDX-License-Identifier: BSD-2-Clause
// How a program of ours is asked to end.
#pragma once

#include "sim/posix/unique_fd.h"

namespace exrnic {

// SIGINT and SIGTERM as a file descriptor. While it lives they are blocked and end nothing.
class StopSignal {
 public:
  StopSignal();  // throws std::system_error

  // Is readable once one has come.
  int fd() const { return fd_.get(); }
  // Whether one has come that was not taken yet. Then fd() is readable when the next one comes.
  bool take() const;

 private:
  UniqueFd fd_;
};

}  // namespace exrnic
