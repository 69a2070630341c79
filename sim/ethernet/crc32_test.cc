// SPDX-License-Identifier: BSD-2-Clause
#include "sim/ethernet/crc32.h"

#include <zlib.h>

#include <catch2/catch_test_macros.hpp>
#include <random>
#include <vector>

namespace exrnic {
namespace {

TEST_CASE("the CRC of random bytes of any length, at any address, is zlib's") {
  std::mt19937_64 random(1);
  std::vector<uint8_t> bytes(5000);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  for (size_t size = 0; size < 4500; size += size < 600 ? 1 : 61) {
    CAPTURE(size);
    const uint8_t* data = bytes.data() + size % 17;
    REQUIRE(crc32_of(data, size) == crc32(0, data, static_cast<uInt>(size)));
  }
}

TEST_CASE("the CRC of zeros counts them") {
  const std::vector<uint8_t> zeros(2000);
  for (size_t size = 0; size < zeros.size(); size += 7)
    REQUIRE(crc32_of(zeros.data(), size) == crc32(0, zeros.data(), static_cast<uInt>(size)));
}

}  // namespace
}  // namespace exrnic
