// SPDX-License-Identifier: BSD-2-Clause
// The same seeded program on the RTL and on the reference model.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "sim/node/node.h"

namespace exrnic::testing {

// Gives facts, one a line, that must not depend on the core; or throws std::runtime_error.
using RandomProgram =
    std::function<std::string(uint64_t seed, unsigned operations, const CoreFactory& make_core)>;

// Empty if both cores agree; else the first fact in which they differ, or what was waited for in
// vain, with the seed.
std::string compare_cores(const RandomProgram& program, uint64_t seed, unsigned operations);

}  // namespace exrnic::testing
