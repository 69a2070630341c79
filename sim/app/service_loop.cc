// SPDX-License-Identifier: BSD-2-Clause
#include "sim/app/service_loop.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <system_error>

namespace exrnic {
namespace {

// Between two looks at the sockets: at least so much simulated time, 50 cycles at 250 MHz, which
// take verilated cores some 100 us of wall clock. A reference model is through with them in less
// than a look takes: it goes on until a look is worth its 2 us.
constexpr uint64_t kSliceNs = 200;
constexpr std::chrono::microseconds kLeastWall{10};

// CPU accesses that may wait in front of a PCIe link before its socket is read no further. A guest
// that only stores would else fill our memory: real flow control would stall its CPU.
constexpr size_t kMostBacklog = 1024;

constexpr int kForever = -1;

sigset_t stop_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

}  // namespace

StopSignal::StopSignal() {
  const sigset_t signals = stop_signals();
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  fd_ = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "signalfd");
}

StopSignal::~StopSignal() { ::close(fd_); }

int ServiceLoop::poll_all(int timeout_ms) {
  fds_.clear();
  end_of_.clear();
  fds_.push_back({stop_.fd(), POLLIN, 0});
  for (const auto& server : servers_) {
    server->append_poll_fds(fds_);
    end_of_.push_back(fds_.size());
  }
  if (control_ != nullptr) control_->append_poll_fds(fds_);
  const int ready = ::poll(fds_.data(), fds_.size(), timeout_ms);
  if (ready < 0 && errno != EINTR) {
    throw std::system_error(errno, std::generic_category(), "poll");
  }
  return ready;
}

bool ServiceLoop::may_serve(unsigned node) {
  return testbed_.node(node).pcie().downstream_backlog() < kMostBacklog;
}

bool ServiceLoop::serve() {
  if (!testbed_.busy() && at_rest_) at_rest_();
  if (poll_all(testbed_.busy() ? 0 : kForever) <= 0) return true;
  if (fds_[0].revents != 0) return false;
  size_t entry = 1;
  for (unsigned node = 0; node < servers_.size(); ++node) {
    bool ready = false;
    for (; entry < end_of_[node]; ++entry) ready |= fds_[entry].revents != 0;
    if (ready && may_serve(node)) servers_[node]->service();
  }
  bool asked = false;
  for (; entry < fds_.size(); ++entry) asked |= fds_[entry].revents != 0;
  if (asked) control_->service();
  return true;
}

void ServiceLoop::simulate() {
  const auto end = std::chrono::steady_clock::now() + kLeastWall;
  do {
    testbed_.run_while_busy(kSliceNs);
  } while (testbed_.busy() && std::chrono::steady_clock::now() < end);
}

void ServiceLoop::run() {
  while (serve()) {
    if (testbed_.busy()) simulate();
  }
}

}  // namespace exrnic
