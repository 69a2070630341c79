// SPDX-License-Identifier: BSD-2-Clause
// exrnic-nvme as a child process, with a disk of zeros.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

namespace exrnic::bench {

class NvmeProgram {
 public:
  // It listens when this returns. Throws std::runtime_error with one line.
  explicit NvmeProgram(uint64_t disk_bytes);
  ~NvmeProgram();
  NvmeProgram(const NvmeProgram&) = delete;
  NvmeProgram& operator=(const NvmeProgram&) = delete;

  const std::string& socket() const { return socket_; }

 private:
  bool start(const std::string& disk);
  void stop();

  const std::filesystem::path folder_;  // temporary
  const std::string socket_;
  pid_t pid_ = -1;
};

}  // namespace exrnic::bench
