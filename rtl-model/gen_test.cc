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

TEST_CASE("what is no opcode has no properties, whatever its number") {
  for (const uint64_t value :
       {uint64_t{0}, uint64_t{12}, uint64_t{127}, uint64_t{255}, ~uint64_t{0}}) {
    CAPTURE(value);
    const exrnic_wqe_opcode_properties op = exrnic_of_wqe_opcode(value);
    CHECK_FALSE((op.posted || op.push || op.send || op.pull || op.uc || op.ud));
  }
  CHECK(exrnic_of_rdmap_opcode(12).message == EXRNIC_MESSAGE_BAD);
}

TEST_CASE("each operation that a send queue takes leaves in a message that its services carry") {
  for (unsigned opcode = 0; opcode < 256; ++opcode) {
    const exrnic_wqe_opcode_properties op = exrnic_of_wqe_opcode(opcode);
    if (!op.posted) continue;
    CAPTURE(opcode);
    CHECK(op.push + op.send + op.pull + op.stays == 1);
    if (op.stays) continue;
    const exrnic_rdmap_opcode_properties message = exrnic_of_rdmap_opcode(op.opcode);
    CHECK(message.uc >= op.uc);
    CHECK(message.ud >= op.ud);
    CHECK((message.message == EXRNIC_MESSAGE_REQUEST) == op.pull);
    CHECK(message.atomic == op.atomic);
    if (!op.receive) continue;
    const exrnic_rdmap_opcode_properties solicited = exrnic_of_rdmap_opcode(op.solicits);
    CHECK(solicited.solicited);
    CHECK(solicited.uc >= op.uc);
    CHECK(solicited.ud >= op.ud);
  }
}
