// SPDX-License-Identifier: BSD-2-Clause
#include "tools/bench/channel_bench.h"

#include <memory>
#include <string>

#include "sim/debug/retire_trace.h"
#include "tests/support/channel.h"
#include "tests/support/cluster.h"
#include "tools/bench/limits.h"

namespace exrnic::bench {
namespace {

using testing::ChannelEnd;

constexpr uint64_t kLimitNs = 100'000'000;
constexpr uint32_t kSmallBytes = 8;
constexpr uint32_t kStreamBytes = 8192;
constexpr uint32_t kMessages = 64;

struct Ends {
  explicit Ends(const TestbedOptions& options) : testbed(options, make_rtl_core) {
    testing::ChannelOptions channel;
    channel.log_events = 5;
    channel.num_slots = EXRNIC_CHANNEL_SLOTS_MAX;
    for (unsigned node = 0; node < testbed.nodes(); ++node) {
      rnics.push_back(std::make_unique<testing::RnicDriver>(testbed, node));
      testing::start_firmware(*rnics.back(), EXRNIC_FIRMWARE);
      ends.push_back(std::make_unique<ChannelEnd>(*rnics.back(), channel));
      if (ends.back()->open() != EXRNIC_FW_STATUS_OK)
        throw std::runtime_error("a channel does not open");
    }
  }
  ChannelEnd& operator[](unsigned node) { return *ends[node]; }

  Testbed testbed;
  std::vector<std::unique_ptr<testing::RnicDriver>> rnics;
  std::vector<std::unique_ptr<ChannelEnd>> ends;
};

double round_trip_us(Ends& ends) {
  uint64_t ns = 0;
  for (auto& end : ends.ends) end->look_ns = 10;
  for (int round = 0; round < 2; ++round) {  // the second one finds all on chip
    ends.testbed.run_while_busy(kLimitNs);
    const uint64_t start = ends.testbed.now_ns();
    for (const unsigned node : {0u, 1u}) {
      ends[node].put_send(1 - node, Bytes(kSmallBytes));
      ends[node].ring_by_pio();
      ends[1 - node].wait(nullptr, kLimitNs);
    }
    ns = ends.testbed.now_ns() - start;
    for (const unsigned node : {0u, 1u}) ends[node].ring();
  }
  for (auto& end : ends.ends) end->look_ns = 100;
  return static_cast<double>(ns) / 1e3;
}

// Bytes in a second, between the event that ends the first quarter and the last.
double stream(Ends& ends) {
  const auto post = [&] {
    const uint32_t free = 2 * EXRNIC_CHANNEL_WINDOW - (ends[0].posted - ends[0].status().work_done);
    return free != 0 && ends[0].posted < kMessages + 2;
  };
  uint64_t start = 0;
  for (uint32_t got = 0; got < kMessages;) {
    while (post()) {
      ends[0].put_send(1, Bytes(kStreamBytes));
      ends[0].ring_by_pio();
    }
    ends[1].until([&] { return ends[1].has_event() || post(); }, "a message", kLimitNs);
    if (!ends[1].has_event()) continue;
    ends[1].take();
    ends[1].ring();
    if (++got == kMessages / 4) start = ends.testbed.now_ns();
  }
  const double ns = static_cast<double>(ends.testbed.now_ns() - start);
  return kMessages / 4 * 3 * kStreamBytes / ns * 1e9;
}

}  // namespace

void measure_channels(const std::string& profile, Results& results) {
  TestbedOptions options;
  options.profile = load_profile(profile);
  Ends ends(options);
  const nlohmann::ordered_json keys = {{"profile", profile}};
  nlohmann::ordered_json smallest = keys;
  smallest["size"] = kSmallBytes;
  results.add("fwmsg.rtt_us", round_trip_us(ends), "us", Clock::kSimulated, smallest);
  debug::CycleProfile work;
  RnicModule& rnic = ends.testbed.node(0).rnic();
  rnic.observe_retirement(
      [&](const RetiredInstruction& instruction) { work.retire(rnic.cycles(), instruction.pc); });
  const double goodput = stream(ends);
  rnic.observe_retirement({});
  nlohmann::ordered_json sized = keys;
  sized["size"] = kStreamBytes;
  const double limit = push_limit(options.profile, EXRNIC_MTU_DEFAULT, kStreamBytes);
  results.add("fwmsg.goodput_ratio", goodput / limit, "ratio", Clock::kSimulated, sized);
  results.add("fwmsg.goodput_mbps", goodput / 1e6, "MB/s", Clock::kSimulated, sized);
  const auto cycles = static_cast<double>(work.cycles());
  const auto in = work.by_function(debug::FirmwareSymbols::of_file(EXRNIC_FIRMWARE_SYMBOLS));
  const auto waits = in.find("direct_wait");
  if (waits == in.end()) throw std::runtime_error("firmware has no function direct_wait");
  results.add("cpu.ipc", static_cast<double>(work.instructions()) / cycles, "1/cycle",
              Clock::kSimulated, keys);
  results.add("cpu.waits", static_cast<double>(waits->second) / cycles, "ratio", Clock::kSimulated,
              keys);
}

void measure_barriers(const std::string& profile, const std::vector<unsigned>& counts,
                      Results& results) {
  for (const unsigned count : counts) {
    Ends ends(testing::options_on(profile.c_str(), "star:" + std::to_string(count)));
    std::vector<unsigned> nodes(count);
    for (unsigned node = 0; node < count; ++node) nodes[node] = node;
    uint64_t ns = 0;
    for (uint32_t round = 0; round < 2; ++round) {  // the second one finds all on chip
      ends.testbed.run_while_busy(kLimitNs);
      const uint64_t start = ends.testbed.now_ns();
      for (const unsigned node : nodes) {
        ends[node].put_reduce(1, nodes, round, EXRNIC_CHANNEL_OPERATION_NOTHING, 0);
        ends[node].ring_by_pio();
      }
      for (const unsigned node : nodes) ends[node].wait(nullptr, kLimitNs);
      ns = ends.testbed.now_ns() - start;
      for (const unsigned node : nodes) ends[node].ring();
    }
    const nlohmann::ordered_json keys = {{"profile", profile}, {"nodes", count}};
    results.add("barrier.us", static_cast<double>(ns) / 1e3, "us", Clock::kSimulated, keys);
    results.add("barrier.cycles",
                static_cast<double>(ns * 1000 / ends.testbed.node(0).rnic().period_ps()), "cycles",
                Clock::kSimulated, keys);
  }
}

}  // namespace exrnic::bench
