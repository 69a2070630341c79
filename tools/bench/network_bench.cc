// SPDX-License-Identifier: BSD-2-Clause
#include "tools/bench/network_bench.h"

#include <algorithm>
#include <array>

#include "tools/bench/latency_bench.h"
#include "tools/bench/limits.h"
#include "tools/bench/path.h"

namespace exrnic::bench {
namespace {

using testing::options_for;

constexpr uint32_t kSize = 64 << 10;
constexpr uint32_t kFramesOfAMessage = kSize / EXRNIC_MTU_DEFAULT;

// As many as lose some ten frames, where that can be simulated soon.
uint32_t operations_at(double p) { return p < 1e-3 ? 640 : 160; }

double retransmits(Path& path) {
  return static_cast<double>(path.pair.left.rnic.counter(EXRNIC_COUNTER_RETRANSMITS) +
                             path.pair.right.rnic.counter(EXRNIC_COUNTER_RETRANSMITS));
}

// Frames towards the right node before the first message: what connecting takes.
uint64_t frames_before(const std::string& profile) {
  Path path(profile, kSize, make_rtl_core);
  path.rest();
  return path.pair.testbed.line_towards(1)->counters().frames;
}

// Time-outs until one message has ended whose last frames were lost once.
uint64_t timeouts_without_last(const std::string& profile, uint32_t lost) {
  const uint64_t end = frames_before(profile) + kFramesOfAMessage;
  TestbedOptions options = options_for(profile.c_str());
  for (uint32_t i = 1; i <= lost; ++i) options.faults_towards[1].script[end - i] = Fault::kDrop;
  Path path(options, kSize, make_rtl_core);
  path.rest();
  path.put(Carrier::kPush, kSize);
  path.ring();
  path.complete();
  const uint64_t dropped = path.pair.testbed.line_towards(1)->counters().dropped;
  if (dropped != lost) throw std::runtime_error("the frames that were to be lost were not sent");
  return path.pair.left.rnic.counter(EXRNIC_COUNTER_TIMEOUTS);
}

}  // namespace

void measure_loss(const std::string& profile, Results& results) {
  const double limit = push_limit(load_profile(profile), EXRNIC_MTU_DEFAULT, kSize);
  for (const double p : {1e-4, 1e-3, 1e-2}) {
    TestbedOptions options = options_for(profile.c_str());
    options.faults.rates.drop = p;
    Path path(options, kSize, make_rtl_core);
    const double goodput = path.stream(Carrier::kPush, kSize, operations_at(p)) * kSize;
    results.add("loss.goodput_ratio", goodput / limit, "ratio", Clock::kSimulated,
                {{"profile", profile}, {"p", p}, {"size", kSize}, {"core", "rtl"}});
  }
}

void measure_reordering(const std::string& profile, Results& results) {
  constexpr double kP = 0.01;
  TestbedOptions options = options_for(profile.c_str());
  options.faults.rates.reorder = kP;
  Path path(options, kSize, make_rtl_core);
  path.stream(Carrier::kPush, kSize, 160);
  path.rest();
  results.add("reorder.false_retransmits", retransmits(path), "frames", Clock::kSimulated,
              {{"profile", profile},
               {"p", kP},
               {"frames", options.faults.reorder_frames},
               {"core", "rtl"}});
}

void measure_tail_loss(const std::string& profile, Results& results) {
  uint64_t most = 0;
  for (const uint32_t lost : {1, 2, 4}) {
    most = std::max(most, timeouts_without_last(profile, lost));
  }
  results.add("tail_loss.rto_count", static_cast<double>(most), "time-outs", Clock::kSimulated,
              {{"profile", profile}, {"size", kSize}, {"core", "rtl"}});
}

namespace {

// Node 0 and node 1 at the ends of a row of switches.
Topology chain(unsigned switches) {
  Topology topology;
  topology.name = "chain";
  topology.nodes = 2;
  LinkEnd last{false, 0, 0};
  for (unsigned i = 0; i < switches; ++i) {
    topology.switches.push_back({"switch" + std::to_string(i), {}, {}, {}});
    topology.links.push_back({{last, {true, i, 0}}, {}, {}, {}});
    last = {true, i, 1};
  }
  topology.links.push_back({{last, {false, 1, 0}}, {}, {}, {}});
  return topology;
}

}  // namespace

void measure_hops(const std::string& profile, Results& results) {
  for (const unsigned switches : {0, 1, 2, 3, 5}) {
    TestbedOptions options = options_for(profile.c_str());
    options.topology = chain(switches);
    Path path(options, kSize, make_rtl_core);
    const auto ns = static_cast<double>(round_trip_ns(path, Post::kInline, 8));
    results.add("fabric.rtt_us", ns / 1e3, "us", Clock::kSimulated,
                {{"profile", profile}, {"hops", switches + 1}, {"core", "rtl"}});
  }
}

}  // namespace exrnic::bench
