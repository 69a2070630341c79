// SPDX-License-Identifier: BSD-2-Clause
// What is found out of a device that has appeared on a bus: identity, BARs, MSI-X table. And
// addresses for its BARs, until the host gives others.
//
// Nothing that the device says is trusted.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/pcie/config_space.h"

namespace exrnic::peb {

// Base address registers, as their DWs.
using BarRegisters = std::array<uint32_t, 6>;

// Address of a BAR of 32 or 64 bits.
uint64_t bar_address(const BarRegisters& registers, const PciDescription::Bar& bar);

class Discovery {
 public:
  // Accesses to DWs of the configuration space, to be made in order; nothing else is said to the
  // device meanwhile.
  struct Access {
    bool is_write;
    uint16_t place;
    uint32_t value;  // of a write
  };
  static const std::vector<Access>& script();

  // The answer of the next read; nothing if there was none.
  void answer(std::optional<uint32_t> value);
  bool done() const { return answers_.size() + failed_ == reads(); }

  // Nothing if there is no device, or one that cannot be used. config_bytes, max_payload and the
  // like are as the device says.
  std::optional<PciDescription> result() const;

  // Below 4 GiB for those of 32 bits; 0 for what finds no place there.
  static BarRegisters addresses(const PciDescription& description);

 private:
  static size_t reads();
  uint32_t dword(size_t place) const { return answers_.at(place / 4); }
  uint8_t byte(size_t place) const;
  uint16_t word(size_t place) const;
  std::optional<size_t> capability(uint8_t id) const;
  bool find_bars(PciDescription& description) const;
  bool find_msix(PciDescription& description) const;

  std::vector<uint32_t> answers_;
  size_t failed_ = 0;
};

}  // namespace exrnic::peb
