// SPDX-License-Identifier: BSD-2-Clause
#include "tests/protection/access_oracle.h"

#include <algorithm>

namespace exrnic::testing {
namespace {

__extension__ typedef unsigned __int128 Wide;  // numbers that do not wrap

constexpr unsigned kRemoteRights = 2 | 4;  // spec/objects.yaml: remote_write, remote_read
constexpr unsigned kAllRemoteRights = kRemoteRights | 8;  // and remote_atomic

bool is_bound_to(const OracleBinding& binding, const OracleQp& qp) {
  return binding.for_domain || (binding.qp.qpn == qp.qpn && binding.qp.life == qp.life);
}

}  // namespace

const OracleRegion* AccessOracle::find(uint32_t stag) const {
  const auto found = regions_.find(stag);
  if (found == regions_.end() || found->second.invalidated) return nullptr;
  return &found->second;
}

// The region that a memory window is bound to, if it is still that one.
const OracleRegion* AccessOracle::behind(const OracleBinding& binding) const {
  const OracleRegion* region = find(binding.region);
  return region != nullptr && region->serial == binding.serial ? region : nullptr;
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
  if (!region->binding) return reasons;
  if (behind(*region->binding) == nullptr) reasons |= kNoSuchStag;
  if ((attempt.right & kAllRemoteRights) == 0) return reasons | kNoRight;
  return reasons | (is_bound_to(*region->binding, attempt.qp) ? 0 : unsigned{kOtherDomain});
}

std::vector<Extent> AccessOracle::extents(const Attempt& attempt) const {
  std::vector<Extent> extents;
  const OracleRegion* region = attempt.length == 0 ? nullptr : find(attempt.stag);
  if (region != nullptr && region->binding) region = behind(*region->binding);
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

unsigned AccessOracle::reasons_not_to_invalidate(uint32_t stag, uint32_t domain,
                                                 const OracleQp& qp) const {
  const OracleRegion* region = find(stag);
  if (region == nullptr) return kNoSuchStag;
  const bool other = region->binding && !is_bound_to(*region->binding, qp);
  const bool right =
      region->binding ? !region->binding->for_domain : (region->rights & kRemoteRights) != 0;
  return (region->domain != domain || other ? unsigned{kOtherDomain} : 0) |
         (right ? 0 : unsigned{kNoRight});
}

}  // namespace exrnic::testing
