// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/tiles/firmware/cpu/cpu_lockstep.h"

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <iostream>

#include "rtl-model/tiles/firmware/cpu/mips.h"

namespace exrnic::testing {
namespace {

// EXRNIC_SEED repeats a run.
uint32_t first_seed() {
  const char* given = std::getenv("EXRNIC_SEED");
  return given != nullptr ? static_cast<uint32_t>(std::strtoul(given, nullptr, 0)) : 1;
}

TEST_CASE("the processor agrees with Unicorn after every instruction of random programs") {
  constexpr uint32_t kPrograms = 20;
  constexpr uint64_t kInstructions = 10'000;
  CpuLockstep all;
  for (uint32_t seed = first_seed(); seed < first_seed() + kPrograms; ++seed) {
    const CpuLockstep one = run_lockstep(seed, kInstructions);
    INFO("EXRNIC_SEED=" << seed << ": " << one.difference);
    REQUIRE(one.difference.empty());
    all.instructions += one.instructions;
    all.cycles += one.cycles;
    for (const auto& [name, count] : one.executed) all.executed[name] += count;
    for (const auto& [code, count] : one.exceptions) all.exceptions[code] += count;
  }
  std::cout << all.instructions << " instructions, " << all.executed.size() << " of "
            << mips::instructions().size() << " opcodes, " << all.exceptions.size()
            << " exceptions, seeds from " << first_seed() << "\n";
  for (const mips::Instruction& instruction : mips::instructions()) {
    if (instruction.name == "syscall" || instruction.name == "break") continue;  // exceptions
    INFO(instruction.name);
    CHECK(all.executed[instruction.name] > 0);
  }
  for (const uint32_t code :
       {mips::kInterrupt, mips::kAddressLoad, mips::kAddressStore, mips::kBusFetch, mips::kBusData,
        mips::kSyscall, mips::kBreak, mips::kReserved, mips::kCoprocessor, mips::kOverflow}) {
    INFO("exception " << code);
    CHECK(all.exceptions[code] > 0);
  }
}

}  // namespace
}  // namespace exrnic::testing
