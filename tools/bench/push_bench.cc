// SPDX-License-Identifier: BSD-2-Clause
#include "tools/bench/push_bench.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "tests/support/pair.h"
#include "tools/bench/limits.h"
#include "tools/bench/traced_core.h"

namespace exrnic::bench {
namespace {

using testing::Pair;
using testing::Push;
using testing::Region;
using testing::RnicDriver;
using testing::Side;

constexpr uint64_t kWaitNs = 1'000'000'000;

// Two connected nodes and a pair of regions.
struct Path {
  Path(const std::string& profile, uint64_t region_bytes)
      : pair(testing::options_for(profile.c_str()), make_rtl_core),
        source(testing::source_of(pair.left, region_bytes)),
        sink(testing::sink_of(pair.right, region_bytes)) {}

  exrnic_wqe wqe(uint32_t size) const {
    return RnicDriver::wqe({&source, 0, size, testing::kSinkStag, testing::kSinkBase, true});
  }

  exrnic_cqe complete() {
    const exrnic_cqe cqe = pair.left.wait(kWaitNs);
    if (cqe.status != EXRNIC_CQE_STATUS_SUCCESS)
      throw std::runtime_error("a PUSH ended with status " + std::to_string(cqe.status));
    return cqe;
  }

  void rest() {
    pair.testbed.run_until([] { return false; }, kWaitNs);
  }

