// SPDX-License-Identifier: BSD-2-Clause
// exrnic-sim as tests start it.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "sim/testing/temp_dir.h"

extern char** environ;

namespace exrnic {

// exrnic-sim as a child process; its end is awaited for a limited time, and it never survives.
class Simulator {
 public:
  // Arguments of the program; EXRNIC_SIM_PROGRAM, which the build defines, is where it is. Or
  // another `program`, by its name in PATH.
  explicit Simulator(std::vector<std::string> arguments,
                     const std::string& program = EXRNIC_SIM_PROGRAM) {
    arguments.insert(arguments.begin(), program);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    int out[2], err[2];
    if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0) throw std::bad_alloc();
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, err[1], STDERR_FILENO);
    if (::posix_spawnp(&pid_, argv[0], &actions, nullptr, argv.data(), environ) != 0) {
      throw std::runtime_error("cannot start " + arguments[0]);
    }
    posix_spawn_file_actions_destroy(&actions);
    ::close(out[1]);
    ::close(err[1]);
    out_ = out[0];
    err_ = err[0];
  }

  ~Simulator() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    ::close(out_);
    ::close(err_);
  }

  void wait_until_ready() {
    constexpr char kReady[] = "exrnic-sim: ready\n";
    std::string text;
    pollfd fd{out_, POLLIN, 0};
    while (text != kReady) {
      char byte = 0;
      if (::poll(&fd, 1, 10'000) != 1 || ::read(out_, &byte, 1) != 1) {
        throw std::runtime_error("waited 10 s for 'exrnic-sim: ready', got '" + text + "'");
      }
      text += byte;
    }
  }

  void signal(int number) { ::kill(pid_, number); }
  pid_t pid() const { return pid_; }

  // Its exit code; what it had used of the CPU is in cpu_seconds().
  int wait_for_exit() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    rusage usage{};
    int status = 0;
    while (::wait4(pid_, &status, WNOHANG, &usage) == 0) {
      if (std::chrono::steady_clock::now() > end) {
        throw std::runtime_error("waited 10 s for exrnic-sim to end");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    pid_ = -1;
    cpu_seconds_ = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  double cpu_seconds() const { return cpu_seconds_; }
  std::string rest_of_stdout() { return read_all(out_); }
  std::string rest_of_stderr() { return read_all(err_); }

 private:
  static double seconds(const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  }
  static std::string read_all(int fd) {
    std::string text;
    char buffer[4096];
    for (ssize_t n; (n = ::read(fd, buffer, sizeof(buffer))) > 0;) {
      text.append(buffer, static_cast<size_t>(n));
    }
    return text;
  }

  pid_t pid_ = -1;
  int out_ = -1;
  int err_ = -1;
  double cpu_seconds_ = 0;
};

}  // namespace exrnic
