// SPDX-License-Identifier: BSD-2-Clause
// A seeded random program of PUSHes between two nodes, and what has to come out of it whatever core
// the nodes have: that must not depend on timing.
//
// A program is a list of rounds. In each, every pair of queue pairs gets a batch of work requests
// on one side or on both. Some batches hold a hostile work request; then only one side posts, so
// that it is determined who fails with what. When all have completed, queue pairs in error are
// reset and connected anew. Every pair of queue pairs has its own sink on each side.
#pragma once

#include <cstdint>
#include <string>

#include "sim/node/node.h"

namespace exrnic::testing {

// One line per fact: completions, states, counters, checksums of memory. Equal for equal seeds and
// operations, on every core. Throws std::runtime_error when a completion does not come.
std::string run_random_pushes(uint64_t seed, unsigned operations, const CoreFactory& make_core);

}  // namespace exrnic::testing
