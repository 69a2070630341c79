// SPDX-License-Identifier: BSD-2-Clause
// soak OPS SEED: random operations on the RTL and on the reference model, in programs of a seed
// each that can be replayed alone. The last line is the verdict; exit code 1 means that they
// disagree.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/support/compare_cores.h"

namespace {

constexpr unsigned kProgram = 250;  // operations, as in random_work_test: a seed replays there
constexpr unsigned kSteps = 400;    // of the driver's program that goes with it

bool parse(const char* text, uint64_t& number) {
  char* end;
  number = std::strtoull(text, &end, 10);
  return *text >= '0' && *text <= '9' && *end == '\0';
}

// Of work, and of a driver.
std::string differences(uint64_t seed) {
  using namespace exrnic::testing;
  return compare_random_work(seed, kProgram) + compare_random_driver(seed, kSteps);
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t operations, seed;
  if (argc != 3 || !parse(argv[1], operations) || !parse(argv[2], seed) || operations == 0) {
    std::fputs("usage: soak OPS SEED, two numbers; OPS is at least 1\n", stderr);
    return 2;
  }
  uint64_t programs = 0, mismatches = 0;
  for (uint64_t done = 0; done < operations; done += kProgram, ++programs) {
    const std::string difference = differences(seed + programs);
    if (difference.empty()) continue;
    ++mismatches;
    std::fputs(difference.c_str(), stdout);
    std::fflush(stdout);
  }
  std::printf(
      "soak: %s: %llu operations, seeds %llu to %llu, %llu of %llu programs differ\n",
      mismatches ? "FAIL" : "PASS", static_cast<unsigned long long>(programs * kProgram),
      static_cast<unsigned long long>(seed), static_cast<unsigned long long>(seed + programs - 1),
      static_cast<unsigned long long>(mismatches), static_cast<unsigned long long>(programs));
  return mismatches != 0 || std::fflush(stdout) != 0;  // a verdict that nobody can read is none
}
