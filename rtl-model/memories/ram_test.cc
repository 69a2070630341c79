// SPDX-License-Identifier: BSD-2-Clause
// What the memories promise: 37 words of 4 lanes of 8 bits; those of more readers have 3.
#include <array>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <random>

#include "Vlut_ram_nr1w.h"
#include "Vram_1r1w.h"
#include "Vram_nr1w.h"
#include "rtl-model/testing/bench.h"

namespace exrnic::testing {
namespace {

constexpr unsigned kDepth = 37, kLanes = 4;

// One reader, or some, with one face.
class One : public Bench<Vram_1r1w> {
 public:
  static constexpr unsigned kReaders = 1;
  void read(unsigned, unsigned address) {
    dut().read_i = 1;
    dut().read_address_i = address;
  }
  void rest() { dut().read_i = dut().write_i = 0; }
  uint32_t answer(unsigned) { return dut().read_data_o; }
};

class Some : public Bench<Vram_nr1w> {
 public:
  static constexpr unsigned kReaders = 3;
  void read(unsigned reader, unsigned address) {
    dut().read_i |= 1u << reader;
    dut().read_address_i[reader] = address;
  }
  void rest() { dut().read_i = dut().write_i = 0; }
  uint32_t answer(unsigned reader) { return dut().read_data_o[reader]; }
};

template <typename Ram>
void Write(Ram* ram, unsigned address, uint32_t data, unsigned lanes = (1u << kLanes) - 1) {
  ram->dut().write_i = lanes;
  ram->dut().write_address_i = address;
  ram->dut().write_data_i = data;
}

template <typename Ram>
void Cycle(Ram* ram) {
  ram->cycle();
  ram->rest();
}

TEMPLATE_TEST_CASE("a read is answered in the next cycle, and the answer stays until the next read",
                   "", One, Some) {
  TestType ram;
  for (const unsigned address : {0u, kDepth - 1}) {
    Write(&ram, address, 0xc0de0000 + address);
    Cycle(&ram);
  }
  for (unsigned reader = 0; reader < TestType::kReaders; ++reader) {
    ram.read(reader, kDepth - 1);
    Cycle(&ram);
    CHECK(ram.answer(reader) == 0xc0de0000 + kDepth - 1);
    Write(&ram, kDepth - 1, 0xc0de0000 + kDepth - 1);
    Cycle(&ram);
    Cycle(&ram);
    CHECK(ram.answer(reader) == 0xc0de0000 + kDepth - 1);
    ram.read(reader, 0);
    Cycle(&ram);
    CHECK(ram.answer(reader) == 0xc0de0000);
  }
}

TEMPLATE_TEST_CASE(
    "a read in the cycle of a write gets what was there before, the next one the new", "", One,
    Some) {
  TestType ram;
  Write(&ram, 5, 0x11111111);
  Cycle(&ram);
  Write(&ram, 5, 0x22222222);
  for (unsigned reader = 0; reader < TestType::kReaders; ++reader) ram.read(reader, 5);
  Cycle(&ram);
  for (unsigned reader = 0; reader < TestType::kReaders; ++reader)
    CHECK(ram.answer(reader) == 0x11111111);
  for (unsigned reader = 0; reader < TestType::kReaders; ++reader) ram.read(reader, 5);
  Cycle(&ram);
  for (unsigned reader = 0; reader < TestType::kReaders; ++reader)
    CHECK(ram.answer(reader) == 0x22222222);
}

TEMPLATE_TEST_CASE("what is written lane by lane and read by many is what a plain array holds", "",
                   One, Some) {
  TestType ram;
  std::array<uint32_t, kDepth> model{};
  std::array<uint32_t, TestType::kReaders> expected{};
  for (unsigned address = 0; address < kDepth; ++address) {
    Write(&ram, address, 0);
    Cycle(&ram);
  }
  for (unsigned reader = 0; reader < TestType::kReaders; ++reader) ram.read(reader, 0);
  Cycle(&ram);
  std::mt19937 random(25);
  for (int i = 0; i < 20000; ++i) {
    for (unsigned reader = 0; reader < TestType::kReaders; ++reader) {
      if (random() % 3 == 0) continue;
      const unsigned address = random() % kDepth;
      ram.read(reader, address);
      expected[reader] = model[address];
    }
    const unsigned address = random() % kDepth, lanes = random() % (1u << kLanes);
    const uint32_t data = random();
    Write(&ram, address, data, lanes);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const uint32_t mask = 0xffu << (8 * lane);
      if ((lanes >> lane & 1) != 0) model[address] = (model[address] & ~mask) | (data & mask);
    }
    Cycle(&ram);
    for (unsigned reader = 0; reader < TestType::kReaders; ++reader)
      REQUIRE(ram.answer(reader) == expected[reader]);
  }
}

TEST_CASE("LUT RAM answers each reader in the cycle of its address, with what was there before") {
  constexpr unsigned kReaders = 3;
  Bench<Vlut_ram_nr1w> ram;
  std::array<uint32_t, kDepth> model{};
  for (unsigned address = 0; address < kDepth; ++address) {
    Write(&ram, address, 0);
    ram.cycle();
  }
  std::mt19937 random(25);
  for (int i = 0; i < 20000; ++i) {
    const unsigned address = random() % kDepth, lanes = random() % (1u << kLanes);
    const uint32_t data = random();
    Write(&ram, address, data, lanes);
    for (unsigned reader = 0; reader < kReaders; ++reader)
      ram.dut().read_address_i[reader] = random() % 4 == 0 ? address : random() % kDepth;
    ram.settle();
    for (unsigned reader = 0; reader < kReaders; ++reader)
      REQUIRE(ram.dut().read_data_o[reader] == model[ram.dut().read_address_i[reader]]);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const uint32_t mask = 0xffu << (8 * lane);
      if ((lanes >> lane & 1) != 0) model[address] = (model[address] & ~mask) | (data & mask);
    }
    ram.tick();
  }
}

}  // namespace
}  // namespace exrnic::testing
