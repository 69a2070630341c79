// SPDX-License-Identifier: BSD-2-Clause
// What the comparison with Unicorn cannot see: time, and where execution starts.
#include <catch2/catch_test_macros.hpp>
#include <cstring>

#include "rtl-model/tiles/firmware/cpu/cpu_bench.h"
#include "rtl-model/tiles/firmware/cpu/mips.h"

namespace exrnic::testing {
namespace {

using mips::Operands;

uint32_t op(const char* name, const Operands& operands) {
  return mips::encode(mips::by_name(name), operands);
}
constexpr uint32_t kNop = 0;

class Program {
 public:
  Program() : image_(mips::kMemoryBytes) { at(mips::kExceptionPc, {op("jr", {.rs = 31}), kNop}); }
  Program& at(uint32_t pc, const std::vector<uint32_t>& words) {
    std::memcpy(&image_.at(pc & 0xffff), words.data(), 4 * words.size());
    return *this;
  }
  // From reset, padded with instructions that do nothing.
  std::vector<uint8_t> starting_with(const std::vector<uint32_t>& words) {
    at(mips::kResetPc, words);
    return image_;
  }

 private:
  std::vector<uint8_t> image_;
};

// Cycles from the end of the first instruction to that of the last.
long cycles_of(const std::vector<uint32_t>& words, unsigned max_wait = 1) {
  CpuBench cpu(Program().starting_with(words), 1, max_wait);
  cpu.run(1);
  const long first = cpu.cycles();
  cpu.run(words.size() - 1);
  return cpu.cycles() - first;
}

uint32_t add(uint32_t rd, uint32_t rs, uint32_t rt) {
  return op("addu", {.rs = rs, .rt = rt, .rd = rd});
}

TEST_CASE("the first instruction after reset is the first of the memory") {
  CpuBench cpu(Program().starting_with({op("ori", {.rt = 5, .imm = 0x1234})}), 1, 1);
  const Retired first = cpu.run(1).front();
  CHECK(first.pc == mips::kResetPc);
  CHECK(first.rd == 5);
  CHECK(first.value == 0x1234);
}

TEST_CASE("after reset no interrupt is enabled, and none is pending") {
  CpuBench cpu(Program().starting_with({op("mfc0", {.rt = 5, .rd = mips::kStatus}),
                                        op("mfc0", {.rt = 6, .rd = mips::kCause})}),
               1, 1);
  const std::vector<Retired> retired = cpu.run(2);
  CHECK(retired[0].rd == 5);
  CHECK(retired[0].value == 0);
  CHECK(retired[1].value == 0);
}

TEST_CASE("an address may overflow as a signed number") {
  CpuBench cpu(
      Program().starting_with(
          {op("lui", {.rt = 1, .imm = 0x7fff}), op("ori", {.rs = 1, .rt = 1, .imm = 0xff00}),
           op("sw", {.rs = 1, .rt = 1, .imm = 0x300}), op("lw", {.rs = 1, .rt = 2, .imm = 0x300})}),
      1, 1);
  const std::vector<Retired> retired = cpu.run(4);
  for (const Retired& record : retired) CHECK_FALSE(record.is_exception);
  CHECK(retired[3].value == 0x7fff'ff00);
}

TEST_CASE("results are used at once: one instruction a cycle") {
  CHECK(cycles_of({add(1, 1, 1), add(2, 1, 1), add(3, 2, 1), add(4, 3, 2), kNop}) == 4);
}

TEST_CASE("a jump that is taken costs nothing but its delay slot") {
  CpuBench cpu(Program().starting_with({kNop, op("j", {.imm = 0x100 / 4}), kNop}), 1, 1);
  cpu.run(1);
  const long before = cpu.cycles();
  const std::vector<Retired> retired = cpu.run(3);
  CHECK(retired.back().pc == (mips::kResetPc | 0x100));
  CHECK(cpu.cycles() - before == 3);
}

TEST_CASE("a branch takes what the instruction before it has computed") {
  CpuBench cpu(Program().starting_with(
                   {op("ori", {.rt = 1, .imm = 1}), op("bne", {.rs = 1, .rt = 0, .imm = 7}), kNop}),
               1, 1);
  CHECK(cpu.run(4).back().pc == mips::kResetPc + 4 + 4 + 7 * 4);
}

TEST_CASE("loads follow each other cycle by cycle; the one who needs a loaded value waits one") {
  const uint32_t load = op("lw", {.rs = 0, .rt = 1, .imm = 0x100});
  CHECK(cycles_of({load, load, load, kNop, kNop}) == 4);
  CHECK(cycles_of({load, add(2, 1, 1), kNop, kNop}) == 4);
}

TEST_CASE("a multiplication is ready after 2 cycles and a division after 34, beside other work") {
  const uint32_t read = op("mflo", {.rd = 3});
  const std::vector<uint32_t> nothing = {kNop, kNop, kNop, kNop};
  const long base = cycles_of({kNop, kNop, read, kNop});
  CHECK(cycles_of({kNop, op("mult", {.rs = 1, .rt = 2}), read, kNop}) == base + 1);
  CHECK(cycles_of({kNop, op("mult", {.rs = 1, .rt = 2}), kNop, read}) == base);
  CHECK(cycles_of({kNop, op("divu", {.rs = 1, .rt = 2}), read, kNop}) == base + 33);
}

TEST_CASE("8 cycles after an interrupt the first instruction of its handler has ended") {
  CpuBench cpu(Program().starting_with({op("ori", {.rt = 1, .imm = 0x0401}),
                                        op("mtc0", {.rt = 1, .rd = mips::kStatus}), kNop}),
               1, 1);
  cpu.run(10);
  cpu.set_interrupts(1);
  const long before = cpu.cycles();
  std::vector<Retired> retired;
  do retired = cpu.run(1);
  while (retired.front().pc != mips::kExceptionPc && cpu.cycles() - before < 50);
  CHECK(cpu.cycles() - before <= 8);
}

TEST_CASE("an interrupt that is disabled, or masked, does not come") {
  for (const uint32_t status : {0x0400u, 0xfb01u}) {
    CpuBench cpu(Program().starting_with({op("ori", {.rt = 1, .imm = status}),
                                          op("mtc0", {.rt = 1, .rd = mips::kStatus}), kNop}),
                 1, 1);
    cpu.set_interrupts(1);
    for (const Retired& record : cpu.run(100)) CHECK(!record.is_exception);
  }
}

TEST_CASE("nothing is stored behind an instruction that fails, however late it learns of it") {
  const uint32_t bad_load = op("lw", {.rs = 1, .rt = 2, .imm = 0});
  const uint32_t store = op("sw", {.rs = 0, .rt = 1, .imm = 0x200});
  CpuBench cpu(Program().starting_with({op("lui", {.rt = 1, .imm = 0x9fff}), bad_load, store}), 7,
               20);
  const std::vector<Retired> retired = cpu.run(3);
  CHECK(retired[1].code == mips::kBusData);
  CHECK(retired[2].pc == mips::kExceptionPc);
  CHECK(std::vector<uint8_t>(cpu.memory().begin() + 0x200, cpu.memory().begin() + 0x204) ==
        std::vector<uint8_t>(4, 0));
}

}  // namespace
}  // namespace exrnic::testing
