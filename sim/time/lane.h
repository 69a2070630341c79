// SPDX-License-Identifier: BSD-2-Clause
// One direction of a serial link: bytes leave in order, at a rate. It keeps account of what has
// been accepted and has not left, which is what back-pressure and tail drop are made of.
#pragma once

#include <cstddef>
#include <deque>

#include "rtl-model/systemc/scheduler.h"

namespace exrnic {

class Lane {
 public:
  explicit Lane(uint64_t bytes_per_us) : bytes_per_us_(bytes_per_us) {}

  // Time that `bytes` occupy the lane, rounded up to whole picoseconds.
  SimTime duration(uint64_t bytes) const {
    return (bytes * kPsPerUs + bytes_per_us_ - 1) / bytes_per_us_;
  }

  // Accepts a unit of `bytes` behind all before it. Returns when its first byte leaves.
  SimTime send(SimTime now, uint64_t bytes) {
    const SimTime start = now > free_at_ ? now : free_at_;
    free_at_ = start + duration(bytes);
    units_.push_back({free_at_, bytes});
    queued_bytes_ += bytes;
    return start;
  }

  SimTime free_at() const { return free_at_; }  // when all that was accepted has left

  // What was accepted and has not wholly left at `now`.
  size_t queued_units(SimTime now) {
    forget_sent(now);
    return units_.size();
  }
  // When fewer than `units`, 1 or more, are left of those that were accepted; 0: never were more.
  SimTime fewer_than(size_t units) const {
    return units_.size() < units ? 0 : units_[units_.size() - units].left_at;
  }
  uint64_t queued_bytes(SimTime now) {
    forget_sent(now);
    return queued_bytes_;
  }

  // Everything queued is gone and the lane is free: a reset.
  void clear() {
    units_.clear();
    queued_bytes_ = 0;
    free_at_ = 0;
  }

 private:
  struct Unit {
    SimTime left_at;
    uint64_t bytes;
  };

  void forget_sent(SimTime now) {
    while (!units_.empty() && units_.front().left_at <= now) {
      queued_bytes_ -= units_.front().bytes;
      units_.pop_front();
    }
  }

  uint64_t bytes_per_us_;
  SimTime free_at_ = 0;
  uint64_t queued_bytes_ = 0;
  std::deque<Unit> units_;
};

}  // namespace exrnic
