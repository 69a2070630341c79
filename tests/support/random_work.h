// SPDX-License-Identifier: BSD-2-Clause
// Runs a random plan on two nodes, and says what came out of it that must not depend on timing.
#pragma once

#include <cstdint>
#include <string>

#include "sim/node/node.h"
#include "tests/support/random_plan.h"

namespace exrnic::testing {

// One line per fact: completions, states, counters, checksums of memory. Equal for equal plans, on
// every core. Throws std::runtime_error when a work request does not end, or when memory is not
// what a plain copy of the bytes, made beside the cores, would be.
std::string run_plan(const Plan& plan, const CoreFactory& make_core);

}  // namespace exrnic::testing
