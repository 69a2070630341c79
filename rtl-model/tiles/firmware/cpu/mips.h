// SPDX-License-Identifier: BSD-2-Clause
// MIPS I instructions as words, and what tests have to know of them. Encodings: Kane and Heinrich,
// "MIPS RISC Architecture", appendix A. Written apart from cpu_decode.sv, which it checks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace exrnic::mips {

enum class Form {
  kThree,      // op rd, rs, rt
  kShift,      // op rd, rt, shamt
  kImmediate,  // op rt, rs, imm16
  kUpper,      // op rt, imm16
  kLoad,       // op rt, imm16(rs)
  kStore,
  kCompare,   // op rs, rt, offset16
  kSign,      // op rs, offset16
  kJump,      // op target26
  kRegister,  // op rs
  kLink,      // op rd, rs
  kMulDiv,    // op rs, rt
  kFrom,      // op rd
  kTo,        // op rs
  kTrap,      // op
  kSystem     // moves to and from system registers: rt, rd
};

struct Instruction {
  std::string name;
  Form form;
  uint32_t base;  // all fields zero
  bool can_fail;  // overflow, alignment, bus
};

// All of MIPS I but the coprocessors 1 to 3.
const std::vector<Instruction>& instructions();
const Instruction& by_name(const std::string& name);
const Instruction* decode(uint32_t word);  // null: reserved, or another coprocessor's

bool is_branch(uint32_t word);

constexpr uint32_t rs(uint32_t word) { return word >> 21 & 31; }
constexpr uint32_t rt(uint32_t word) { return word >> 16 & 31; }
constexpr uint32_t rd(uint32_t word) { return word >> 11 & 31; }

struct Operands {
  uint32_t rs = 0;
  uint32_t rt = 0;
  uint32_t rd = 0;
  uint32_t imm = 0;  // 16 bits, 5 for shifts, 26 for jumps
};
uint32_t encode(const Instruction& instruction, const Operands& operands);

// Cause.ExcCode
enum Exception : uint32_t {
  kInterrupt = 0,
  kAddressLoad = 4,
  kAddressStore = 5,
  kBusFetch = 6,
  kBusData = 7,
  kSyscall = 8,
  kBreak = 9,
  kReserved = 10,
  kCoprocessor = 11,
  kOverflow = 12
};

constexpr uint32_t kResetPc = 0x80000000;
constexpr uint32_t kExceptionPc = 0x80000080;
constexpr uint32_t kMemoryBytes = 0x10000;

// System registers.
constexpr uint32_t kBadVAddr = 8;
constexpr uint32_t kStatus = 12;
constexpr uint32_t kCause = 13;
constexpr uint32_t kEpc = 14;
constexpr uint32_t kPrid = 15;

}  // namespace exrnic::mips
