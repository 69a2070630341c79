// SPDX-License-Identifier: BSD-2-Clause
// Names that one process of this host has at a time: the ids of its segments, the numbers of its
// interrupts. A name is an abstract Unix socket, so the kernel gives it to one process only, and
// takes it back when that dies.
#ifndef EXRNIC_SISCI_HOST_NAME_H
#define EXRNIC_SISCI_HOST_NAME_H

#include <string>
#include <utility>

namespace exrnic::sisci {

class HostName {
 public:
  HostName() = default;
  ~HostName();
  HostName(HostName&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  HostName& operator=(HostName&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

  // False: another process has it, or, with another errno than EADDRINUSE, a system call failed.
  bool Take(const std::string& name);

  static bool IsTaken(const std::string& name);

 private:
  int fd_ = -1;
};

}  // namespace exrnic::sisci

#endif  // EXRNIC_SISCI_HOST_NAME_H
