// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <chrono>
#include <cstdint>

namespace exrnic::fabric {

constexpr uint64_t kNsPerMs = 1'000'000;

// Of the wall's clock, which does not go back.
inline uint64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::nanoseconds(now).count());
}

}  // namespace exrnic::fabric
