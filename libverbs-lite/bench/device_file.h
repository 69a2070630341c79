// SPDX-License-Identifier: BSD-2-Clause
// /dev/NAME, open, for what the library does not offer. Throws std::runtime_error.
#ifndef EXRNIC_BENCH_DEVICE_FILE_H
#define EXRNIC_BENCH_DEVICE_FILE_H

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <string>

#include "exrnic.h"
#include "verbs_objects.h"

namespace exrnic {

class DeviceFile {
 public:
  explicit DeviceFile(const std::string& name) : fd_(Open("/dev/" + name)) {}
  ~DeviceFile() { close(fd_); }
  DeviceFile(const DeviceFile&) = delete;
  DeviceFile& operator=(const DeviceFile&) = delete;

  int fd() const { return fd_; }
  template <typename T>
  void Call(unsigned long command, T* argument, const char* what) const {
    if (ioctl(fd_, command, argument) != 0) ThrowErrno(what);
  }

 private:
  static int Open(const std::string& path) {
    const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0) ThrowErrno("cannot open " + path);
    return fd;
  }
  const int fd_;
};

}  // namespace exrnic

#endif  // EXRNIC_BENCH_DEVICE_FILE_H
