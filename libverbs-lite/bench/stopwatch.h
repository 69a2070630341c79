// SPDX-License-Identifier: BSD-2-Clause
// Wall clock around calls, as the paper measured (it with gettimeofday, this in nanoseconds).
#ifndef EXRNIC_BENCH_STOPWATCH_H
#define EXRNIC_BENCH_STOPWATCH_H

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

namespace exrnic {

class Stopwatch {
 public:
  double Ns() const {
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start_)
        .count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Calls call() `count` times, or until the seconds are over, whichever is first; the clock is read
// once in kBatch calls. ns is the mean.
struct Mean {
  double ns;
  uint64_t count;
};

inline Mean Together(const Mean& a, const Mean& b) {
  const uint64_t count = a.count + b.count;
  const double ns = a.ns * static_cast<double>(a.count) + b.ns * static_cast<double>(b.count);
  return {ns / static_cast<double>(count), count};
}

template <typename Call>
Mean MeasureMean(uint64_t count, double seconds, Call call) {
  constexpr uint64_t kBatch = 100;
  const Stopwatch watch;
  uint64_t done = 0;
  double ns = 0;
  do {
    for (uint64_t i = std::min(kBatch, count - done); i > 0; --i, ++done) call();
    ns = watch.Ns();
  } while (done < count && ns < seconds * 1e9);
  return {ns / static_cast<double>(done), done};
}

inline double Median(std::vector<double> values) {
  const auto half = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), half, values.end());
  return *half;
}

}  // namespace exrnic

#endif  // EXRNIC_BENCH_STOPWATCH_H
