// SPDX-License-Identifier: BSD-2-Clause
// Whether an access to a memory region or a memory window is allowed (RFC 5041, 8; RFC 5040, 8).
#pragma once

#include "rtl-model/ref/state.h"

namespace exrnic::ref {

enum class Verdict {
  kOk,
  kStag,    // no such STag, another key, or invalidated
  kStream,  // of another protection domain, or a memory window for another queue pair
  kAccess,  // a right is missing
  kWrap,    // offset + length wraps
  kBounds,  // outside the region
  kMemory,  // the host refused to read the PBL
};

// Who asks: the domain of a queue pair; and that, for a right of its peer.
struct Asker {
  uint32_t pd = 0;
  uint16_t qpn = 0;
  uint16_t generation = 0;
};

inline Asker asker(const QueuePair& qp, uint32_t qpn) {
  return {qp.pd, static_cast<uint16_t>(qpn), qp.generation};
}

struct Access {
  uint32_t stag = 0;
  Asker asker;
  uint32_t rights = 0;  // flags ACCESS that it needs
  uint64_t to = 0;      // tagged offset of the first byte
  uint64_t length = 0;  // at least 1
};

inline uint32_t stag_index(uint32_t stag) { return stag >> EXRNIC_STAG_INDEX_SHIFT; }

// The first check that fails, in the order of the enumeration, of a memory window and then of the
// region behind it; kMemory is not found here.
Verdict check(const State& state, const Access& access);

// STag index of the region whose memory `access` is allowed to use.
uint32_t region_of(const State& state, const Access& access);

// Whether `access` names a region that it may invalidate (`to` and `length` do not count; of the
// rights, if any are given, the region must have one); then it is invalidated.
Verdict invalidate(State& state, const Access& access);

// Whether `access` names, by its index, a region of kind fast that is not registered; then it
// becomes `now`.
Verdict register_fast(State& state, const Access& access, const exrnic_mbox_register_mr& now);

// Whether a peer may be using what the memory window with `stag` is bound to.
bool is_bound(const State& state, uint32_t stag);

// Whether `access` names, by its index, a memory window that is not bound, or is a domain window,
// and may have its bytes and rights of the region with STag `region`; then it is bound.
Verdict bind(State& state, const Access& access, uint32_t region);

}  // namespace exrnic::ref
