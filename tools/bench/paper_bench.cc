// SPDX-License-Identifier: BSD-2-Clause
#include "tools/bench/paper_bench.h"

#include <fmt/core.h>

#include <stdexcept>

#include "tools/bench/firmware_bench.h"
#include "tools/bench/goodput_bench.h"
#include "tools/bench/latency_bench.h"
#include "tools/bench/limits.h"

namespace exrnic::bench {
namespace {

std::vector<uint32_t> powers(unsigned first, unsigned last, unsigned step) {
  std::vector<uint32_t> sizes;
  for (unsigned log = first; log <= last; log += step) sizes.push_back(uint32_t{1} << log);
  return sizes;
}

std::string size_text(uint32_t size) {
  if (size >= 1u << 20) return fmt::format("{} MiB", size >> 20);
  if (size >= 1u << 10) return fmt::format("{} KiB", size >> 10);
  return fmt::format("{} B", size);
}

void measure_load(const std::string& profile, Results& results) {
  testing::Pair pair(testing::options_for(profile.c_str()), make_rtl_core);
  pair.testbed.run_until([] { return false; }, kWaitNs);  // at rest
  const uint64_t start = pair.testbed.now_ns();
  pair.left.rnic.read_register(EXRNIC_REG_STATUS);
  const nlohmann::ordered_json keys = {{"profile", profile}};
  results.add("mmio.load_ns", static_cast<double>(pair.testbed.now_ns() - start), "ns",
              Clock::kSimulated, keys);
  results.add("mmio.load_limit_ns", load_limit_ns(load_profile(profile)), "ns", Clock::kSimulated,
              keys);
}

void measure_round_trip_of(const std::string& profile, uint32_t size, Results& results) {
  Path path(profile, size, make_rtl_core);
  const auto ns = static_cast<double>(round_trip_ns(path, Post::kRegion, size));
  const uint32_t mtu = path.pair.left.rnic.read_register(EXRNIC_REG_MTU);
  const nlohmann::ordered_json keys = {
      {"profile", profile}, {"size", size}, {"via", "doorbell"}, {"data", "region"}};
  results.add("msg.rtt_us", ns / 1e3, "us", Clock::kSimulated, keys);
  results.add("msg.rtt_limit_us", round_trip_limit_ns(load_profile(profile), mtu, size) / 1e3, "us",
              Clock::kSimulated, keys);
}

void add_goodput(const std::string& profile, Carrier carrier, const char* name,
                 const std::vector<uint32_t>& sizes, std::vector<Step>& steps) {
  for (const uint32_t size : sizes) {
    steps.push_back(
        {fmt::format("{} {} of {}", profile, name, size_text(size)),
         [=](Results& results) { measure_goodput(profile, carrier, {size}, results); }});
  }
}

}  // namespace

std::vector<Step> paper_steps(const std::string& profile) {
  std::vector<Step> steps;
  if (profile == "expether-gbe") {
    steps.push_back(
        {profile + " register load", [=](Results& results) { measure_load(profile, results); }});
  } else if (profile == "rhinet2") {
    add_goodput(profile, Carrier::kPush, "PUSH", powers(6, 20, 1), steps);
    add_goodput(profile, Carrier::kPull, "PULL", powers(6, 20, 1), steps);
    for (const uint32_t size : powers(12, 20, 4)) {
      steps.push_back({fmt::format("{} PULL of {} by firmware", profile, size_text(size)),
                       [=](Results& results) { measure_firmware_pull(profile, {size}, results); }});
    }
    add_goodput(profile, Carrier::kSend, "SEND", powers(6, 20, 1), steps);
    for (const uint32_t size : powers(2, 13, 1)) {
      steps.push_back({fmt::format("{} round trip of {}", profile, size_text(size)),
                       [=](Results& results) { measure_round_trip_of(profile, size, results); }});
    }
  } else if (profile == "ntb-gen3x8") {
    add_goodput(profile, Carrier::kPush, "PUSH", powers(6, 26, 2), steps);
  } else {
    throw DataFileError("no paper measured anything like profile " + profile);
  }
  return steps;
}

}  // namespace exrnic::bench
