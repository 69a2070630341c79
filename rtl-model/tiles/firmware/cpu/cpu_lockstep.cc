// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/tiles/firmware/cpu/cpu_lockstep.h"

#include <algorithm>
#include <random>

#include "rtl-model/tiles/firmware/cpu/cpu_bench.h"
#include "rtl-model/tiles/firmware/cpu/random_program.h"
#include "rtl-model/tiles/firmware/cpu/unicorn_model.h"

namespace exrnic::testing {

CpuLockstep run_lockstep(uint32_t seed, uint64_t count) {
  constexpr size_t kBatch = 500;
  std::mt19937 random(seed);
  const std::vector<uint8_t> program = random_program(seed);
  CpuBench cpu(program, seed, 1 + seed % 4);
  if (seed % 2 == 0) cpu.halt_at_random(seed);
  UnicornModel model(program);
  CpuLockstep result;
  while (result.instructions < count && result.difference.empty()) {
    std::vector<Retired> retired = cpu.run(kBatch);
    if (random() % 2 == 0) {
      cpu.set_interrupts(static_cast<uint8_t>(1u << random() % 6));
      const std::vector<Retired> more = cpu.run(1 + random() % 20);
      retired.insert(retired.end(), more.begin(), more.end());
      cpu.set_interrupts(0);
    }
    result.instructions += retired.size();
    result.difference = model.check(retired);
  }
  if (result.difference.empty() && cpu.memory() != model.memory())
    result.difference = "memory at the end";
  result.cycles = static_cast<uint64_t>(cpu.cycles());
  result.executed = model.executed();
  result.exceptions = model.exceptions();
  return result;
}

}  // namespace exrnic::testing
