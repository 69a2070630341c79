// SPDX-License-Identifier: BSD-2-Clause
// How much simulated time passes between two looks at the sockets, in free time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace exrnic {

class Slice {
 public:
  // A look at the sockets takes 1 us. Between two of them passes so much of wall clock, at least,
  // and so long a slice is meant to take.
  static constexpr std::chrono::nanoseconds kLeastWall{10'000};

  // Of the next slice.
  uint64_t ns() const { return static_cast<uint64_t>(ns_); }

  // The last one has taken so long.
  void took(std::chrono::nanoseconds wall) {
    wall = std::max(wall, std::chrono::nanoseconds{1});
    ns_ = std::clamp(ns_ * kLeastWall / wall, kLeastNs, kMostNs);
  }

 private:
  // Each costs another 1 us. 50 cycles at 250 MHz take verilated cores more than kLeastWall; where
  // there is little to do, a slice ends all the same.
  static constexpr int64_t kLeastNs = 200;
  static constexpr int64_t kMostNs = 1600;

  int64_t ns_ = kLeastNs;
};

}  // namespace exrnic
