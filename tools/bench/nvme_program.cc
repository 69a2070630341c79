// SPDX-License-Identifier: BSD-2-Clause
#include "tools/bench/nvme_program.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <system_error>

#include "sim/posix/unique_fd.h"

namespace exrnic::bench {
namespace {

constexpr char kReady[] = "exrnic-nvme: ready\n";

std::filesystem::path new_folder() {
  std::string name = std::filesystem::temp_directory_path() / "exrnic-bench-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder " + name);
  return name;
}

// It says a line when it listens, and ends before that if it cannot.
bool becomes_ready(int output) {
  std::string text;
  char byte = 0;
  while (text != kReady && ::read(output, &byte, 1) == 1) text += byte;
  return text == kReady;
}

}  // namespace

NvmeProgram::NvmeProgram(uint64_t disk_bytes)
    : folder_(new_folder()), socket_(folder_ / "nvme.sock") {
  const std::string disk = folder_ / "disk";
  std::ofstream{disk};
  std::filesystem::resize_file(disk, disk_bytes);
  if (start(disk)) return;
  stop();
  throw std::runtime_error(EXRNIC_NVME_PROGRAM " does not become ready: see what it says");
}

NvmeProgram::~NvmeProgram() { stop(); }

bool NvmeProgram::start(const std::string& disk) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  const UniqueFd output(ends[0]);
  UniqueFd input(ends[1]);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::_exit(1);
    ::dup2(input.get(), STDOUT_FILENO);
    ::execl(EXRNIC_NVME_PROGRAM, EXRNIC_NVME_PROGRAM, "--socket", socket_.c_str(), "--namespace",
            disk.c_str(), nullptr);
    ::_exit(1);
  }
  input.reset();
  return pid_ > 0 && becomes_ready(output.get());
}

void NvmeProgram::stop() {
  if (pid_ > 0) {
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

}  // namespace exrnic::bench
