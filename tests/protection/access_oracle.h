// SPDX-License-Identifier: BSD-2-Clause
// What may be accessed, as the texts of RFC 5040, RFC 5041 and of rtl-model/spec say it: regions
// are intervals of numbers. It shares no code with either core, and knows no order of checks: it
// says every reason for which an access may be refused.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace exrnic::testing {

// Reasons, as a set of bits.
enum Reason : unsigned {
  kNoSuchStag = 1,  // nobody has it, its key is another, or it was invalidated
  kOtherDomain = 2,
  kNoRight = 4,
  kWraps = 8,
  kOutside = 16,
};

// Bytes at a bus address.
struct Extent {
  uint64_t address = 0;
  uint64_t length = 0;
};

struct OracleRegion {
  uint32_t stag = 0;
  uint32_t domain = 0;
  uint32_t rights = 0;
  uint64_t base = 0;  // tagged offset of the first byte
  uint64_t length = 0;
  uint64_t page_bytes = 0;
  std::vector<uint64_t> pages;  // bus addresses; the first holds the first byte
  bool invalidated = false;
};

struct Attempt {
  uint32_t stag = 0;
  uint32_t domain = 0;
  uint32_t right = 0;  // flags ACCESS that it needs; 0: reading for the owner
  uint64_t to = 0;
  uint64_t length = 0;
};

class AccessOracle {
 public:
  void add(const OracleRegion& region) { regions_[region.stag] = region; }
  void remove(uint32_t stag) { regions_.erase(stag); }

  // Every reason against it; 0: it must be granted. Of no bytes nothing is asked.
  unsigned reasons(const Attempt& attempt) const;

  // The bytes of an access that is granted, in order.
  std::vector<Extent> extents(const Attempt& attempt) const;

  // The same for an invalidation by the peer, which needs a remote right; and what it does.
  unsigned reasons_not_to_invalidate(uint32_t stag, uint32_t domain) const;
  void invalidate(uint32_t stag) { regions_.at(stag).invalidated = true; }

 private:
  const OracleRegion* find(uint32_t stag) const;

  std::map<uint32_t, OracleRegion> regions_;  // by the whole STag
};

}  // namespace exrnic::testing
