// SPDX-License-Identifier: BSD-2-Clause
// The seed of a random test: EXRNIC_SEED if that is set, to repeat a run; else a new one.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>

namespace exrnic::testing {

inline uint64_t draw_seed() {
  const char* given = std::getenv("EXRNIC_SEED");
  return given ? std::strtoull(given, nullptr, 0) : std::random_device{}();
}

}  // namespace exrnic::testing
