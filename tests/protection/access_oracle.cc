// SPDX-License-Identifier: BSD-2-Clause
#include "tests/protection/access_oracle.h"

#include <algorithm>

namespace exrnic::testing {
namespace {

__extension__ typedef unsigned __int128 Wide;  // numbers that do not wrap

constexpr unsigned kRemoteRights = 2 | 4;  // spec/objects.yaml: remote_write, remote_read

}  // namespace

const OracleRegion* AccessOracle::find(uint32_t stag) const {
  const auto found = regions_.find(stag);
  if (found == regions_.end() || found->second.invalidated) return nullptr;
  return &found->second;
}

unsigned AccessOracle::reasons(const Attempt& attempt) const {
  if (attempt.length == 0) return 0;
  const Wide first = attempt.to;
  const Wide end = first + attempt.length;
  unsigned reasons = end > Wide{1} << 64 ? unsigned{kWraps} : 0;
  const OracleRegion* region = find(attempt.stag);
  if (region == nullptr) return reasons | kNoSuchStag;
  if (region->domain != attempt.domain) reasons |= kOtherDomain;
  if ((attempt.right & ~region->rights) != 0) reasons |= kNoRight;
  if (first < region->base || end > Wide{region->base} + region->length) reasons |= kOutside;
  return reasons;
}

std::vector<Extent> AccessOracle::extents(const Attempt& attempt) const {
  std::vector<Extent> extents;
  const OracleRegion* region = attempt.length == 0 ? nullptr : find(attempt.stag);
  if (region == nullptr) return extents;
  uint64_t at = region->base % region->page_bytes + (attempt.to - region->base);
  for (uint64_t left = attempt.length; left > 0;) {
    const uint64_t in_page = at % region->page_bytes;
    const uint64_t bytes = std::min(left, region->page_bytes - in_page);
    extents.push_back({region->pages.at(at / region->page_bytes) + in_page, bytes});
    at += bytes;
    left -= bytes;
  }
  return extents;
}

unsigned AccessOracle::reasons_not_to_invalidate(uint32_t stag, uint32_t domain) const {
  const OracleRegion* region = find(stag);
  if (region == nullptr) return kNoSuchStag;
  return (region->domain != domain ? unsigned{kOtherDomain} : 0) |
         ((region->rights & kRemoteRights) == 0 ? unsigned{kNoRight} : 0);
}

}  // namespace exrnic::testing
