// SPDX-License-Identifier: BSD-2-Clause
// Halts the on-chip processor, steps it, reads and changes its registers and its memory: by the
// registers FW_DEBUG* alone ("processor" in rtl-model/gen/reference.md), as a driver could.
//
// Everything but halting and going on is done by instructions that the halted processor is given.
// Values of registers that such an instruction needs are put back before the call returns.
//
// Threads: as FwRegisters. Errors: DebugError.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace exrnic::debug {

struct DebugError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// How the FW_* registers are reached: 32 bits at an offset in BAR 0.
class FwRegisters {
 public:
  virtual ~FwRegisters() = default;
  virtual uint32_t read(uint32_t offset) = 0;
  virtual void write(uint32_t offset, uint32_t value) = 0;
};

// In GDB's order for MIPS; the general registers come first.
enum Register : unsigned { kStatus = 32, kLo, kHi, kBadVAddr, kCause, kPc, kRegisters };

class ProcessorDebugger {
 public:
  explicit ProcessorDebugger(FwRegisters& registers) : registers_(registers) {}

  // There is a processor, and it runs: firmware has been loaded and has not failed.
  bool runs();

  // Asks it to stop before its next instruction, and at BREAKs from now on.
  void halt();
  bool halted();
  // Goes on at the PC, until a BREAK or halt(). Or for one instruction, and a delay slot.
  void resume();
  void step();
  // BREAKs are exceptions again, and it runs.
  void detach();

  // While it is halted. Register 0 is zero; Cause, BadVAddr cannot be written (but for software
  // interrupts): what is written to them is lost.
  uint32_t read_register(unsigned number);
  void write_register(unsigned number, uint32_t value);

  // While it is halted; any address of the processor's, devices included: a read of DEV_COMMAND has
  // its effect. `access` bytes, 1, 2 or 4, aligned. False: nothing is there.
  bool load(uint32_t address, unsigned access, uint32_t* value);
  bool store(uint32_t address, unsigned access, uint32_t value);

 private:
  bool execute(uint32_t instruction);
  uint32_t result(uint32_t instruction);
  void set_general(unsigned number, uint32_t value);
  bool access(uint32_t opcode, uint32_t address, uint32_t* value);

  FwRegisters& registers_;
};

}  // namespace exrnic::debug
