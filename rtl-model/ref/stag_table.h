// SPDX-License-Identifier: BSD-2-Clause
// Whether an access to a memory region is allowed (RFC 5041, 8; RFC 5040, 8).
#pragma once

#include "rtl-model/ref/state.h"

namespace exrnic::ref {

enum class Verdict {
  kOk,
  kStag,    // no such STag, another key, or invalidated
  kStream,  // of another protection domain
  kAccess,  // a right is missing
  kWrap,    // offset + length wraps
  kBounds,  // outside the region
  kMemory,  // the host refused to read the PBL
};

struct Access {
  uint32_t stag = 0;
  uint32_t pd = 0;
  uint32_t rights = 0;  // flags ACCESS that it needs
  uint64_t to = 0;      // tagged offset of the first byte
  uint64_t length = 0;  // at least 1
};

inline uint32_t stag_index(uint32_t stag) { return stag >> EXRNIC_STAG_INDEX_SHIFT; }

// The first check that fails, in the order of the enumeration; kMemory is not found here.
Verdict check(const State& state, const Access& access);

// Whether `access` names a region that it may invalidate (`to` and `length` do not count; of the
// rights, if any are given, the region must have one); then it is invalidated.
Verdict invalidate(State& state, const Access& access);

// Whether `access` names, by its index, a region of kind fast that is not registered; then it
// becomes `now`.
Verdict register_fast(State& state, const Access& access, const exrnic_mbox_register_mr& now);

}  // namespace exrnic::ref
