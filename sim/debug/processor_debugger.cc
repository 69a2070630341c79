// SPDX-License-Identifier: BSD-2-Clause
#include "sim/debug/processor_debugger.h"

#include "rtl-model/gen/exrnic_hw.h"

namespace exrnic::debug {
namespace {

constexpr unsigned kScratch = 1, kScratchData = 2;
constexpr unsigned kCp0BadVAddr = 8, kCp0Status = 12, kCp0Cause = 13;
constexpr int kMostPolls = 1000;  // an instruction takes 40 cycles at most, a poll takes some

// MIPS I, encoded by hand: Kane and Heinrich, "MIPS RISC Architecture", appendix A.
constexpr uint32_t kSync = 0;  // sll $0, $0, 0
constexpr uint32_t lui(unsigned rt, uint32_t imm) { return 0x0fu << 26 | rt << 16 | imm; }
constexpr uint32_t ori(unsigned rt, unsigned rs, uint32_t imm) {
  return 0x0du << 26 | rs << 21 | rt << 16 | imm;
}
constexpr uint32_t move(unsigned rd, unsigned rs) { return rs << 21 | rd << 11 | 0x25; }  // or
constexpr uint32_t mfhi(unsigned rd) { return rd << 11 | 0x10; }
constexpr uint32_t mthi(unsigned rs) { return rs << 21 | 0x11; }
constexpr uint32_t mflo(unsigned rd) { return rd << 11 | 0x12; }
constexpr uint32_t mtlo(unsigned rs) { return rs << 21 | 0x13; }
constexpr uint32_t mfc0(unsigned rt, unsigned rd) { return 0x10u << 26 | rt << 16 | rd << 11; }
constexpr uint32_t mtc0(unsigned rt, unsigned rd) {
  return 0x10u << 26 | 4u << 21 | rt << 16 | rd << 11;
}
// A load or store of register kScratchData at 0(kScratch).
constexpr uint32_t memory(uint32_t opcode) {
  return opcode << 26 | kScratch << 21 | kScratchData << 16;
}

uint32_t opcode_of(unsigned access, bool is_store) {
  switch (access) {
    case 1:
      return is_store ? 0x28 : 0x24;  // sb, lbu
    case 2:
      return is_store ? 0x29 : 0x25;  // sh, lhu
    default:
      return is_store ? 0x2b : 0x23;  // sw, lw
  }
}

}  // namespace

bool ProcessorDebugger::runs() {
  if (registers_.read(EXRNIC_REG_FW_MEMORY) != EXRNIC_FW_MEMORY_BYTES) return false;
  const uint32_t state = registers_.read(EXRNIC_REG_FW_STATE);
  return state == EXRNIC_FW_STATE_STARTING || state == EXRNIC_FW_STATE_READY;
}

void ProcessorDebugger::halt() {
  registers_.write(EXRNIC_REG_FW_DEBUG, EXRNIC_FW_DEBUG_HALT | EXRNIC_FW_DEBUG_STOP_AT_BREAK);
}

bool ProcessorDebugger::halted() {
  return (registers_.read(EXRNIC_REG_FW_DEBUG_STATUS) & EXRNIC_FW_DEBUG_STATUS_HALTED) != 0;
}

void ProcessorDebugger::resume() {
  registers_.write(EXRNIC_REG_FW_DEBUG, EXRNIC_FW_DEBUG_RESUME | EXRNIC_FW_DEBUG_STOP_AT_BREAK);
}

void ProcessorDebugger::step() {
  registers_.write(EXRNIC_REG_FW_DEBUG,
                   EXRNIC_FW_DEBUG_RESUME | EXRNIC_FW_DEBUG_HALT | EXRNIC_FW_DEBUG_STOP_AT_BREAK);
}

void ProcessorDebugger::detach() { registers_.write(EXRNIC_REG_FW_DEBUG, EXRNIC_FW_DEBUG_RESUME); }

// False: it ended in an exception.
bool ProcessorDebugger::execute(uint32_t instruction) {
  registers_.write(EXRNIC_REG_FW_DEBUG_INSTRUCTION, instruction);
  for (int i = 0; i < kMostPolls; ++i) {
    const uint32_t status = registers_.read(EXRNIC_REG_FW_DEBUG_STATUS);
    if (!(status & EXRNIC_FW_DEBUG_STATUS_HALTED)) {
      throw DebugError("the processor is not halted any more: it was held, or has failed");
    }
    if (!(status & EXRNIC_FW_DEBUG_STATUS_BUSY)) {
      return (status & EXRNIC_FW_DEBUG_STATUS_FAILED) == 0;
    }
  }
  throw DebugError("the processor does not end an instruction that it was given");
}

uint32_t ProcessorDebugger::result(uint32_t instruction) {
  if (!execute(instruction)) throw DebugError("the processor refuses an instruction");
  return registers_.read(EXRNIC_REG_FW_DEBUG_VALUE);
}

void ProcessorDebugger::set_general(unsigned number, uint32_t value) {
  execute(lui(number, value >> 16));
  execute(ori(number, number, value & 0xffff));
}

uint32_t ProcessorDebugger::read_register(unsigned number) {
  if (number == 0) return 0;
  if (number < 32) return result(move(number, number));
  if (number == kPc) return registers_.read(EXRNIC_REG_FW_DEBUG_PC);
  const uint32_t kept = read_register(kScratch);
  uint32_t value = 0;
  switch (number) {
    case kStatus:
      value = result(mfc0(kScratch, kCp0Status));
      break;
    case kLo:
      value = result(mflo(kScratch));
      break;
    case kHi:
      value = result(mfhi(kScratch));
      break;
    case kBadVAddr:
      value = result(mfc0(kScratch, kCp0BadVAddr));
      break;
    case kCause:
      value = result(mfc0(kScratch, kCp0Cause));
      break;
    default:
      throw DebugError("there is no register " + std::to_string(number));
  }
  set_general(kScratch, kept);
  return value;
}

void ProcessorDebugger::write_register(unsigned number, uint32_t value) {
  if (number == 0) return;
  if (number < 32) return set_general(number, value);
  if (number == kPc) return registers_.write(EXRNIC_REG_FW_DEBUG_PC, value);
  if (number >= kRegisters) throw DebugError("there is no register " + std::to_string(number));
  const uint32_t kept = read_register(kScratch);
  set_general(kScratch, value);
  switch (number) {
    case kStatus:
      execute(mtc0(kScratch, kCp0Status));
      break;
    case kLo:
      execute(mtlo(kScratch));
      break;
    case kHi:
      execute(mthi(kScratch));
      break;
    default:
      execute(mtc0(kScratch, number == kCause ? kCp0Cause : kCp0BadVAddr));
      break;
  }
  execute(kSync);
  set_general(kScratch, kept);
}

// The value of kScratchData behind it.
bool ProcessorDebugger::access(uint32_t opcode, uint32_t address, uint32_t* value) {
  const uint32_t kept_address = read_register(kScratch);
  const uint32_t kept_data = read_register(kScratchData);
  set_general(kScratch, address);
  set_general(kScratchData, *value);
  const bool found = execute(memory(opcode));
  if (found) *value = read_register(kScratchData);
  set_general(kScratch, kept_address);
  set_general(kScratchData, kept_data);
  return found;
}

bool ProcessorDebugger::load(uint32_t address, unsigned bytes, uint32_t* value) {
  *value = 0;
  return access(opcode_of(bytes, false), address, value);
}

bool ProcessorDebugger::store(uint32_t address, unsigned bytes, uint32_t value) {
  return access(opcode_of(bytes, true), address, &value);
}

}  // namespace exrnic::debug
