// SPDX-License-Identifier: BSD-2-Clause
// Random work requests, good and hostile, for the layout of regions that random_push.cc sets up.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "exrnic_hw.h"

namespace exrnic::testing {

constexpr unsigned kPairs = 4;  // of queue pairs, left and right
constexpr unsigned kDomains = 2;
constexpr uint64_t kRegionBytes = 140'000;

inline uint32_t domain_of(unsigned pair) { return 7 + pair % kDomains; }

// The same on both nodes. Bases are unaligned, above 32 bits, and one region ends near 2^64.
inline uint32_t sink_stag(unsigned pair) { return (100 + pair) << EXRNIC_STAG_INDEX_SHIFT | 0x5a; }
inline uint64_t sink_base(unsigned pair) {
  return pair == 0 ? ~uint64_t{0} - kRegionBytes - 9 : 0x7f00'0000'0ab1 + (pair * 0x1000'0123ull);
}
inline uint32_t source_stag(unsigned domain) {
  return (200 + domain) << EXRNIC_STAG_INDEX_SHIFT | 0x01;
}
inline uint64_t source_base(unsigned domain) { return 0x5500'0000'0123 + domain * 0x1000'0777ull; }

using Batch = std::vector<exrnic_wqe>;

// 1 to 64 work requests for a pair of queue pairs, the last one signaled. Hostile ones only if
// `may_fail`, and such that it is determined which of them fails, and how.
Batch random_batch(std::mt19937_64& random, unsigned pair, bool may_fail);

}  // namespace exrnic::testing
