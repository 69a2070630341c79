// SPDX-License-Identifier: BSD-2-Clause
// Locked memory of a node, as a table that peers read by PULL. A handle is an index of the table,
// the generation of what is there, and an offset.
#ifndef EXRNIC_PM_AREAS_H
#define EXRNIC_PM_AREAS_H

#include <array>
#include <cstdint>

#include "exrnic/pm.h"
#include "exrnic/verbs.hpp"

namespace exrnic {

struct PmArea {
  uint64_t address;
  uint64_t length;
  uint32_t stag;
  uint32_t generation;  // 1 and on; the table starts with 0
  int32_t node;         // whom it is for, or PM_NODE_ANY
  uint32_t locked;      // 1: it is there
};
static_assert(sizeof(PmArea) == 32);

constexpr unsigned kPmOffsetBits = 44;
constexpr unsigned kPmGenerationBits = 12;

struct PmPlace {
  uint32_t index;
  uint32_t generation;
  uint64_t offset;
};
inline PmPlace PlaceOf(pm_handle handle) {
  return {static_cast<uint32_t>(handle >> (kPmOffsetBits + kPmGenerationBits)),
          static_cast<uint32_t>(handle >> kPmOffsetBits) & ((1u << kPmGenerationBits) - 1),
          handle & ((uint64_t{1} << kPmOffsetBits) - 1)};
}
inline pm_handle HandleOf(uint32_t index, uint32_t generation) {
  return pm_handle{index} << (kPmOffsetBits + kPmGenerationBits) | pm_handle{generation}
                                                                       << kPmOffsetBits;
}

// Throws PmError unless the place and `length` bytes from there are in the area, and it is for
// `user`. name: of the argument; whose: "of node 1", or "here".
void CheckPlace(const char* name, pm_handle handle, const PmArea& area, size_t length, int user,
                const std::string& whose);

class PmAreas {
 public:
  // table: PM_LOCKS_MAX zeroes, in memory that peers read.
  explicit PmAreas(PmArea* table) : table_(table) {}
  pm_handle Lock(vl_pd* pd, int node, void* address, size_t length);
  // The handle's area, which must be there.
  const PmArea& Find(const char* name, pm_handle handle) const;
  // Peers find it no more. Its memory is still registered, until Forget.
  uint32_t Unlock(pm_handle handle);
  void Forget(uint32_t index) { regions_[index].reset(); }

 private:
  PmArea* const table_;
  std::array<vl::Owned<vl_mr>, PM_LOCKS_MAX> regions_;
};

}  // namespace exrnic

#endif  // EXRNIC_PM_AREAS_H
