// SPDX-License-Identifier: BSD-2-Clause
#include "sim/posix/unix_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>

namespace exrnic {
namespace {

constexpr int kConnectSeconds = 5;
constexpr int kBacklog = 8;  // so that a second client is refused by us, with a line in the log

[[noreturn]] void fail(const std::string& path, const std::string& cause) {
  throw std::runtime_error("socket " + path + ": " + cause);
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    fail(path, "a path of 1 to " + std::to_string(sizeof(address.sun_path) - 1) +
                   " bytes is needed, this one has " + std::to_string(path.size()));
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

[[noreturn]] void fail_errno(const std::string& path) {
  throw std::system_error(errno, std::generic_category(), "socket " + path);
}

UniqueFd new_socket(const std::string& path, int flags) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
  if (!fd) fail_errno(path);
  return fd;
}

bool connect_to(int fd, const sockaddr_un& address) {
  return ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
}

void remove_stale(const std::string& path, const sockaddr_un& address) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) return;
  if (!S_ISSOCK(status.st_mode)) fail(path, "a file is there that is no socket");
  const UniqueFd probe = new_socket(path, SOCK_NONBLOCK);
  if (connect_to(probe.get(), address) || errno != ECONNREFUSED) {
    fail(path, "another process serves it");
  }
  ::unlink(path.c_str());
}

}  // namespace

UniqueFd listen_unix(const std::string& path) {
  const sockaddr_un address = address_of(path);
  remove_stale(path, address);
  UniqueFd fd = new_socket(path, SOCK_NONBLOCK);
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::listen(fd.get(), kBacklog) != 0) {
    fail_errno(path);
  }
  return fd;
}

UniqueFd connect_unix(const std::string& path) {
  const sockaddr_un address = address_of(path);
  UniqueFd fd = new_socket(path, 0);
  // The server's queue may be full, and the server at rest.
  const timeval limit{kConnectSeconds, 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  if (!connect_to(fd.get(), address)) fail_errno(path);
  return fd;
}

}  // namespace exrnic