  Pair pair;
  Region source;
  Region sink;
};

// Keeps the send queue full for `operations` PUSHes; returns bytes per second between the first
// completion of the second quarter and the last of all.
double stream(Path& path, uint32_t size, uint32_t operations) {
  auto& left = path.pair.left;
  const uint32_t depth = 1u << left.qp.sq.log_entries;
  const uint32_t first = operations / 4;
  uint32_t posted = 0;
  uint64_t first_ns = 0, last_ns = 0;
  for (uint32_t completed = 0; completed < operations; ++completed) {
    const uint32_t before = posted;
    while (posted < operations && posted - completed < depth) {
      left.rnic.put(left.qp, path.wqe(size));
      ++posted;
    }
    if (posted != before) left.rnic.ring(left.qp);
    const uint64_t at = path.complete().timestamp;
    if (completed == first) first_ns = at;
    last_ns = at;
  }
  const double bytes = static_cast<double>(size) * (operations - 1 - first);
  return bytes * 1e9 / static_cast<double>(last_ns - first_ns);
}

uint32_t operations_for(uint32_t size) {
  constexpr uint32_t kBytes = 512 << 10;
  return std::clamp(kBytes / size, 4u, 512u);
}

}  // namespace

void measure_goodput(const std::string& profile, const std::vector<uint32_t>& sizes,
                     Results& results) {
  const Profile data = load_profile(profile);
  for (const uint32_t size : sizes) {
    Path path(profile, size);
    const uint32_t mtu = path.pair.left.rnic.read_register(EXRNIC_REG_MTU);
    const double goodput = stream(path, size, operations_for(size));
    const double limit = push_limit(data, mtu, size);
    const nlohmann::ordered_json keys = {{"profile", profile}, {"size", size}};
    results.add("push.goodput_ratio", goodput / limit, "ratio", Clock::kSimulated, keys);
    results.add("push.goodput_mbps", goodput / 1e6, "MB/s", Clock::kSimulated, keys);
    results.add("push.limit_mbps", limit / 1e6, "MB/s", Clock::kSimulated, keys);
  }
}

void measure_oneway(const std::string& profile, Results& results) {
  Path path(profile, 8);
  auto& left = path.pair.left;
  uint8_t mark = 1;
  uint64_t ns = 0;
  // The second one finds the PBL entries on chip, as a program's second message does.
  for (int round = 0; round < 2; ++round, ++mark) {
    left.rnic.write(path.source, 0, Bytes(8, mark));
    left.rnic.put(left.qp, path.wqe(8));
    path.rest();
    const uint64_t start = path.pair.testbed.now_ns();
    left.rnic.ring(left.qp);
    const auto arrived = [&] { return path.pair.right.rnic.read(path.sink, 7, 1)[0] == mark; };
    if (path.pair.testbed.run_until(arrived, kWaitNs) != RunResult::kDone)
      throw std::runtime_error("waited in vain for 8 bytes");
    ns = path.pair.testbed.now_ns() - start;
    path.complete();
  }
  results.add("push.oneway_ns", static_cast<double>(ns), "ns", Clock::kSimulated,
              {{"profile", profile}, {"size", 8}, {"via", "doorbell"}});
}

namespace {

struct Event {
  uint16_t node;
  Passage passage;
  uint64_t cycle;
  size_t bytes;
};

uint64_t cycle_of(const std::vector<Event>& log, uint16_t node, Passage passage, unsigned nth) {
  for (const Event& event : log)
    if (event.node == node && event.passage == passage && nth-- == 0) return event.cycle;
  throw std::runtime_error("the trace of a PUSH lacks an event");
}

}  // namespace

void measure_stages(const std::string& profile, Results& results) {
  std::vector<Event> log;
  TestbedOptions options = testing::options_for(profile.c_str());
  const CoreFactory traced = [&log](const CoreConfig& config, CoreSink& sink) {
    const uint16_t node = config.node_id;
    return std::make_unique<TracedCore>(
        config, sink, make_rtl_core, [&log, node](Passage passage, uint64_t cycle, size_t bytes) {
          log.push_back({node, passage, cycle, bytes});
        });
  };
  Pair pair(options, traced);
  const Region source = testing::source_of(pair.left, 8);
  testing::sink_of(pair.right, 8);
  for (int round = 0; round < 2; ++round) {
    pair.testbed.run_until([] { return false; }, kWaitNs);
    log.clear();
    pair.left.rnic.post(pair.left.qp,
                        {&source, 0, 8, testing::kSinkStag, testing::kSinkBase, true});
    pair.left.wait(kWaitNs);
  }
  const auto at = [&log](uint16_t node, Passage passage, unsigned nth = 0) {
    return static_cast<double>(cycle_of(log, node, passage, nth));
  };
  const nlohmann::ordered_json keys = {{"profile", profile}};
  const auto add = [&](const char* stage, double cycles) {
    results.add(std::string("stage.cycles.") + stage, cycles, "cycles", Clock::kSimulated, keys);
  };
  add("doorbell_to_wqe_read", at(0, Passage::kRead, 0) - at(0, Passage::kStore));
  add("wqe_memory", at(0, Passage::kReadCompletion, 0) - at(0, Passage::kRead, 0));
  add("wqe_to_payload_read", at(0, Passage::kRead, 1) - at(0, Passage::kReadCompletion, 0));
  add("payload_memory", at(0, Passage::kReadCompletion, 1) - at(0, Passage::kRead, 1));
  add("payload_to_frame", at(0, Passage::kTransmit) - at(0, Passage::kReadCompletion, 1));
  add("frame_to_placement", at(1, Passage::kWrite) - at(1, Passage::kReceive));
  add("placement_to_ack", at(1, Passage::kTransmit) - at(1, Passage::kWrite));
  add("ack_to_cqe", at(0, Passage::kWrite) - at(0, Passage::kReceive));
}

void measure_message_rate(const std::string& profile, Results& results) {
  Path path(profile, 8);
  const double bytes_per_second = stream(path, 8, 512);
  results.add("msg.rate_mps", bytes_per_second / 8 / 1e6, "10^6/s", Clock::kSimulated,
              {{"profile", profile}, {"operation", "push"}, {"size", 8}});
}

void measure_simulator(const std::string& profile, Results& results) {
  constexpr uint32_t kSize = 1 << 20;
  Path path(profile, kSize);
  const auto cycles = [&] {
    return path.pair.testbed.node(0).rnic().cycles() + path.pair.testbed.node(1).rnic().cycles();
  };
  stream(path, kSize, 2);  // warm caches, the machine's and ours
  const uint64_t cycles_before = cycles();
  const auto before = std::chrono::steady_clock::now();
  stream(path, kSize, 4);
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - before;
  results.add("sim.rtl_kcps", static_cast<double>(cycles() - cycles_before) / wall.count() / 1e3,
              "kHz", Clock::kWall, {{"profile", profile}});
}

}  // namespace exrnic::bench
