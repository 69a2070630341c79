// SPDX-License-Identifier: BSD-2-Clause
// The simulator's side of the clock that it shares with its guests: shared_time.h in a file.
//
// Times are nanoseconds of simulated time. What the guests write there is untrusted: it can make
// time stand still, or the order of their own accesses wrong, and no more.
//
// Threads: one in this process. The words are shared with other processes.
#pragma once

#include <cstdint>
#include <string>

#include "sim/posix/unique_fd.h"
#include "sim/time_sync/shared_time.h"

namespace exrnic {

class GuestClocks {
 public:
  struct Config {
    unsigned guests = 1;
    uint32_t instruction_ns = 1;
    uint64_t guest_to_guest_ns = 0;  // no guest can affect another in less
    bool others = false;             // guests of other ranks count as one more
  };
  static constexpr uint64_t kNever = EXRNIC_TIME_NEVER;

  // Makes the clock, and a link to it at `path`, which goes with it; that of a run that is over is
  // replaced. Only processes of this user can open it. Throws std::runtime_error with one line if
  // anything else is at `path`.
  GuestClocks(std::string path, const Config& config);
  ~GuestClocks();
  GuestClocks(const GuestClocks&) = delete;
  GuestClocks& operator=(const GuestClocks&) = delete;

  unsigned guests() const { return guests_; }

  exrnic_guest_state state(unsigned guest) const { return exrnic_state_of(where(guest)); }
  uint64_t bound(unsigned guest) const { return exrnic_time_bound(shared_, guest); }
  // The least of all guests', or of those beside `beside`.
  uint64_t least_bound(unsigned beside = ~0U) const {
    return exrnic_time_least_bound(shared_, guests_, beside);
  }
  bool all_join() const;

  // Of a guest in STORING: how many messages its store is made of.
  uint32_t messages(unsigned guest) const;

  // Of the others, the least bound.
  void set_others(uint64_t bound) { set(guests_, EXRNIC_GUEST_RUNNING, bound); }

  void set_horizon(uint64_t ns) { exrnic_time_store(&shared_->horizon_ns, ns); }

  // The device may not touch this guest: it waits for nobody.
  void set_deaf(unsigned guest, bool deaf) { exrnic_time_store(&shared_->guest[guest].deaf, deaf); }

  // For guests that wait.
  void set(unsigned guest, exrnic_guest_state state, uint64_t bound);
  // The load that the guest waits for is answered at `ns`.
  void answer_load(unsigned guest, uint64_t ns);
  // An interrupt was fired at `ns`; a guest that is halted wakes. It runs only once all are taken.
  void interrupt(unsigned guest, uint64_t ns);
  void interrupts_taken(unsigned guest);
  bool interrupts_under_way(unsigned guest) const;

  // What does the clock of a guest say whose vCPU waits for a load? Ask, then look until it is
  // there.
  void ask(unsigned guest);
  bool answered(unsigned guest, uint64_t* ns) const;

 private:
  uint64_t where(unsigned guest) const { return exrnic_time_load(&shared_->guest[guest].where); }

  const std::string path_;
  const unsigned guests_;
  const UniqueFd file_;
  const std::string target_;  // of the link
  exrnic_shared_time* const shared_;
};

}  // namespace exrnic
