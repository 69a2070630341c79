// SPDX-License-Identifier: BSD-2-Clause
// For tests: guests in synchronised time that are played. Each is a vfio-user client, and a thread
// of its own that does to the shared clock what the plugin in a QEMU does.
#pragma once

#include <fcntl.h>
#include <linux/pci_regs.h>
#include <linux/vfio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

#include "sim/posix/unix_socket.h"
#include "sim/time_sync/shared_time.h"
#include "sim/vfio_user/client.h"

namespace exrnic {

// The file, as a guest maps it.
class Clock {
 public:
  explicit Clock(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) throw std::runtime_error("no clock at " + path);
    time_ = static_cast<exrnic_shared_time*>(
        ::mmap(nullptr, sizeof(exrnic_shared_time), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    ::close(file);
  }
  ~Clock() { ::munmap(time_, sizeof *time_); }
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  exrnic_shared_time* operator->() const { return time_; }
  exrnic_shared_time* get() const { return time_; }

 private:
  exrnic_shared_time* time_;
};

template <typename Condition>
void wait_for(const char* what, Condition condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) {
      throw std::runtime_error(std::string("waited 10 s for ") + what);
    }
    std::this_thread::yield();
  }
}

// A guest whose program is the test: run_to() executes, load() and store() reach the device.
class PlayedGuest {
 public:
  PlayedGuest(const std::string& clock, const std::string& socket, unsigned number)
      : clock_(clock),
        number_(number),
        me_(clock_->guest[number]),
        client_(connect_unix(socket), {}),
        helper_([this] { answer(); }) {
    REQUIRE(client_.negotiate() == 0);
    set_command(PCI_COMMAND_MEMORY);
    tell(EXRNIC_GUEST_JOINING, 0);
  }
  ~PlayedGuest() {
    stop_ = true;
    helper_.join();
  }

  void await_start() {
    wait_for("the simulator to start time", [&] { return state() != EXRNIC_GUEST_JOINING; });
    now_ = exrnic_bound_of(exrnic_time_load(&me_.where));
  }
  uint64_t now() const { return now_; }
  uint64_t limit() const { return exrnic_time_limit(clock_.get(), clock_->guests, number_); }

  void set_command(uint16_t command) {
    REQUIRE(client_.write(VFIO_PCI_CONFIG_REGION_INDEX, PCI_COMMAND, &command, sizeof command) ==
            0);
  }

  void run_to(uint64_t ns) {
    while (now_ < ns) {
      now_ = std::min(ns, limit());
      tell(EXRNIC_GUEST_RUNNING, now_);
      if (now_ < ns) wait_for("time to go on", [&] { return limit() > now_; });
    }
  }

  // Returns what the load took.
  uint64_t load(uint64_t offset, uint32_t* value) {
    const uint64_t before = now_;
    if (client_.read(VFIO_PCI_BAR0_REGION_INDEX, offset, value, sizeof *value) != 0)
      throw std::runtime_error("a load has failed");
    now_ = exrnic_time_load(&me_.reply_ns);
    tell(EXRNIC_GUEST_RUNNING, now_);
    return now_ - before;
  }

  // Sleeps until `timer`, or until it is woken.
  void halt_until(uint64_t timer) { tell(EXRNIC_GUEST_HALTED, timer); }

  // Over the serial line towards `other`.
  void send_byte(unsigned other, uint8_t byte, uint64_t arrives) {
    exrnic_time_line& line = clock_->line[other];
    exrnic_time_store(&line.byte[line.sent % EXRNIC_TIME_LINE_BYTES], arrives << 8 | byte);
    exrnic_time_store(&line.sent, line.sent + 1);
  }
  void listen(uint64_t from) { exrnic_time_store(&clock_->line[number_].deaf_until_ns, from); }
  uint64_t next_byte() const { return exrnic_time_next_byte(clock_.get(), number_); }
  void take_byte() {
    now_ = next_byte();
    tell(EXRNIC_GUEST_RUNNING, now_);
    exrnic_time_line& line = clock_->line[number_];
    exrnic_time_store(&line.taken, line.taken + 1);
  }

  void store(uint64_t offset, uint32_t value) {
    REQUIRE(client_.post(VFIO_PCI_BAR0_REGION_INDEX, offset, &value, sizeof value) == 0);
    me_.messages = 1;
    tell(EXRNIC_GUEST_STORING, now_);
    wait_for("the store to be taken", [&] { return state() != EXRNIC_GUEST_STORING; });
    now_ = std::max(now_.load(), exrnic_bound_of(exrnic_time_load(&me_.where)));
  }

 private:
  exrnic_guest_state state() const { return exrnic_state_of(exrnic_time_load(&me_.where)); }
  void tell(exrnic_guest_state state, uint64_t ns) {
    exrnic_time_store(&me_.where, exrnic_where(state, ns));
  }
  void answer() {
    while (!stop_) {
      const uint32_t ask = __atomic_load_n(&me_.ask, __ATOMIC_ACQUIRE);
      exrnic_time_store(&me_.answer_ns, now_);
      __atomic_store_n(&me_.answer, ask, __ATOMIC_RELEASE);
      std::this_thread::yield();
    }
  }

  Clock clock_;
  unsigned number_;
  exrnic_guest_time& me_;
  vfio_user::VfioUserClient client_;
  std::atomic<uint64_t> now_{0};
  std::atomic<bool> stop_{false};
  std::thread helper_;
};

}  // namespace exrnic
