// SPDX-License-Identifier: BSD-2-Clause
// An independent model of the processor: Unicorn, a MIPS32 emulator that shares nothing with the
// RTL. It runs the same program and compares every register before each instruction, every stored
// word, and every exception. Unicorn does not model the R3000's system coprocessor: its registers,
// exception entry, and the results of divisions that MIPS leaves undefined are done here.
#pragma once

#include <unicorn/unicorn.h>

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "rtl-model/tiles/firmware/cpu/cpu_bench.h"

namespace exrnic::testing {

class UnicornModel {
 public:
  explicit UnicornModel(const std::vector<uint8_t>& memory);
  ~UnicornModel();
  UnicornModel(const UnicornModel&) = delete;
  UnicornModel& operator=(const UnicornModel&) = delete;

  // Runs as many instructions as `retired` has, and compares. Returns what differs first, empty if
  // nothing does. Call again to go on. The last one is not a branch.
  std::string check(const std::vector<Retired>& retired);

  // The whole memory, to be compared at the end.
  std::vector<uint8_t> memory() const;

  // Instructions that ended without exception, by name; exceptions by code.
  const std::map<std::string, uint64_t>& executed() const { return executed_; }
  const std::map<uint32_t, uint64_t>& exceptions() const { return exceptions_; }

 private:
  static constexpr int kRegisters = 32;
  enum class Stop { kNone, kException, kByHand, kEnd };

  static void on_code(uc_engine* engine, uint64_t address, uint32_t size, void* self);
  static void on_exception(uc_engine* engine, uint32_t number, void* self);
  static bool on_unmapped(uc_engine* engine, uc_mem_type type, uint64_t address, int size,
                          int64_t value, void* self);
  static void on_write(uc_engine* engine, uc_mem_type type, uint64_t address, int size,
                       int64_t value, void* self);

  void before(uint32_t pc);
  void raise(uint32_t code);
  void resume();
  void note_executed(uint32_t word);
  void compare_registers();
  void compare_store();
  void do_by_hand();
  void take_interrupt(const Retired& record);
  void enter_exception(uint32_t code, uint32_t coprocessor);
  void expect_exception(const Retired& record);
  void move_from_system(const Retired& record);
  void move_to_system(uint32_t number, uint32_t value);
  void divide(uint32_t word);
  bool needs_hand(const Retired& record) const;
  void differs(const std::string& what);

  uc_engine* engine_ = nullptr;
  uc_context* clean_ = nullptr;
  std::array<uint32_t, kRegisters> expected_{};  // as the RTL's records say
  std::array<uint32_t, kRegisters> actual_{};
  const std::vector<Retired>* retired_ = nullptr;
  size_t next_ = 0;
  Stop stop_ = Stop::kNone;
  uint32_t raised_code_ = 0;
  uint32_t pc_;
  bool in_delay_slot_ = false;
  bool wrote_ = false;
  uint32_t jump_target_ = 0;  // of the last jump to a register
  std::string difference_;

  uint32_t status_ = 0;
  uint32_t cause_ = 0;
  uint32_t epc_ = 0;
  uint32_t bad_address_ = 0;

  std::map<std::string, uint64_t> executed_;
  std::map<uint32_t, uint64_t> exceptions_;
};

}  // namespace exrnic::testing
