// SPDX-License-Identifier: BSD-2-Clause
#include "tools/bench/simulator_bench.h"

#include <chrono>

#include "rtl-model/ref/ref_core.h"
#include "tools/bench/path.h"

namespace exrnic::bench {
namespace {

template <typename Work>
double seconds_of(Work work) {
  const auto before = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
}

}  // namespace

void measure_rtl_speed(const std::string& profile, unsigned threads, Results& results) {
  constexpr uint32_t kSize = 1 << 20;
  TestbedOptions options = testing::options_for(profile.c_str());
  options.threads = threads;
  Path path(options, kSize, make_rtl_core);
  const auto cycles = [&] {
    return path.pair.testbed.node(0).rnic().cycles() + path.pair.testbed.node(1).rnic().cycles();
  };
  path.stream(Carrier::kPush, kSize, 2);  // warm caches, the machine's and ours
  const uint64_t before = cycles();
  const double seconds = seconds_of([&] { path.stream(Carrier::kPush, kSize, 4); });
  results.add("sim.rtl_kcps", static_cast<double>(cycles() - before) / seconds / 1e3, "kHz",
              Clock::kWall, {{"profile", profile}, {"threads", threads}});
}

void measure_ref_speed(const std::string& profile, Results& results) {
  constexpr uint32_t kSize = 64;
  constexpr uint32_t kOperations = 20'000;
  Path path(profile, kSize, make_ref_core);
  path.stream(Carrier::kPush, kSize, kOperations / 10);
  const double seconds = seconds_of([&] { path.stream(Carrier::kPush, kSize, kOperations); });
  results.add("sim.ref_kops", kOperations / seconds / 1e3, "10^3/s", Clock::kWall,
              {{"profile", profile}, {"core", "ref"}});
}

}  // namespace exrnic::bench
