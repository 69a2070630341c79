// SPDX-License-Identifier: BSD-2-Clause
// The processor beside Unicorn on one random program.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace exrnic::testing {

struct CpuLockstep {
  std::string difference;  // empty: none
  uint64_t instructions = 0;
  uint64_t cycles = 0;
  std::map<std::string, uint64_t> executed;  // by name
  std::map<uint32_t, uint64_t> exceptions;   // by Cause.ExcCode
};

// Runs at least `count` instructions of random_program(seed), with random interrupts and waits of
// the data memory.
CpuLockstep run_lockstep(uint32_t seed, uint64_t count);

}  // namespace exrnic::testing
