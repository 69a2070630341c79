// SPDX-License-Identifier: BSD-2-Clause
// Bytes that both guests can compute: seeded, different for each operation.
#ifndef EXRNIC_EXAMPLES_PATTERN_H
#define EXRNIC_EXAMPLES_PATTERN_H

#include <cstddef>
#include <cstdint>
#include <optional>

namespace exrnic {

// A well mixed 64-bit value of `value` (the finalizer of splitmix64, Steele et al., OOPSLA 2014).
uint64_t Mix(uint64_t value);

// The stream of bytes of operation `op` under `seed`.
uint64_t PatternStream(uint64_t seed, uint64_t op);
void FillPattern(uint64_t stream, uint8_t* to, size_t length);

struct Difference {
  size_t offset;  // of the first wrong byte
  uint8_t expected;
  uint8_t got;
};
// Compares every byte.
std::optional<Difference> ComparePattern(uint64_t stream, const uint8_t* with, size_t length);
std::optional<Difference> CompareByte(uint8_t expected, const uint8_t* with, size_t length);

}  // namespace exrnic

#endif  // EXRNIC_EXAMPLES_PATTERN_H
