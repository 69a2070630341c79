// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/tiles/firmware/cpu/cpu_bench.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "rtl-model/testing/records.h"
#include "rtl-model/tiles/firmware/cpu/mips.h"

namespace exrnic::testing {

namespace {
constexpr unsigned kRetireBits = 1 + 32 + 32 + 5 + 32 + 1 + 5 + 1;
}  // namespace

CpuBench::CpuBench(std::vector<uint8_t> memory, uint32_t seed, unsigned max_wait)
    : memory_(std::move(memory)), random_(seed), max_wait_(max_wait) {
  dut().interrupt_i = 0;
  dut().inst_data_i = 0;
  dut().inst_error_i = 0;
  dut().data_done_i = 0;
  std::memset(&dut().debug_i, 0, sizeof dut().debug_i);
  reset();
}

// cpu_pkg's debug_t: halt, stop_at_break, resume, pc, inject, instruction.
void CpuBench::drive_debugger() {
  if (!debugger_) return;
  const bool resume = dut().halted_o && (*debugger_)() % 4 == 0;
  halting_ = !resume && (halting_ || (*debugger_)() % 64 == 0);
  const uint64_t pc = resume ? dut().halted_pc_o : 0;
  dut().debug_i[1] = static_cast<uint32_t>(pc << 1);
  dut().debug_i[2] = static_cast<uint32_t>(pc >> 31) | (resume ? 2 : 0) | (halting_ ? 8 : 0);
}

// Answers are made before the edge and seen after it: memories with a register at their output.
void CpuBench::cycle() {
  dut().interrupt_i = lines_;
  drive_debugger();
  answer_data();
  settle();
  note_retired();
  const bool fetch = dut().inst_read_o != 0;
  const uint32_t address = dut().inst_address_o;
  take_data_request();
  tick();
  if (fetch) {
    dut().inst_error_i = address >= memory_.size();
    dut().inst_data_i = dut().inst_error_i ? 0xdeadbeef : word_at(address);
  }
}

void CpuBench::answer_data() {
  store_ = {};
  dut().data_done_i = has_request_ && request_.wait == 0;
  if (!has_request_) return;
  if (request_.wait-- > 0) return;
  has_request_ = false;
  dut().data_error_i = request_.address >= memory_.size();
  dut().data_rdata_i = 0xdeadbeef;
  if (dut().data_error_i) return;
  if (request_.is_write) {
    for (unsigned i = 0; i < 4; ++i)
      if (request_.strobe >> i & 1) memory_[request_.address + i] = request_.data >> 8 * i;
    store_.is_store = true;
    store_.store_address = request_.address;
    store_.stored_word = word_at(request_.address);
  } else {
    dut().data_rdata_i = word_at(request_.address);
  }
}

void CpuBench::take_data_request() {
  if (!dut().data_valid_o || !dut().rst_ni) return;
  if (has_request_) throw std::runtime_error("a data request before the answer to the last one");
  has_request_ = true;
  request_ = {dut().data_write_o != 0, dut().data_address_o, dut().data_wdata_o,
              static_cast<uint8_t>(dut().data_strobe_o),
              std::uniform_int_distribution<unsigned>(0, max_wait_ - 1)(random_)};
}

void CpuBench::note_retired() {
  std::copy_backward(recent_lines_, recent_lines_ + 7, recent_lines_ + 8);
  recent_lines_[0] = lines_;
  Unpacker fields(dut().retire_o, kRetireBits);
  const bool valid = fields.field(1);
  Retired record = store_;
  record.pc = fields.field(32);
  record.instruction = fields.field(32);
  record.rd = fields.field(5);
  record.value = fields.field(32);
  record.is_exception = fields.field(1);
  record.code = fields.field(5);
  record.in_delay_slot = fields.field(1);
  for (const uint8_t lines : recent_lines_) record.interrupts |= lines;
  if (valid && dut().rst_ni) retired_.push_back(record);
}

std::vector<Retired> CpuBench::run(size_t count) {
  retired_.clear();
  const auto is_done = [&] {
    return retired_.size() >= count &&
           (retired_.back().is_exception || !mips::is_branch(retired_.back().instruction));
  };
  for (int idle = 0; !is_done(); ++idle) {
    if (idle == 1000) throw std::runtime_error("no instruction has ended for 1,000 cycles");
    const size_t before = retired_.size();
    cycle();
    if (retired_.size() != before) idle = 0;
  }
  return std::move(retired_);
}

uint32_t CpuBench::word_at(uint32_t address) const {
  uint32_t word;
  std::memcpy(&word, &memory_.at(address), sizeof word);
  return word;
}

}  // namespace exrnic::testing
