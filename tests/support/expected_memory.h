// SPDX-License-Identifier: BSD-2-Clause
// What memory must hold after work requests that succeed: each is a copy of bytes, made here
// without any of the core's notions but region and offset.
#pragma once

#include <map>
#include <utility>

#include "tests/support/random_plan.h"

namespace exrnic::testing {

class ExpectedMemory {
 public:
  // A region of a node, by its STag, as it is now.
  void set(unsigned node, uint32_t stag, uint64_t base, Bytes bytes) {
    regions_[{node, stag}] = {base, std::move(bytes)};
  }
  const Bytes& bytes(unsigned node, uint32_t stag) const { return regions_.at({node, stag}).bytes; }

  // The operation, posted by `node`, has succeeded.
  void apply(unsigned node, const Operation& operation);

 private:
  struct Region {
    uint64_t base = 0;
    Bytes bytes;
  };

  uint8_t* at(unsigned node, uint32_t stag, uint64_t offset);
  Bytes gather(unsigned node, const Operation& operation);
  void scatter(unsigned node, const std::vector<exrnic_sge>& elements, const Bytes& bytes,
               size_t left_free = 0);

  std::map<std::pair<unsigned, uint32_t>, Region> regions_;
};

}  // namespace exrnic::testing
