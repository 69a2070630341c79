// SPDX-License-Identifier: BSD-2-Clause
#include "child.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <stdexcept>

#include "verbs_objects.h"

namespace exrnic {

namespace {

constexpr auto kTimeLimit = std::chrono::seconds(60);

[[noreturn]] void RunBody(const std::function<void(int, int)>& body, int in, int out) {
  try {
    body(in, out);
  } catch (const std::exception& error) {
    fprintf(stderr, "exrnic-guest-test: in a child process: %s\n", error.what());
    _exit(1);
  }
  _exit(0);
}

}  // namespace

Child::Child(const std::function<void(int, int)>& body) {
  int down[2];
  int up[2];
  if (pipe(down) != 0 || pipe(up) != 0) ThrowErrno("pipe");
  fflush(nullptr);  // else the child would write it once more
  pid_ = fork();
  if (pid_ < 0) ThrowErrno("fork");
  if (pid_ == 0) {
    close(down[1]);
    close(up[0]);
    RunBody(body, down[0], up[1]);
  }
  close(down[0]);
  close(up[1]);
  to_child_ = down[1];
  from_child_ = up[0];
}

Child::~Child() {
  Kill();
  close(to_child_);
  close(from_child_);
}

bool Child::Kill() {
  if (pid_ < 0) return false;
  int status = 0;
  kill(pid_, SIGKILL);
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFSIGNALED(status);
}

void Child::ReceiveBytes(void* to, size_t bytes, const char* what) {
  const auto until = std::chrono::steady_clock::now() + kTimeLimit;
  for (size_t done = 0; done < bytes;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - std::chrono::steady_clock::now());
    pollfd ready = {from_child_, POLLIN, 0};
    if (left.count() <= 0 || poll(&ready, 1, static_cast<int>(left.count())) <= 0) {
      throw std::runtime_error(std::string("a child process did not tell ") + what +
                               " within 60 s");
    }
    const ssize_t count = read(from_child_, static_cast<char*>(to) + done, bytes - done);
    if (count <= 0) {
      throw std::runtime_error(std::string("a child process ended before it told ") + what);
    }
    done += static_cast<size_t>(count);
  }
}

void Child::ReadAll(int fd, void* to, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t count = read(fd, static_cast<char*>(to) + done, bytes - done);
    if (count <= 0) throw std::runtime_error("a pipe to a parent process was closed");
    done += static_cast<size_t>(count);
  }
}

void Child::WriteAll(int fd, const void* from, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t count = write(fd, static_cast<const char*>(from) + done, bytes - done);
    if (count <= 0) ThrowErrno("cannot write to a pipe");
    done += static_cast<size_t>(count);
  }
}

}  // namespace exrnic
