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
  explicit DeviceFile(const std::string& name) : fd_(open(Path(name).c_str(), O_RDWR | O_CLOEXEC)) {
    if (fd_ < 0) ThrowErrno("cannot open " + Path(name));
  }
  ~DeviceFile() { close(fd_); }
  DeviceFile(const DeviceFile&) = delete;
  DeviceFile& operator=(const DeviceFile&) = delete;

  int fd() const { return fd_; }
  template <typename T>
  void Call(unsigned long command, T* argument, const char* what) const {
    if (ioctl(fd_, command, argument) != 0) ThrowErrno(what);
  }

 private:
  static std::string Path(const std::string& name) { return "/dev/" + name; }
  const int fd_;
};

}  // namespace exrnic

#endif  // EXRNIC_BENCH_DEVICE_FILE_H
