// SPDX-License-Identifier: BSD-2-Clause
// Inputs for a target without a coverage-guided fuzzer: seeds, changed at random. One number
// decides which input comes of it, so that this number repeats it.
#pragma once

#include "tests/fuzz/target.h"

namespace exrnic::fuzz {

constexpr size_t kLongestInput = 8192;

Bytes make_input(const std::vector<Bytes>& seeds, uint64_t number);

}  // namespace exrnic::fuzz
