// SPDX-License-Identifier: BSD-2-Clause
#include "sim/debug/firmware_symbols.h"

#include <fmt/format.h>

#include <sstream>
#include <stdexcept>

#include "sim/files/data_file.h"

namespace exrnic::debug {

FirmwareSymbols::FirmwareSymbols(std::istream& lines) {
  std::string line;
  for (unsigned number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line);
    uint64_t address = 0;  // of MIPS: 32 bits, with their sign
    char type = 0;
    std::string name;
    if (!(words >> std::hex >> address >> type >> name))
      throw std::runtime_error(
          fmt::format("line {} is no 'ADDRESS TYPE NAME', as nm writes them", number));
    if (type == 'T' || type == 't') names_[static_cast<uint32_t>(address)] = name;
  }
  if (names_.empty()) throw std::runtime_error("it names no function");
}

FirmwareSymbols FirmwareSymbols::of_file(const std::string& path) {
  std::istringstream lines(read_data_file(path, path, "check the path"));
  try {
    return FirmwareSymbols(lines);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(path + ": " + error.what());
  }
}

std::string FirmwareSymbols::function(uint32_t pc) const {
  const auto behind = names_.upper_bound(pc);
  return behind == names_.begin() ? std::string() : std::prev(behind)->second;
}

std::string FirmwareSymbols::name(uint32_t pc) const {
  const auto behind = names_.upper_bound(pc);
  if (behind == names_.begin()) return fmt::format("{:#010x}", pc);
  return fmt::format("{}+{:#x}", std::prev(behind)->second, pc - std::prev(behind)->first);
}

}  // namespace exrnic::debug
