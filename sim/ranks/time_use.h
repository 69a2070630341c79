// SPDX-License-Identifier: BSD-2-Clause
// What a rank does with its wall-clock time: works, or waits for others.
//
// Threads: none; every call comes from the rank's main thread.
#pragma once

#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <vector>

namespace exrnic {

class TimeUse {
 public:
  using Clock = std::chrono::steady_clock;

  // Work is what is none of the others.
  enum What {
    kWork,
    kExchange,   // waits for a neighbour's batch
    kAgreement,  // waits for all, to know what comes next
    kRest,       // sleeps, as all do: nothing is in flight
    kKinds
  };
  static constexpr std::array<const char*, kKinds> kNames = {"work", "exchange", "agreement",
                                                             "rest"};

  explicit TimeUse(Clock::time_point begin) : begin_(begin), last_(begin) {}

  // From `from` to `to` it did `what`, and has worked until then. Times only grow.
  void spend(What what, Clock::time_point from, Clock::time_point to);

  // Seconds up to `now`, of each kind.
  std::array<double, kKinds> total_s(Clock::time_point now) const;

  // The same as {"total_s": {"work": ..., ...}, "times": {"exchange": how often, ...}, "bin_s":
  // ..., "bins": {"work": [seconds in each bin], ...}}. Bins are a power of two times kLeastBin
  // long, and at most kMostBins.
  nlohmann::ordered_json to_json(Clock::time_point now) const;
  static constexpr std::chrono::microseconds kLeastBin{1'000};
  static constexpr size_t kMostBins = 512;

 private:
  using Bin = std::array<double, kKinds>;  // seconds

  void add(What what, Clock::time_point from, Clock::time_point to);
  void widen();

  const Clock::time_point begin_;
  Clock::time_point last_;  // what was before is in the bins
  std::chrono::nanoseconds bin_ = kLeastBin;
  std::vector<Bin> bins_;
  std::array<uint64_t, kKinds> times_{};  // that it was spent; of work nothing
};

}  // namespace exrnic
