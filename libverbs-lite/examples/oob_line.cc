// SPDX-License-Identifier: BSD-2-Clause
#include "oob_line.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <utility>

namespace exrnic {

namespace {

using Clock = std::chrono::steady_clock;

constexpr char kUnix[] = "unix:";
constexpr auto kRetry = std::chrono::milliseconds(2);

std::string ErrnoText(const std::string& what) { return what + ": " + strerror(errno); }

int OpenSerialLine(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) throw std::runtime_error(ErrnoText("cannot open " + path));
  termios mode;
  if (tcgetattr(fd, &mode) == 0) {
    cfmakeraw(&mode);
    mode.c_cflag |= CLOCAL | CREAD;
    cfsetspeed(&mode, B115200);
    if (tcsetattr(fd, TCSANOW, &mode) == 0) {
      tcflush(fd, TCIFLUSH);
      return fd;
    }
  }
  const std::string text = ErrnoText("cannot set " + path + " to raw mode");
  close(fd);
  throw std::runtime_error(text);
}

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    throw std::runtime_error("a socket's path has 1 to " +
                             std::to_string(sizeof(address.sun_path) - 1) + " bytes, \"" + path +
                             "\" has " + std::to_string(path.size()));
  }
  memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

class Socket {
 public:
  Socket() : fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (fd_ < 0) throw std::runtime_error(ErrnoText("socket"));
  }
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

int Accept(const std::string& path, std::chrono::milliseconds limit) {
  const sockaddr_un address = AddressOf(path);
  Socket listener;
  unlink(path.c_str());
  if (bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      listen(listener.get(), 1) != 0) {
    throw std::runtime_error(ErrnoText("cannot listen on " + path));
  }
  pollfd ready = {listener.get(), POLLIN, 0};
  const int count = poll(&ready, 1, static_cast<int>(limit.count()));
  const int fd = count == 1 ? accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC) : -1;
  const std::string problem = count == 0 ? "nobody connected to " + path + " within " +
                                               std::to_string(limit.count()) + " ms"
                                         : ErrnoText("cannot accept on " + path);
  unlink(path.c_str());
  if (fd < 0) throw std::runtime_error(problem);
  return fd;
}

int Connect(const std::string& path, std::chrono::milliseconds limit) {
  const sockaddr_un address = AddressOf(path);
  const Clock::time_point until = Clock::now() + limit;
  for (;;) {
    Socket end;
    if (connect(end.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
      return end.Release();
    }
    // Node 0 may not be there yet, or an earlier one has left its socket.
    const bool later = errno == ENOENT || errno == ECONNREFUSED;
    if (!later || Clock::now() >= until) {
      throw std::runtime_error(ErrnoText("cannot connect to " + path));
    }
    std::this_thread::sleep_for(kRetry);
  }
}

}  // namespace

int OpenOobLine(const std::string& line, uint32_t node, std::chrono::milliseconds limit) {
  if (line.compare(0, sizeof(kUnix) - 1, kUnix) != 0) return OpenSerialLine(line);
  const std::string path = line.substr(sizeof(kUnix) - 1);
  return node == 0 ? Accept(path, limit) : Connect(path, limit);
}

}  // namespace exrnic
