// SPDX-License-Identifier: BSD-2-Clause
// The RTL and the reference model agree. EXRNIC_SEED=n replays one program; make soak runs more.
#include "tests/support/random_push.h"

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>

namespace exrnic::testing {
namespace {

constexpr unsigned kOperations = 150;  // of one program

TEST_CASE("after the same random work both cores have the same memory, completions and counters") {
  const char* replay = std::getenv("EXRNIC_SEED");
  const uint64_t first = replay ? std::strtoull(replay, nullptr, 0) : 1;
  const uint64_t last = replay ? first : 4;
  for (uint64_t seed = first; seed <= last; ++seed) CHECK(compare_cores(seed, kOperations) == "");
}

TEST_CASE("a random program is the same one whenever it runs") {
  CHECK(run_random_pushes(3, 40, make_rtl_core) == run_random_pushes(3, 40, make_rtl_core));
}

}  // namespace
}  // namespace exrnic::testing
