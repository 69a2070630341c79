// SPDX-License-Identifier: BSD-2-Clause
// The same program on the RTL and on the reference model.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/node/node.h"

namespace exrnic::testing {

// Gives facts, one a line, that must not depend on the core; or throws std::runtime_error.
using Program = std::function<std::string(const CoreFactory& make_core)>;

// Empty if both cores agree; else the first fact in which they differ, or what was waited for in
// vain.
std::string compare_cores(const Program& program);

// The same for the random plan of a seed, or for the operations of it in `keep`, if there are any.
// What differs is cut down: the answer has the seed, the difference, the operations that are
// needed for it, and how to run just these again.
std::string compare_random_work(uint64_t seed, unsigned operations,
                                const std::vector<unsigned>& keep = {});

// The same for the random driver of a seed; not cut down.
std::string compare_random_driver(uint64_t seed, unsigned steps);

}  // namespace exrnic::testing
