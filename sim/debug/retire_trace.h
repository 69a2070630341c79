// SPDX-License-Identifier: BSD-2-Clause
// Every instruction that the processor of one node retires, with the name of its place, in a file;
// and the cycles of each function.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "sim/debug/firmware_symbols.h"
#include "sim/files/output_file.h"
#include "sim/testbed.h"

namespace exrnic::debug {

// Cycles of the functions of firmware: those from the instruction before to the one that retires
// count for that one. What takes longer than any instruction but the rest of DEV_DOZE is rest.
class CycleProfile {
 public:
  static constexpr uint64_t kLongest = 64;  // cycles: a division takes fewer

  void retire(uint64_t cycle, uint32_t pc);
  uint64_t instructions() const { return instructions_; }  // but those that ended a rest
  uint64_t cycles() const { return cycles_; }              // at work
  std::map<std::string, uint64_t> by_function(const FirmwareSymbols& symbols) const;

 private:
  uint64_t last_ = 0;
  uint64_t instructions_ = 0, cycles_ = 0;
  std::map<uint32_t, uint64_t> by_pc_;
};

// The file: a line "NS PC INSTRUCTION PLACE" for each, with "exception" behind one that ended by
// one; then, when it is closed, what each function took. `testbed` must outlive it.
class RetireTrace {
 public:
  using Log = std::function<void(const std::string&)>;

  // Throws std::runtime_error if the file cannot be written.
  RetireTrace(const std::string& path, FirmwareSymbols symbols, Testbed& testbed, unsigned node,
              Log log);
  ~RetireTrace();  // logs if the file could not be written to its end
  RetireTrace(const RetireTrace&) = delete;
  RetireTrace& operator=(const RetireTrace&) = delete;

 private:
  void retire(const RetiredInstruction& instruction);
  void put(const std::string& text) { std::fwrite(text.data(), 1, text.size(), file_.get()); }

  std::string path_;
  OutputFile file_;
  FirmwareSymbols symbols_;
  Testbed& testbed_;
  unsigned node_;
  Log log_;
  CycleProfile profile_;
};

}  // namespace exrnic::debug
