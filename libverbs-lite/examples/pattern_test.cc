// SPDX-License-Identifier: BSD-2-Clause
#include "pattern.h"

#include <catch2/catch_test_macros.hpp>
#include <vector>

namespace exrnic {
namespace {

TEST_CASE("a pattern equals itself, and any one wrong byte is found") {
  for (size_t length : {0u, 1u, 7u, 8u, 9u, 100u}) {
    std::vector<uint8_t> bytes(length + 1, 0xee);
    FillPattern(42, bytes.data(), length);
    CHECK(bytes[length] == 0xee);
    CHECK(!ComparePattern(42, bytes.data(), length));
    for (size_t i = 0; i < length; ++i) {
      bytes[i] ^= 0x10;
      const auto difference = ComparePattern(42, bytes.data(), length);
      REQUIRE(difference);
      CHECK(difference->offset == i);
      CHECK(difference->got == bytes[i]);
      bytes[i] ^= 0x10;
      CHECK(difference->expected == bytes[i]);
    }
  }
}

TEST_CASE("operations and seeds have patterns of their own") {
  std::vector<uint8_t> bytes(64);
  FillPattern(PatternStream(1, 1), bytes.data(), bytes.size());
  CHECK(ComparePattern(PatternStream(1, 2), bytes.data(), bytes.size()));
  CHECK(ComparePattern(PatternStream(2, 1), bytes.data(), bytes.size()));
}

TEST_CASE("a touched guard is found") {
  std::vector<uint8_t> guard(100, 0x5a);
  CHECK(!CompareByte(0x5a, guard.data(), guard.size()));
  guard[99] = 0;
  const auto difference = CompareByte(0x5a, guard.data(), guard.size());
  REQUIRE(difference);
  CHECK(difference->offset == 99);
}

}  // namespace
}  // namespace exrnic
