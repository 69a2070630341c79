// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/shrink.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <numeric>

namespace exrnic::testing {
namespace {

using Items = std::vector<unsigned>;

Items up_to(unsigned count) {
  Items items(count);
  std::iota(items.begin(), items.end(), 0u);
  return items;
}

bool has(const Items& items, unsigned item) {
  return std::find(items.begin(), items.end(), item) != items.end();
}

TEST_CASE("what is left is what the failure needs, and nothing more") {
  unsigned runs = 0;
  const auto fails = [&runs](const Items& items) {
    ++runs;
    return has(items, 3) && has(items, 97) && has(items, 98);
  };
  CHECK(shrink(up_to(150), fails, 1000) == Items{3, 97, 98});
  CHECK(runs < 200);
}

TEST_CASE("a failure that every item has is cut down to one item") {
  CHECK(shrink(up_to(64), [](const Items&) { return true; }, 1000).size() == 1);
}

TEST_CASE("one that needs all items keeps them") {
  const auto fails = [](const Items& items) { return items.size() == 9; };
  CHECK(shrink(up_to(9), fails, 1000) == up_to(9));
}

TEST_CASE("it stops when it has asked as often as it may, with what still fails") {
  unsigned runs = 0;
  const auto fails = [&runs](const Items& items) { return ++runs, has(items, 40); };
  const Items rest = shrink(up_to(100), fails, 3);
  CHECK(runs <= 3);
  CHECK(has(rest, 40));
}

}  // namespace
}  // namespace exrnic::testing
