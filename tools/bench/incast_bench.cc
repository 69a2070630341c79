// SPDX-License-Identifier: BSD-2-Clause
// Many senders, one receiver, one short queue.
#include <array>
#include <numeric>

#include "tests/support/cluster.h"
#include "tools/bench/limits.h"
#include "tools/bench/network_bench.h"

namespace exrnic::bench {
namespace {

using testing::Cluster;
using testing::Member;

constexpr unsigned kSenders = 8;
constexpr uint32_t kSize = 16 << 10;
constexpr uint32_t kUnderWay = 8;  // PUSHes of each sender
constexpr uint64_t kQueueBytes = 64 << 10;
constexpr uint64_t kMarkBytes = 16 << 10;
constexpr uint64_t kWarmUpNs = 200'000;
constexpr uint64_t kMeasuredNs = 1'500'000;

TestbedOptions small_buffers(const std::string& profile) {
  TestbedOptions options =
      testing::options_on(profile.c_str(), "star:" + std::to_string(kSenders + 1));
  options.topology->switches[0].queue_bytes = kQueueBytes;
  options.topology->switches[0].mark_bytes = kMarkBytes;
  return options;
}

// Node 0 receives; the others always have PUSHes under way. Counts what ends between the end of the
// warm-up and the end of the measurement, by the cores' own clocks.
class Incast {
 public:
  explicit Incast(const TestbedOptions& options)
      : cluster_(options, make_rtl_core, kSenders * kSize) {
    for (unsigned sender = 1; sender <= kSenders; ++sender) cluster_.connect(0, sender);
  }

  std::array<uint64_t, kSenders> run() {
    start_ns_ = cluster_.testbed.now_ns() + kWarmUpNs;
    for (unsigned sender = 1; sender <= kSenders; ++sender) {
      for (uint32_t i = 0; i < kUnderWay; ++i) push(sender);
    }
    const uint64_t end_ns = start_ns_ + kMeasuredNs;
    while (cluster_.testbed.now_ns() < end_ns) {
      cluster_.testbed.run_for(kPollNs);
      for (unsigned sender = 1; sender <= kSenders; ++sender) poll(sender, end_ns);
    }
    return bytes_;
  }

 private:
  static constexpr uint64_t kPollNs = 1'000;  // far less than a queue of PUSHes lasts

  void push(unsigned sender) { cluster_[sender].push(0, 0, kSize, (sender - 1) * kSize); }

  // A sender whose queue pair has failed posts no more: what it lost shows in the figures.
  void poll(unsigned sender, uint64_t end_ns) {
    Member& member = cluster_[sender];
    while (const auto cqe = member.rnic.poll(member.cq, Member::kPage)) {
      if (cqe->status != EXRNIC_CQE_STATUS_SUCCESS) continue;
      if (cqe->timestamp >= start_ns_ && cqe->timestamp < end_ns) bytes_[sender - 1] += kSize;
      push(sender);
    }
  }

  Cluster cluster_;
  uint64_t start_ns_ = 0;
  std::array<uint64_t, kSenders> bytes_{};
};

double jain(const std::array<uint64_t, kSenders>& shares) {
  double sum = 0, squares = 0;
  for (const uint64_t share : shares) {
    const auto x = static_cast<double>(share);
    sum += x;
    squares += x * x;
  }
  return squares == 0 ? 0 : sum * sum / (kSenders * squares);
}

}  // namespace

void measure_incast(const std::string& profile, Results& results) {
  const std::array<uint64_t, kSenders> bytes = Incast(small_buffers(profile)).run();
  const double goodput =
      static_cast<double>(std::accumulate(bytes.begin(), bytes.end(), uint64_t{0})) * 1e9 /
      kMeasuredNs;
  const double limit = push_limit(load_profile(profile), EXRNIC_MTU_DEFAULT, kSize);
  const nlohmann::ordered_json keys = {{"profile", profile},
                                       {"senders", kSenders},
                                       {"size", kSize},
                                       {"queue_bytes", kQueueBytes},
                                       {"core", "rtl"}};
  results.add("incast.goodput_ratio", goodput / limit, "ratio", Clock::kSimulated, keys);
  results.add("incast.fairness", jain(bytes), "ratio", Clock::kSimulated, keys);
}

}  // namespace exrnic::bench
