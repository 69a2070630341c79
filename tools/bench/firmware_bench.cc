// SPDX-License-Identifier: BSD-2-Clause
#include "tools/bench/firmware_bench.h"

#include <algorithm>
#include <stdexcept>

#include "tests/support/firmware.h"
#include "tools/bench/path.h"

namespace exrnic::bench {
namespace {

constexpr uint32_t kAtomics = 256;

double pull_goodput(const std::string& profile, uint32_t size, bool by_firmware) {
  Path path(profile, size, make_rtl_core);
  testing::RnicDriver& responder = path.pair.right.rnic;
  testing::start_firmware(responder, EXRNIC_FIRMWARE);
  responder.write_register(EXRNIC_REG_PULL_MODE,
                           by_firmware ? EXRNIC_PULL_MODE_FIRMWARE : EXRNIC_PULL_MODE_HARDWARE);
  const uint32_t operations = std::max(operations_for(size), 8u);
  const double goodput = path.stream(Carrier::kPull, size, operations) * size;
  if (responder.counter(EXRNIC_COUNTER_PUNTS) != (by_firmware ? operations : 0))
    throw std::runtime_error("PULLs went the other way than they should");
  return goodput;
}

}  // namespace

void measure_firmware_pull(const std::string& profile, const std::vector<uint32_t>& sizes,
                           Results& results) {
  for (const uint32_t size : sizes) {
    const double firmware = pull_goodput(profile, size, true);
    const double hardware = pull_goodput(profile, size, false);
    const nlohmann::ordered_json keys = {{"profile", profile}, {"size", size}};
    results.add("fwpull.ratio", firmware / hardware, "ratio", Clock::kSimulated, keys);
    results.add("fwpull.goodput_mbps", firmware / 1e6, "MB/s", Clock::kSimulated, keys);
  }
}

void measure_atomics(const std::string& profile, Results& results) {
  Path path(profile, 2 * EXRNIC_ATOMIC_BYTES, make_rtl_core);
  testing::start_firmware(path.pair.right.rnic, EXRNIC_FIRMWARE);
  uint64_t ns = 0;
  for (int round = 0; round < 2; ++round) {  // the second one finds all on chip
    path.rest();
    const uint64_t start = path.pair.testbed.now_ns();
    path.put(Carrier::kFetchAdd, EXRNIC_ATOMIC_BYTES);
    path.ring();
    path.complete();
    ns = path.pair.testbed.now_ns() - start;
  }
  const nlohmann::ordered_json keys = {{"profile", profile}};
  results.add("atomic.us", static_cast<double>(ns) / 1e3, "us", Clock::kSimulated, keys);
  results.add("atomic.rate_mps",
              path.stream(Carrier::kFetchAdd, EXRNIC_ATOMIC_BYTES, kAtomics) / 1e6, "10^6/s",
              Clock::kSimulated, keys);
}

}  // namespace exrnic::bench
