// SPDX-License-Identifier: BSD-2-Clause
// A seeded random driver: mailbox commands with good and bad fields, doorbells from any page, and
// registers, on one core. It waits for rest after each step, so that no outcome depends on timing.
#pragma once

#include <cstdint>
#include <string>

#include "sim/node/node.h"

namespace exrnic::testing {

// One line per fact: statuses, answers, registers, completions, counters. Equal for equal seeds and
// steps on every core. Throws std::runtime_error when the core does not come to rest.
std::string run_random_driver(uint64_t seed, unsigned steps, const CoreFactory& make_core);

}  // namespace exrnic::testing
