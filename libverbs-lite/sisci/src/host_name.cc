// SPDX-License-Identifier: BSD-2-Clause
#include "host_name.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace exrnic::sisci {

namespace {

socklen_t Fill(const std::string& name, sockaddr_un* address) {
  const std::string whole = "exrnic-sisci/" + name;
  memset(address, 0, sizeof(*address));
  address->sun_family = AF_UNIX;
  memcpy(address->sun_path + 1, whole.data(), whole.size());  // behind a 0: abstract
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + whole.size());
}

}  // namespace

HostName::~HostName() {
  if (fd_ >= 0) close(fd_);
}

bool HostName::Take(const std::string& name) {
  sockaddr_un address;
  const socklen_t length = Fill(name, &address);
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), length) != 0) {
    const int error = errno;
    close(fd);
    errno = error;
    return false;
  }
  fd_ = fd;
  return true;
}

bool HostName::IsTaken(const std::string& name) {
  sockaddr_un address;
  const socklen_t length = Fill(name, &address);
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return true;  // nothing is known: say nothing
  const bool taken = connect(fd, reinterpret_cast<const sockaddr*>(&address), length) == 0;
  close(fd);
  return taken;
}

}  // namespace exrnic::sisci
