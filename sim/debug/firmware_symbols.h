// SPDX-License-Identifier: BSD-2-Clause
// Names of addresses in firmware, as `nm` lists them (build/host/firmware/firmware.symbols).
#pragma once

#include <cstdint>
#include <istream>
#include <map>
#include <string>

namespace exrnic::debug {

class FirmwareSymbols {
 public:
  FirmwareSymbols() = default;  // none: addresses stay numbers
  // Lines "ADDRESS TYPE NAME", hexadecimal; those that are not of code are passed over. Throws
  // std::runtime_error, which names the first line that is none, or says that there is no code.
  explicit FirmwareSymbols(std::istream& lines);
  // Throws also when the file cannot be read. Both name it.
  static FirmwareSymbols of_file(const std::string& path);

  // The function that holds `pc`; empty if none does.
  std::string function(uint32_t pc) const;
  // "function+0x10", or "0x80001234".
  std::string name(uint32_t pc) const;

 private:
  std::map<uint32_t, std::string> names_;  // by first address
};

}  // namespace exrnic::debug
