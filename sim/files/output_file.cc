// SPDX-License-Identifier: BSD-2-Clause
#include "sim/files/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace exrnic {

OutputFile open_output(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0666);
  if (fd < 0) return nullptr;
  // Behind the opening its reader is waited for, as any program does.
  std::FILE* file = nullptr;
  if (::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK) == 0) file = ::fdopen(fd, "wb");
  if (file == nullptr) {
    const int error = errno;
    ::close(fd);
    errno = error;
  }
  return OutputFile(file);
}

}  // namespace exrnic
