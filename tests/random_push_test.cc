// SPDX-License-Identifier: BSD-2-Clause
// The RTL and the reference model agree. EXRNIC_SEED=n replays one program; make soak runs more.
#include "tests/support/random_push.h"

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>

#include "tests/support/compare_cores.h"
#include "tests/support/random_driver.h"

namespace exrnic::testing {
namespace {

constexpr unsigned kOperations = 150;  // of one program; exrnic-soak has the same
constexpr unsigned kSteps = 400;

void compare(const RandomProgram& program, unsigned operations, uint64_t programs) {
  const char* replay = std::getenv("EXRNIC_SEED");
  const uint64_t first = replay ? std::strtoull(replay, nullptr, 0) : 1;
  const uint64_t last = replay ? first : programs;
  for (uint64_t seed = first; seed <= last; ++seed)
    CHECK(compare_cores(program, seed, operations) == "");
}

TEST_CASE("after the same random work both cores have the same memory, completions and counters") {
  compare(run_random_pushes, kOperations, 24);
}

TEST_CASE("both cores answer a random driver in the same way") {
  compare(run_random_driver, kSteps, 10);
}

TEST_CASE("a random program is the same one whenever it runs") {
  CHECK(run_random_pushes(3, 40, make_rtl_core) == run_random_pushes(3, 40, make_rtl_core));
}

}  // namespace
}  // namespace exrnic::testing
