// SPDX-License-Identifier: BSD-2-Clause
// A random program of all MIPS I instructions that runs for ever: an image of the processor's
// memory with an exception handler that goes on behind what failed. Registers: 26 and 27 belong to
// the handler, 28 points to the data, 30 to where a bad jump comes back.
#pragma once

#include <cstdint>
#include <vector>

namespace exrnic::testing {

std::vector<uint8_t> random_program(uint32_t seed);

}  // namespace exrnic::testing
