// SPDX-License-Identifier: BSD-2-Clause
#include "sim_wake_pipe.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "sim_error.h"

namespace exrnic {

SimWakePipe::SimWakePipe() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw SimError(errno, std::string("sockets for events: ") + strerror(errno));
  }
  read_ = UniqueFd(ends[0]);
  write_ = UniqueFd(ends[1]);
}

void SimWakePipe::Wake() {
  if (woken_ || !write_) return;
  const uint8_t byte = 0;
  woken_ = send(write_.get(), &byte, sizeof(byte), MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(byte);
}

void SimWakePipe::Sleep() {
  uint8_t byte;
  if (woken_) (void)recv(read_.get(), &byte, sizeof(byte), MSG_DONTWAIT);
  woken_ = false;
}

int SimWakePipe::Await(int fd) {
  uint8_t byte;
  return static_cast<int>(read(fd, &byte, sizeof(byte)));
}

}  // namespace exrnic
