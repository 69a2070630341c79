// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXRNIC_LIBVERBS_SIM_WAKE_PIPE_H
#define EXRNIC_LIBVERBS_SIM_WAKE_PIPE_H

#include "sim/posix/unique_fd.h"

namespace exrnic {

// A file descriptor for poll and epoll that is readable while its owner has something to take. The
// owner has a lock, and calls Wake, Rest and End under it.
//
// While there is something, a byte is in the pipe to poll for, or a reader has just taken it and
// will put it back. It is a pair of sockets: of a pipe, whose reader may want to wait, the owner
// could not take the byte back without waiting itself.
class SimWakePipe {
 public:
  // Throws SimError.
  SimWakePipe();
  // To read from.
  int fd() const { return read_.get(); }

  // There is something.
  void Wake();
  // A reader has taken the byte. If it leaves something behind, it wakes anew.
  void Rest() { woken_ = false; }
  // There is nothing any more, though nobody has read.
  void Sleep();
  // There will never be anything: nobody waits any more.
  void End() { write_.reset(); }

  // Waits for the byte of a pipe, and takes it, without the lock: 1. 0: the end. -1: errno is
  // EAGAIN if nothing is there and fd has O_NONBLOCK, or EINTR.
  static int Await(int fd);

 private:
  UniqueFd read_;
  UniqueFd write_;
  bool woken_ = false;  // the byte is in the pipe, as far as is known here
};

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_SIM_WAKE_PIPE_H
