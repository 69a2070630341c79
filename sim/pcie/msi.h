// SPDX-License-Identifier: BSD-2-Clause
// Interrupts as they are on the bus: writes of one word to where a host has told the device.
#pragma once

#include <cstdint>

namespace exrnic {

// Where hosts want them: so has the x86 (Intel SDM 3A, 11.11). Of a host here the word is the
// number of the vector.
constexpr uint64_t kInterruptAddress = 0xfee00000;
constexpr uint64_t kInterruptAddresses = 1 << 20;

inline bool is_interrupt(uint64_t address) {
  return address - kInterruptAddress < kInterruptAddresses;
}

}  // namespace exrnic
