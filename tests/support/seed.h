// SPDX-License-Identifier: BSD-2-Clause
// What a random test is told by its environment: EXRNIC_SEED, to repeat a run, and other numbers.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>

namespace exrnic::testing {

inline uint64_t number_of(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 0) : otherwise;
}

// EXRNIC_SEED if that is set; else a new one.
inline uint64_t draw_seed() { return number_of("EXRNIC_SEED", std::random_device{}()); }

}  // namespace exrnic::testing
