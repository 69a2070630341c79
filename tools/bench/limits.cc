// SPDX-License-Identifier: BSD-2-Clause
#include "tools/bench/limits.h"

#include <algorithm>

#include "exrnic_hw.h"
#include "sim/ethernet/ethernet_link.h"
#include "sim/pcie/pcie_link.h"

namespace exrnic::bench {
namespace {

constexpr unsigned kLineOverhead = kPreambleBytes + kFcsBytes + kInterFrameGapBytes;

// Share of the rate that is payload when `size` bytes go in pieces of `piece`.
double share(uint64_t size, uint64_t piece, uint64_t overhead) {
  const uint64_t pieces = (size + piece - 1) / piece;
  return static_cast<double>(size) / static_cast<double>(size + pieces * overhead);
}

double limit(const Profile& profile, uint32_t mtu, uint64_t size, unsigned header_bytes) {
  const double pcie = profile.pcie.bytes_per_us * 1e6;
  const double ethernet = static_cast<double>(profile.ethernet.megabits_per_second) * 1e6 / 8;
  const uint32_t mps = profile.pcie.max_payload;
  return std::min({pcie * share(size, mps, kTlpWriteOverhead),
                   pcie * share(size, mps, kTlpCompletionOverhead),
                   ethernet * share(size, mtu, header_bytes + kLineOverhead)});
}

}  // namespace

double push_limit(const Profile& profile, uint32_t mtu, uint64_t size) {
  return limit(profile, mtu, size, EXRNIC_HEADER_TAGGED_BYTES);
}

double send_limit(const Profile& profile, uint32_t mtu, uint64_t size) {
  return limit(profile, mtu, size, EXRNIC_HEADER_UNTAGGED_BYTES);
}

double peb_limit(const Profile& profile) {
  constexpr unsigned kHeader = EXRNIC_TLP_BYTES + EXRNIC_TLP_ADDRESS_BYTES;
  static_assert(kHeader == EXRNIC_TLP_COMPLETION_BYTES);
  const uint32_t mps = profile.pcie.max_payload;
  return limit(profile, mps, mps, EXRNIC_HEADER_UNTAGGED_BYTES + EXRNIC_PEB_BYTES + kHeader);
}

double round_trip_limit_ns(const Profile& profile, uint32_t mtu, uint64_t size) {
  const double lines = profile.two_nodes_switched ? 2 : 1;
  const double switches = lines - 1;
  const double way = 2.0 * profile.pcie.latency_ns + lines * profile.ethernet.latency_ns +
                     switches * profile.ethernet_switch.latency_ns;
  return 2 * (way + static_cast<double>(size) / send_limit(profile, mtu, size) * 1e9);
}

double load_limit_ns(const Profile& profile) {
  constexpr unsigned kRegister = 4;
  const double bytes = kTlpReadRequest + kTlpCompletionOverhead + kRegister;
  return profile.pcie.host_load_ns + 2.0 * profile.pcie.latency_ns +
         bytes * 1e3 / profile.pcie.bytes_per_us;
}

}  // namespace exrnic::bench
