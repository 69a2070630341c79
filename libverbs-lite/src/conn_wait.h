// SPDX-License-Identifier: BSD-2-Clause
// Waiting for file descriptors, with an end to it.
#ifndef EXRNIC_LIBVERBS_CONN_WAIT_H
#define EXRNIC_LIBVERBS_CONN_WAIT_H

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>

#include "transport/error_text.h"

namespace exrnic {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Deadline(int timeout_ms) : end_(Clock::now() + std::chrono::milliseconds(timeout_ms)) {}
  int left_ms() const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end_ - Clock::now()).count();
    return static_cast<int>(std::max<int64_t>(0, left));
  }

 private:
  const Clock::time_point end_;
};

// Until the socket is ready. False with an error; late: the text of ETIMEDOUT.
inline bool Await(int fd, short events, const Deadline& deadline, const char* late) {
  for (;;) {
    pollfd ready = {fd, events, 0};
    const int count = poll(&ready, 1, deadline.left_ms());
    if (count > 0) return true;
    if (count == 0) Fail(ETIMEDOUT, "%s", late);
    if (count == 0 || errno != EINTR) return false;
  }
}

inline bool IsSocket(int fd) {
  int type;
  socklen_t size = sizeof(type);
  return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0;
}

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_CONN_WAIT_H
