// SPDX-License-Identifier: BSD-2-Clause
// The RTL and the reference model agree. EXRNIC_SEED=n replays one program, with EXRNIC_KEEP=a,b,c
// only these operations of it; make soak runs more.
#include "tests/support/random_work.h"

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <sstream>

#include "tests/support/compare_cores.h"

namespace exrnic::testing {
namespace {

constexpr unsigned kOperations = 250;  // of one program; exrnic-soak has the same
constexpr unsigned kPrograms = 40;     // 10^4 operations
constexpr unsigned kSteps = 400;
constexpr unsigned kDrivers = 10;

uint64_t number_of(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 0) : otherwise;
}

std::vector<unsigned> kept() {
  std::vector<unsigned> numbers;
  std::istringstream list(std::getenv("EXRNIC_KEEP") ? std::getenv("EXRNIC_KEEP") : "");
  for (std::string number; std::getline(list, number, ',');)
    numbers.push_back(static_cast<unsigned>(std::stoul(number)));
  return numbers;
}

template <typename Compare>
void compare(uint64_t programs, Compare compare_seed) {
  const bool replay = std::getenv("EXRNIC_SEED") != nullptr;
  const uint64_t first = number_of("EXRNIC_SEED", 1);
  const uint64_t last = replay ? first : programs;
  for (uint64_t seed = first; seed <= last; ++seed) CHECK(compare_seed(seed) == "");
}

TEST_CASE("after the same random work both cores have the same memory, completions and counters") {
  const auto operations = static_cast<unsigned>(number_of("EXRNIC_OPS", kOperations));
  const std::vector<unsigned> keep = kept();
  compare(kPrograms, [&](uint64_t seed) { return compare_random_work(seed, operations, keep); });
}

TEST_CASE("both cores answer a random driver in the same way") {
  compare(kDrivers, [](uint64_t seed) { return compare_random_driver(seed, kSteps); });
}

TEST_CASE("a random program is the same one whenever it runs") {
  const auto run = [] { return run_plan(random_plan(3, 40), make_rtl_core); };
  CHECK(run() == run());
}

}  // namespace
}  // namespace exrnic::testing
