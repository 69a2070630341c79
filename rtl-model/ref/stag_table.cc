// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/stag_table.h"

namespace exrnic::ref {

namespace {

Verdict check_owner(const State& state, const Access& access) {
  if (stag_index(access.stag) >= state.regions.size()) return Verdict::kStag;
  const Region& region = state.regions[stag_index(access.stag)];
  if (!region.valid || region.invalidated || region.stag != access.stag) return Verdict::kStag;
  return region.pd == access.pd ? Verdict::kOk : Verdict::kStream;
}

}  // namespace

Verdict check(const State& state, const Access& access) {
  const Verdict owner = check_owner(state, access);
  if (owner != Verdict::kOk) return owner;
  const Region& region = state.regions[stag_index(access.stag)];
  const uint64_t last = access.to + (access.length - 1);
  if ((region.access & access.rights) != access.rights) return Verdict::kAccess;
  if (last < access.to) return Verdict::kWrap;
  if (access.to < region.base) return Verdict::kBounds;
  if (last > region.base + (region.length - 1)) return Verdict::kBounds;
  return Verdict::kOk;
}

Verdict invalidate(State& state, const Access& access) {
  const Verdict owner = check_owner(state, access);
  if (owner != Verdict::kOk) return owner;
  Region& region = state.regions[stag_index(access.stag)];
  if (access.rights != 0 && (region.access & access.rights) == 0) return Verdict::kAccess;
  region.invalidated = true;
  return Verdict::kOk;
}

Verdict register_fast(State& state, const Access& access, const exrnic_mbox_register_mr& now) {
  if (stag_index(access.stag) >= state.regions.size()) return Verdict::kStag;
  Region& region = state.regions[stag_index(access.stag)];
  if (!region.valid || region.kind != EXRNIC_REGION_KIND_FAST || !region.invalidated)
    return Verdict::kStag;
  if (region.pd != access.pd) return Verdict::kStream;
  region = {now, true, false, region.life + 1};
  return Verdict::kOk;
}

}  // namespace exrnic::ref
