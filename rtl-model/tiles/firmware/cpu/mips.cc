// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/tiles/firmware/cpu/mips.h"

#include <stdexcept>

namespace exrnic::mips {
namespace {

constexpr uint32_t special(uint32_t funct) { return funct; }
constexpr uint32_t regimm(uint32_t number) { return 1u << 26 | number << 16; }
constexpr uint32_t major(uint32_t opcode) { return opcode << 26; }

// Bits that say which instruction it is.
uint32_t mask_of(const Instruction& instruction) {
  const uint32_t opcode = instruction.base >> 26;
  if (opcode == 0) return 0xfc00003f;
  if (opcode == 1) return 0xfc1f0000;
  if (opcode == 16) return instruction.name == "rfe" ? 0xffe0003f : 0xffe00000;
  return 0xfc000000;
}

}  // namespace

const std::vector<Instruction>& instructions() {
  static const std::vector<Instruction> all = {
      {"sll", Form::kShift, special(0), false},
      {"srl", Form::kShift, special(2), false},
      {"sra", Form::kShift, special(3), false},
      {"sllv", Form::kThree, special(4), false},
      {"srlv", Form::kThree, special(6), false},
      {"srav", Form::kThree, special(7), false},
      {"jr", Form::kRegister, special(8), true},
      {"jalr", Form::kLink, special(9), true},
      {"syscall", Form::kTrap, special(12), true},
      {"break", Form::kTrap, special(13), true},
      {"mfhi", Form::kFrom, special(16), false},
      {"mthi", Form::kTo, special(17), false},
      {"mflo", Form::kFrom, special(18), false},
      {"mtlo", Form::kTo, special(19), false},
      {"mult", Form::kMulDiv, special(24), false},
      {"multu", Form::kMulDiv, special(25), false},
      {"div", Form::kMulDiv, special(26), false},
      {"divu", Form::kMulDiv, special(27), false},
      {"add", Form::kThree, special(32), true},
      {"addu", Form::kThree, special(33), false},
      {"sub", Form::kThree, special(34), true},
      {"subu", Form::kThree, special(35), false},
      {"and", Form::kThree, special(36), false},
      {"or", Form::kThree, special(37), false},
      {"xor", Form::kThree, special(38), false},
      {"nor", Form::kThree, special(39), false},
      {"slt", Form::kThree, special(42), false},
      {"sltu", Form::kThree, special(43), false},
      {"bltz", Form::kSign, regimm(0), false},
      {"bgez", Form::kSign, regimm(1), false},
      {"bltzal", Form::kSign, regimm(16), false},
      {"bgezal", Form::kSign, regimm(17), false},
      {"j", Form::kJump, major(2), false},
      {"jal", Form::kJump, major(3), false},
      {"beq", Form::kCompare, major(4), false},
      {"bne", Form::kCompare, major(5), false},
      {"blez", Form::kSign, major(6), false},
      {"bgtz", Form::kSign, major(7), false},
      {"addi", Form::kImmediate, major(8), true},
      {"addiu", Form::kImmediate, major(9), false},
      {"slti", Form::kImmediate, major(10), false},
      {"sltiu", Form::kImmediate, major(11), false},
      {"andi", Form::kImmediate, major(12), false},
      {"ori", Form::kImmediate, major(13), false},
      {"xori", Form::kImmediate, major(14), false},
      {"lui", Form::kUpper, major(15), false},
      {"mfc0", Form::kSystem, major(16), false},
      {"mtc0", Form::kSystem, major(16) | 4u << 21, false},
      {"rfe", Form::kTrap, major(16) | 16u << 21 | 16, false},
      {"lb", Form::kLoad, major(32), true},
      {"lh", Form::kLoad, major(33), true},
      {"lwl", Form::kLoad, major(34), true},
      {"lw", Form::kLoad, major(35), true},
      {"lbu", Form::kLoad, major(36), true},
      {"lhu", Form::kLoad, major(37), true},
      {"lwr", Form::kLoad, major(38), true},
      {"sb", Form::kStore, major(40), true},
      {"sh", Form::kStore, major(41), true},
      {"swl", Form::kStore, major(42), true},
      {"sw", Form::kStore, major(43), true},
      {"swr", Form::kStore, major(46), true},
  };
  return all;
}

const Instruction& by_name(const std::string& name) {
  for (const Instruction& instruction : instructions())
    if (instruction.name == name) return instruction;
  throw std::invalid_argument("no MIPS I instruction " + name);
}

const Instruction* decode(uint32_t word) {
  for (const Instruction& instruction : instructions())
    if ((word & mask_of(instruction)) == instruction.base) return &instruction;
  return nullptr;
}

bool is_branch(uint32_t word) {
  const Instruction* instruction = decode(word);
  if (instruction == nullptr) return false;
  switch (instruction->form) {
    case Form::kCompare:
    case Form::kSign:
    case Form::kJump:
    case Form::kRegister:
    case Form::kLink:
      return true;
    default:
      return false;
  }
}

uint32_t encode(const Instruction& instruction, const Operands& operands) {
  const uint32_t rs = operands.rs << 21, rt = operands.rt << 16, rd = operands.rd << 11;
  const uint32_t imm = operands.imm & 0xffff;
  switch (instruction.form) {
    case Form::kThree:
      return instruction.base | rs | rt | rd;
    case Form::kShift:
      return instruction.base | rt | rd | (operands.imm & 31) << 6;
    case Form::kImmediate:
    case Form::kLoad:
    case Form::kStore:
    case Form::kCompare:
      return instruction.base | rs | rt | imm;
    case Form::kUpper:
      return instruction.base | rt | imm;
    case Form::kSign:
      return instruction.base | rs | imm;
    case Form::kJump:
      return instruction.base | (operands.imm & 0x3ffffff);
    case Form::kRegister:
    case Form::kTo:
      return instruction.base | rs;
    case Form::kLink:
      return instruction.base | rs | rd;
    case Form::kMulDiv:
      return instruction.base | rs | rt;
    case Form::kFrom:
      return instruction.base | rd;
    case Form::kTrap:
      return instruction.base;
    case Form::kSystem:
      return instruction.base | rt | rd;
  }
  return 0;
}

}  // namespace exrnic::mips
