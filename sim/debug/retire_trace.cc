// SPDX-License-Identifier: BSD-2-Clause
#include "sim/debug/retire_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

namespace exrnic::debug {

void CycleProfile::retire(uint64_t cycle, uint32_t pc) {
  const uint64_t since = cycle - last_;
  if (last_ != 0 && since < kLongest) {
    ++instructions_;
    cycles_ += since;
    by_pc_[pc] += since;
  }
  last_ = cycle;
}

std::map<std::string, uint64_t> CycleProfile::by_function(const FirmwareSymbols& symbols) const {
  std::map<std::string, uint64_t> found;
  for (const auto& [pc, cycles] : by_pc_) found[symbols.function(pc)] += cycles;
  return found;
}

RetireTrace::RetireTrace(const std::string& path, FirmwareSymbols symbols, Testbed& testbed,
                         unsigned node, Log log)
    : path_(path),
      file_(open_output(path)),
      symbols_(std::move(symbols)),
      testbed_(testbed),
      node_(node),
      log_(std::move(log)) {
  if (!file_) throw std::runtime_error(path + ": cannot be written; check path and rights");
  testbed_.node(node_).rnic().observe_retirement(
      [this](const RetiredInstruction& instruction) { retire(instruction); });
}

RetireTrace::~RetireTrace() {
  testbed_.node(node_).rnic().observe_retirement({});
  put(fmt::format("# {} instructions in {} cycles, without those of rest\n",
                  profile_.instructions(), profile_.cycles()));
  const auto found = profile_.by_function(symbols_);
  std::vector<std::pair<std::string, uint64_t>> functions(found.begin(), found.end());
  std::stable_sort(functions.begin(), functions.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  for (const auto& [name, cycles] : functions)
    put(fmt::format("# {:>12} {}\n", cycles, name.empty() ? "?" : name));
  const bool failed = std::ferror(file_.get()) != 0;
  if (std::fclose(file_.release()) != 0 || failed)
    log_(path_ + ": the trace of firmware could not be written to its end");
}

void RetireTrace::retire(const RetiredInstruction& instruction) {
  profile_.retire(testbed_.node(node_).rnic().cycles(), instruction.pc);
  put(fmt::format("{} {:08x} {:08x} {}{}\n", testbed_.node(node_).scheduler().now() / kPsPerNs,
                  instruction.pc, instruction.instruction, symbols_.name(instruction.pc),
                  instruction.exception ? " exception" : ""));
}

}  // namespace exrnic::debug
