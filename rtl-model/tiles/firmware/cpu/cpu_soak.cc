// SPDX-License-Identifier: BSD-2-Clause
// The processor beside Unicorn for as long as told: exrnic-cpu-soak INSTRUCTIONS SEED
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "rtl-model/tiles/firmware/cpu/cpu_lockstep.h"

namespace exrnic::testing {
namespace {

constexpr uint64_t kPerProgram = 1'000'000;

int soak(uint64_t instructions, uint32_t seed) {
  uint64_t done = 0;
  for (; done < instructions; ++seed) {
    const uint64_t count = std::min(kPerProgram, instructions - done);
    const CpuLockstep one = run_lockstep(seed, count);
    done += one.instructions;
    if (!one.difference.empty()) {
      fmt::print("FAIL: exrnic-cpu-soak {} {}: {}\n", count, seed, one.difference);
      return EXIT_FAILURE;
    }
    fmt::print("seed {}: {} instructions so far\n", seed, done);
    std::fflush(stdout);
  }
  fmt::print("PASS: {} instructions, 0 differ from Unicorn\n", done);
  // A verdict that nobody can read is none.
  return std::fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

// A whole number that is all of the argument, or 0.
uint64_t number(const char* text) {
  char* end = nullptr;
  const uint64_t value = std::strtoull(text, &end, 0);
  return *text >= '0' && *text <= '9' && *end == '\0' ? value : 0;
}

}  // namespace
}  // namespace exrnic::testing

int main(int argc, char** argv) {
  const uint64_t count = argc == 3 ? exrnic::testing::number(argv[1]) : 0;
  const uint64_t seed = argc == 3 ? exrnic::testing::number(argv[2]) : 0;
  if (count == 0 || seed == 0 || seed > UINT32_MAX) {
    fmt::print(stderr, "usage: exrnic-cpu-soak INSTRUCTIONS SEED (both 1 and up)\n");
    return EXIT_FAILURE;
  }
  try {
    return exrnic::testing::soak(count, static_cast<uint32_t>(seed));
  } catch (const std::exception& error) {
    fmt::print("FAIL: {}\n", error.what());
    return EXIT_FAILURE;
  }
}
