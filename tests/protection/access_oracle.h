// SPDX-License-Identifier: BSD-2-Clause
// What may be accessed, as the texts of RFC 5040, RFC 5041 and of rtl-model/spec say it: regions
// and memory windows are intervals of numbers. It shares no code with either core, and knows no
// order of checks: it says every reason for which an access may be refused.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace exrnic::testing {

// Reasons, as a set of bits.
enum Reason : unsigned {
  kNoSuchStag = 1,   // nobody has it, its key is another, or it was invalidated
  kOtherDomain = 2,  // or a memory window for the peer of another queue pair
  kNoRight = 4,
  kWraps = 8,
  kOutside = 16,
};

// Bytes at a bus address.
struct Extent {
  uint64_t address = 0;
  uint64_t length = 0;
};

// The life of a queue pair.
struct OracleQp {
  uint32_t qpn = 0;
  uint32_t life = 0;
};

// What a memory window is bound to.
struct OracleBinding {
  OracleQp qp;
  uint32_t region = 0;      // STag,
  uint64_t serial = 0;      // and which of those that had it
  bool for_domain = false;  // for the peers of all its queue pairs; no peer ends it
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
  uint64_t serial = 0;
  std::optional<OracleBinding> binding = {};  // of a memory window, which has no pages
};

struct Attempt {
  uint32_t stag = 0;
  uint32_t domain = 0;
  uint32_t right = 0;  // flags ACCESS that it needs; 0: reading for the owner
  uint64_t to = 0;
  uint64_t length = 0;
  OracleQp qp = {};  // of whose peer it is, with a remote right
};

class AccessOracle {
 public:
  void add(const OracleRegion& region) {
    regions_[region.stag] = region;
    regions_[region.stag].serial = ++last_serial_;
  }
  void remove(uint32_t stag) { regions_.erase(stag); }

  // Every reason against it; 0: it must be granted. Of no bytes nothing is asked.
  unsigned reasons(const Attempt& attempt) const;

  // Whether there is something behind it that was not invalidated; and its serial number.
  bool has(uint32_t stag) const { return find(stag) != nullptr; }
  uint64_t serial(uint32_t stag) const { return find(stag)->serial; }

  // The bytes of an access that is granted, in order.
  std::vector<Extent> extents(const Attempt& attempt) const;

  // The same for an invalidation by the peer, which needs a remote right; and what it does.
  unsigned reasons_not_to_invalidate(uint32_t stag, uint32_t domain, const OracleQp& qp) const;
  void invalidate(uint32_t stag) { regions_.at(stag).invalidated = true; }

 private:
  const OracleRegion* find(uint32_t stag) const;
  const OracleRegion* behind(const OracleBinding& binding) const;

  std::map<uint32_t, OracleRegion> regions_;  // by the whole STag
  uint64_t last_serial_ = 0;
};

}  // namespace exrnic::testing
