// SPDX-License-Identifier: BSD-2-Clause
// The processor with 64 KiB of memory for instructions and data, and nothing at other addresses.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "Vcpu.h"
#include "rtl-model/testing/bench.h"

namespace exrnic::testing {

// What one instruction did: cpu_pkg's retire_t, and the word that it stored to, after it.
struct Retired {
  uint32_t pc = 0;
  uint32_t instruction = 0;
  uint32_t rd = 0;
  uint32_t value = 0;
  bool is_exception = false;
  uint32_t code = 0;
  bool in_delay_slot = false;
  bool is_store = false;
  uint32_t store_address = 0;  // of the word, physical
  uint32_t stored_word = 0;
  uint8_t interrupts = 0;  // lines that were raised when it ended, or shortly before
};

class CpuBench : public Bench<Vcpu> {
 public:
  // Data answers take 1 to `max_wait` cycles.
  CpuBench(std::vector<uint8_t> memory, uint32_t seed, unsigned max_wait);

  void cycle() override;
  void set_interrupts(uint8_t lines) { lines_ = lines; }

  // A debugger halts it at random from now on, and soon lets it go on: nobody may notice.
  void halt_at_random(uint32_t seed) { debugger_.emplace(seed); }

  // Runs until `count` more instructions have ended, and a delay slot if the last one is a branch.
  // Throws if none ends for 1,000 cycles.
  std::vector<Retired> run(size_t count);

  const std::vector<uint8_t>& memory() const { return memory_; }

 private:
  void drive_debugger();
  void answer_data();
  void take_data_request();
  void note_retired();
  uint32_t word_at(uint32_t address) const;

  struct Request {
    bool is_write = false;
    uint32_t address = 0;
    uint32_t data = 0;
    uint8_t strobe = 0;
    unsigned wait = 0;
  };

  std::vector<uint8_t> memory_;
  std::mt19937 random_;
  std::optional<std::mt19937> debugger_;
  bool halting_ = false;
  unsigned max_wait_;
  uint8_t lines_ = 0;
  uint8_t recent_lines_[8] = {};
  bool has_request_ = false;
  Request request_;
  Retired store_;  // of the write that was answered in this cycle
  std::vector<Retired> retired_;
};

}  // namespace exrnic::testing
