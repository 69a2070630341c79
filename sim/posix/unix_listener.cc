// SPDX-License-Identifier: BSD-2-Clause
#include "sim/posix/unix_listener.h"

#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "sim/posix/unix_socket.h"

namespace exrnic {

UnixListener::UnixListener(std::string path, Log log)
    : path_(std::move(path)), log_(std::move(log)), socket_(listen_unix(path_)) {
  struct stat file{};
  if (::lstat(path_.c_str(), &file) != 0) return;
  device_ = file.st_dev;
  inode_ = file.st_ino;
}

UnixListener::~UnixListener() {
  struct stat file{};
  if (::lstat(path_.c_str(), &file) == 0 && file.st_dev == device_ && file.st_ino == inode_) {
    ::unlink(path_.c_str());
  }
}

pollfd UnixListener::poll_fd() {
  return {socket_.get(), static_cast<short>(std::exchange(starved_, false) ? 0 : POLLIN), 0};
}

UniqueFd UnixListener::accept() {
  UniqueFd client(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (client) {
    logged_ = false;
    return client;
  }
  const int error = errno;
  // Without a descriptor the kernel does not look whether there is anybody.
  pollfd waiting{socket_.get(), POLLIN, 0};
  if (error == EAGAIN || error == EINTR || error == ECONNABORTED || ::poll(&waiting, 1, 0) <= 0) {
    return client;
  }
  starved_ = true;
  if (!std::exchange(logged_, true))
    log_(std::string("cannot accept a client: ") + strerror(error) + "; it waits");
  return client;
}

}  // namespace exrnic
