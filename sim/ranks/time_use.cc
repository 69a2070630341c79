// SPDX-License-Identifier: BSD-2-Clause
#include "sim/ranks/time_use.h"

#include <algorithm>

namespace exrnic {
namespace {

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

// Two become one.
void TimeUse::widen() {
  bin_ *= 2;
  for (size_t i = 0; i < bins_.size(); ++i) {
    if (i % 2 == 0) {
      bins_[i / 2] = bins_[i];
    } else {
      for (size_t what = 0; what < kKinds; ++what) bins_[i / 2][what] += bins_[i][what];
    }
  }
  bins_.resize((bins_.size() + 1) / 2);
}

void TimeUse::add(What what, Clock::time_point from, Clock::time_point to) {
  while ((to - begin_) / bin_ >= static_cast<int64_t>(kMostBins)) widen();
  while (from < to) {
    const int64_t number = (from - begin_) / bin_;
    const Clock::time_point end = std::min(to, begin_ + (number + 1) * bin_);
    const auto index = static_cast<size_t>(number);
    if (index >= bins_.size()) bins_.resize(index + 1);
    bins_[index][what] += seconds(end - from);
    from = end;
  }
}

void TimeUse::spend(What what, Clock::time_point from, Clock::time_point to) {
  add(kWork, last_, from);
  add(what, from, to);
  last_ = to;
  ++times_[what];
}

std::array<double, TimeUse::kKinds> TimeUse::total_s(Clock::time_point now) const {
  Bin sum{};
  for (const Bin& bin : bins_)
    for (size_t what = 0; what < kKinds; ++what) sum[what] += bin[what];
  sum[kWork] += seconds(now - last_);
  return sum;
}

nlohmann::ordered_json TimeUse::to_json(Clock::time_point now) const {
  TimeUse whole = *this;
  whole.add(kWork, last_, now);
  whole.last_ = now;
  const Bin sum = whole.total_s(now);
  nlohmann::ordered_json json = {{"total_s", nlohmann::ordered_json::object()},
                                 {"times", nlohmann::ordered_json::object()},
                                 {"bin_s", seconds(whole.bin_)},
                                 {"bins", nlohmann::ordered_json::object()}};
  for (size_t what = 0; what < kKinds; ++what) {
    json["total_s"][kNames[what]] = sum[what];
    if (what != kWork) json["times"][kNames[what]] = times_[what];
    auto& row = json["bins"][kNames[what]] = nlohmann::ordered_json::array();
    for (const Bin& bin : whole.bins_) row.push_back(bin[what]);
  }
  return json;
}

}  // namespace exrnic
