// SPDX-License-Identifier: BSD-2-Clause
#include "sim/files/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace exrnic {
namespace {

// The descriptor is the file's, or closed.
OutputFile file_of(int fd, const char* mode) {
  std::FILE* const file = ::fdopen(fd, mode);
  if (file == nullptr) {
    const int error = errno;
    ::close(fd);
    errno = error;
  }
  return OutputFile(file);
}

}  // namespace

OutputFile open_output(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0666);
  if (fd < 0) return nullptr;
  // Behind the opening its reader is waited for, as any program does.
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  return file_of(fd, "wb");
}

std::string temporary_folder() {
  const char* const folder = std::getenv("TMPDIR");
  return folder == nullptr || *folder == 0 ? "/tmp" : folder;
}

OutputFile open_temporary() {
  std::string path = temporary_folder() + "/exrnic-XXXXXX";
  const int fd = ::mkostemp(path.data(), O_CLOEXEC);
  if (fd < 0) return nullptr;
  ::unlink(path.c_str());
  return file_of(fd, "w+b");
}

}  // namespace exrnic
