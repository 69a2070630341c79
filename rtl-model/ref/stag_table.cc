// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/stag_table.h"

namespace exrnic::ref {

namespace {

constexpr uint32_t kWritten = EXRNIC_ACCESS_REMOTE_WRITE | EXRNIC_ACCESS_REMOTE_ATOMIC;
constexpr uint32_t kOfPeers = kWritten | EXRNIC_ACCESS_REMOTE_READ;

// A memory window for peers of the whole domain.
bool is_domain_window(const Region& region) {
  return region.kind == EXRNIC_REGION_KIND_DOMAIN_WINDOW;
}
bool is_window(const Region& region) {
  return region.kind == EXRNIC_REGION_KIND_MEMORY_WINDOW || is_domain_window(region);
}

Verdict check_owner(const State& state, const Access& access) {
  if (stag_index(access.stag) >= state.regions.size()) return Verdict::kStag;
  const Region& region = state.regions[stag_index(access.stag)];
  if (!region.valid || region.invalidated || region.stag != access.stag) return Verdict::kStag;
  if (region.pd != access.asker.pd) return Verdict::kStream;
  // A memory window is for the peer of one queue pair, as long as that lives, or for the whole
  // domain.
  const bool for_peer = (access.rights & kOfPeers) != 0;
  const bool bound_here =
      is_domain_window(region) || (region.behind.qpn == access.asker.qpn &&
                                   region.behind.generation == access.asker.generation);
  return is_window(region) && for_peer && !bound_here ? Verdict::kStream : Verdict::kOk;
}

Verdict check_range(const Region& region, const Access& access) {
  const uint64_t last = access.to + (access.length - 1);
  if ((region.access & access.rights) != access.rights) return Verdict::kAccess;
  if (is_window(region) && (access.rights & kOfPeers) == 0) return Verdict::kAccess;
  if (last < access.to) return Verdict::kWrap;
  if (access.to < region.base) return Verdict::kBounds;
  if (last > region.base + (region.length - 1)) return Verdict::kBounds;
  return Verdict::kOk;
}

// What a memory window with these rights needs of its region.
uint32_t rights_behind(uint32_t rights) {
  return EXRNIC_ACCESS_MW_BIND | ((rights & kWritten) != 0 ? EXRNIC_ACCESS_LOCAL_WRITE : 0u);
}

Verdict check_behind(const State& state, const records::MwBinding& behind, Access access) {
  const Region& region = state.regions[behind.region];
  if (!region.valid || region.invalidated || is_window(region) ||
      static_cast<uint16_t>(region.life) != behind.life)
    return Verdict::kStag;
  if (region.pd != access.asker.pd) return Verdict::kStream;
  access.rights = rights_behind(access.rights);
  return check_range(region, access);
}

// By own work: what a window of the domain is bound to, if it is, ends whatever its key.
Verdict unbind(Region& window, const Access& access) {
  if (window.pd != access.asker.pd) return Verdict::kStream;
  window.invalidated = true;
  return Verdict::kOk;
}

}  // namespace

Verdict check(const State& state, const Access& access) {
  const Verdict owner = check_owner(state, access);
  if (owner != Verdict::kOk) return owner;
  const Region& region = state.regions[stag_index(access.stag)];
  const Verdict range = check_range(region, access);
  if (range != Verdict::kOk || !is_window(region)) return range;
  return check_behind(state, region.behind, access);
}

uint32_t region_of(const State& state, const Access& access) {
  const Region& region = state.regions[stag_index(access.stag)];
  return is_window(region) ? region.behind.region : stag_index(access.stag);
}

Verdict invalidate(State& state, const Access& access) {
  if (stag_index(access.stag) >= state.regions.size()) return Verdict::kStag;
  Region& region = state.regions[stag_index(access.stag)];
  if (region.valid && is_domain_window(region) && access.rights == 0) return unbind(region, access);
  const Verdict owner = check_owner(state, access);
  if (owner != Verdict::kOk) return owner;
  const bool granted = region.kind == EXRNIC_REGION_KIND_MEMORY_WINDOW ||
                       (!is_window(region) && (region.access & access.rights) != 0);
  if (access.rights != 0 && !granted) return Verdict::kAccess;
  region.invalidated = true;
  return Verdict::kOk;
}

Verdict register_fast(State& state, const Access& access, const exrnic_mbox_register_mr& now) {
  if (stag_index(access.stag) >= state.regions.size()) return Verdict::kStag;
  Region& region = state.regions[stag_index(access.stag)];
  if (!region.valid || region.kind != EXRNIC_REGION_KIND_FAST || !region.invalidated)
    return Verdict::kStag;
  if (region.pd != access.asker.pd) return Verdict::kStream;
  region = {now, /*valid=*/true, /*invalidated=*/false, region.life + 1};
  return Verdict::kOk;
}

bool is_bound(const State& state, uint32_t stag) {
  return stag_index(stag) < state.regions.size() && !state.regions[stag_index(stag)].invalidated;
}

Verdict bind(State& state, const Access& access, uint32_t region) {
  const Access behind{region, access.asker, rights_behind(access.rights), access.to, access.length};
  const Verdict verdict = check(state, behind);
  if (verdict != Verdict::kOk) return verdict;
  if (stag_index(access.stag) >= state.regions.size()) return Verdict::kStag;
  Region& window = state.regions[stag_index(access.stag)];
  const bool bindable = is_domain_window(window) || (is_window(window) && window.invalidated);
  if (!window.valid || !bindable) return Verdict::kStag;
  if (window.pd != access.asker.pd) return Verdict::kStream;
  window.stag = access.stag;
  window.base = access.to;
  window.length = access.length;
  window.access = access.rights;
  window.invalidated = false;
  ++window.life;
  window.behind = {static_cast<uint16_t>(stag_index(region)),
                   static_cast<uint16_t>(state.regions[stag_index(region)].life), access.asker.qpn,
                   access.asker.generation};
  return Verdict::kOk;
}

}  // namespace exrnic::ref
