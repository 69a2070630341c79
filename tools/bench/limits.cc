// SPDX-License-Identifier: BSD-2-Clause
#include "tools/bench/limits.h"

#include <algorithm>

#include "exrnic_hw.h"

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

}  // namespace exrnic::bench
