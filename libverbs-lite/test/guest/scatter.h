// SPDX-License-Identifier: BSD-2-Clause
// Messages in parts: where their bytes come from and go to, in a way that both guests can compute.
#ifndef EXRNIC_GUEST_SCATTER_H
#define EXRNIC_GUEST_SCATTER_H

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "exrnic/verbs.h"

namespace exrnic {

struct Part {
  size_t at;
  uint32_t length;
};
using Parts = std::vector<Part>;

// `length` bytes in `count` parts, some of them empty, at random places behind *cursor, with gaps
// between them; moves the cursor behind the last. count 0 only for no bytes.
Parts Scatter(std::mt19937_64* random, uint32_t length, uint32_t count, size_t* cursor);

// As elements of a region at `base`.
std::vector<vl_sge> ElementsOf(const Parts& parts, const uint8_t* base, uint32_t stag);

std::vector<uint8_t> Take(const Parts& parts, const std::vector<uint8_t>& from);
// As many bytes as there are; the parts may have room for more.
void Put(const std::vector<uint8_t>& bytes, const Parts& parts, std::vector<uint8_t>* to);

// The first byte of memory that is not as expected, as a text; empty if there is none.
std::string FirstWrong(const std::vector<uint8_t>& expected, const uint8_t* memory);

}  // namespace exrnic

#endif  // EXRNIC_GUEST_SCATTER_H
