// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/stag_table.h"

namespace exrnic::ref {

Verdict check(const State& state, const Access& access) {
  if (stag_index(access.stag) >= state.regions.size()) return Verdict::kStag;
  const Region& region = state.regions[stag_index(access.stag)];
  const uint64_t last = access.to + (access.length - 1);
  if (!region.valid || region.key != stag_key(access.stag)) return Verdict::kStag;
  if (region.pd != access.pd) return Verdict::kStream;
  if ((region.access & access.rights) != access.rights) return Verdict::kAccess;
  if (last < access.to) return Verdict::kWrap;
  if (access.to < region.base) return Verdict::kBounds;
  if (last > region.base + (region.length - 1)) return Verdict::kBounds;
  return Verdict::kOk;
}

}  // namespace exrnic::ref
