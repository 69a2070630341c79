// SPDX-License-Identifier: BSD-2-Clause
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <random>

#include "Vexrnic_pkg_check.h"
#include "exrnic_hw.h"
#include "verilated.h"

TEST_CASE("every structure of the SystemVerilog package has the size and places of the spec") {
  VerilatedContext context;
  Vexrnic_pkg_check check{&context};
  check.eval();  // the first structure that is off ends it by $fatal, with its name
  CHECK(context.gotFinish());
}

// Firmware does it like this; see exrnic_get_bits() of the generated header.
uint64_t bit_by_bit(const uint8_t* bytes, unsigned first, unsigned bits) {
  uint64_t value = 0;
  for (unsigned i = first; i < first + bits; ++i)
    value = value << 1 | (bytes[i / 8] >> (7 - i % 8) & 1);
  return value;
}

TEST_CASE("a field of a header is its bits as RFCs number them, wherever it lies, and no other") {
  std::mt19937_64 random(1);
  for (unsigned first = 0; first < 16; ++first) {
    for (unsigned bits = 1; first % 8 + bits <= 64; ++bits) {
      CAPTURE(first, bits);
      std::array<uint8_t, 12> bytes;
      for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
      REQUIRE(exrnic_get_bits(bytes.data(), first, bits) == bit_by_bit(bytes.data(), first, bits));

      const std::array<uint8_t, 12> before = bytes;
      const uint64_t value = random() >> (64 - bits);
      exrnic_set_bits(bytes.data(), first, bits, value);
      REQUIRE(bit_by_bit(bytes.data(), first, bits) == value);
      for (unsigned i = 0; i < 8 * bytes.size(); ++i) {
        const bool inside = i >= first && i < first + bits;
        if (!inside) REQUIRE(bit_by_bit(bytes.data(), i, 1) == bit_by_bit(before.data(), i, 1));
      }
    }
  }
}
