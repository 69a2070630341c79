// SPDX-License-Identifier: BSD-2-Clause
// Which registers two cores must agree on, and when.
#pragma once

#include <cstdint>
#include <vector>

namespace exrnic::lockstep {

enum class RegisterKind {
  kConstant,   // always
  kReadiness,  // once the subject says that it is ready
  kOutcome,    // of a command: once it is not BUSY
  kAnswer,     // if nothing was under way when the command was given
  kCause,      // if nothing is under way
  kCounter,    // likewise; those of what does not depend on time
  kTiming,     // never
};

RegisterKind kind_of(uint32_t offset);  // in BAR 0

std::vector<uint32_t> compared_counters();  // offsets of their low halves
uint32_t overrun_counter();
uint32_t placed_counter();
const char* counter_name(uint32_t offset);

}  // namespace exrnic::lockstep
