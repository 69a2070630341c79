// SPDX-License-Identifier: BSD-2-Clause
// A unix socket at a path, at which clients of any kind connect.
//
// A client that cannot be accepted because this process has no descriptor left waits; so long as
// nothing else happens it is not looked at, as its socket stays readable and would be polled in
// circles.
//
// Threads: none.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <functional>
#include <string>

#include "sim/posix/unique_fd.h"

namespace exrnic {

class UnixListener {
 public:
  using Log = std::function<void(const std::string& line)>;

  // A socket file that nobody serves any more is replaced. Throws std::runtime_error with one clear
  // line if the path cannot be served.
  UnixListener(std::string path, Log log);
  // Removes the socket file, unless another has taken its place.
  ~UnixListener();
  UnixListener(const UnixListener&) = delete;
  UnixListener& operator=(const UnixListener&) = delete;

  int fd() const { return socket_.get(); }
  // What to poll for. Behind an accept() that found no descriptor one call asks for nothing: who
  // polls wakes up for something else first, such as a client that leaves.
  pollfd poll_fd();

  // The next client, in a socket that does not block; empty if none can be had now.
  UniqueFd accept();

 private:
  std::string path_;
  Log log_;
  UniqueFd socket_;
  dev_t device_ = 0;  // of the socket file
  ino_t inode_ = 0;
  bool starved_ = false;
  bool logged_ = false;
};

}  // namespace exrnic
