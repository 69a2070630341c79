// SPDX-License-Identifier: BSD-2-Clause
// exrnic-fetch: a client gets a file of a server. They meet over TCP, or a serial line, by
// exrnic/connect.h, which tells the client where the file is; then it PULLs the bytes, and the
// server's process does nothing.
#ifndef EXRNIC_EXAMPLES_FETCH_PROGRAM_H
#define EXRNIC_EXAMPLES_FETCH_PROGRAM_H

#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "verbs_objects.h"

namespace exrnic {

// What a call of exrnic/connect.h has opened.
class Stream {
 public:
  Stream(int fd, const char* call) : fd_(fd) { Check(fd, call); }
  ~Stream() { close(fd_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  int fd() const { return fd_; }

 private:
  const int fd_;
};

struct FetchedFile {
  std::string name;  // of which the client hears the first VL_CONN_PRIVATE_MAX bytes
  std::vector<uint8_t> bytes;
};

// Throws std::runtime_error if the file is no regular one (a FIFO would be waited for), cannot be
// read, or is larger than a client takes.
FetchedFile ReadFile(const std::string& path);

// Lets the next client of a listening socket fetch the file, and returns when it has all of it.
// Throws std::exception.
void ServeFile(FetchedFile file, const Stream& listener, const OpenRnicCall& open);

// Fetches the file of the server at "HOST:PORT", which may come later, or at the other end of a
// serial line. Throws std::exception.
FetchedFile FetchFile(const std::string& address, const OpenRnicCall& open);

}  // namespace exrnic

#endif  // EXRNIC_EXAMPLES_FETCH_PROGRAM_H
