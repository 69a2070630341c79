// SPDX-License-Identifier: BSD-2-Clause
#include "sim_wake_pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "sim_error.h"

namespace exrnic {

SimWakePipe::SimWakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    throw SimError(errno, std::string("a pipe for events: ") + strerror(errno));
  }
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  read_ = vfio_user::UniqueFd(ends[0]);
  write_ = vfio_user::UniqueFd(ends[1]);
}

void SimWakePipe::Wake() {
  if (woken_ || !write_) return;
  const uint8_t byte = 0;
  woken_ = write(write_.get(), &byte, sizeof(byte)) == sizeof(byte);
}

int SimWakePipe::Await(int fd) {
  uint8_t byte;
  return static_cast<int>(read(fd, &byte, sizeof(byte)));
}

}  // namespace exrnic
