// SPDX-License-Identifier: BSD-2-Clause
// The configuration space of one PCI Express endpoint function: a type-0 header with BARs, and the
// power management, MSI-X and PCI Express capabilities. Every other byte reads zero and keeps it.
//
// Source: PCI Local Bus 3.0 chapter 6 (header, MSI-X), PCI Express Base 3.1 chapter 7. Offsets and
// bits come from <linux/pci_regs.h>.
// Byte order: little-endian, as the bus has it. Sizes are bytes.
// Threads: none of its own; one calls at a time, see "Several threads" in sim/README.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace exrnic {

// What the function is; it never changes after construction.
struct PciDescription {
  struct Bar {
    unsigned index = 0;  // 0..5; a 64-bit BAR takes the next index too
    uint64_t size = 0;   // a power of two, at least 16
    bool is_64bit = false;
    bool prefetchable = false;
  };
  struct Msix {
    unsigned vectors = 0;  // 1..2048; 0: a device that has its own configuration space has none
    unsigned bar = 0;      // of both the table and the pending bits
    uint32_t table_offset = 0;
    uint32_t pba_offset = 0;
    unsigned capability = 0;  // its place, in the configuration space of a device that has its own
  };

  uint16_t vendor_id = 0;
  uint16_t device_id = 0;
  uint8_t revision = 0;
  uint32_t class_code = 0;  // 24 bits: class, subclass, programming interface
  uint16_t subsystem_vendor_id = 0;
  uint16_t subsystem_id = 0;
  std::vector<Bar> bars;
  Msix msix;
  unsigned max_payload = 256;    // largest MPS that the function can do: 128, 256, ... 4096
  unsigned link_generation = 3;  // 1: 2.5 GT/s, 2: 5, 3: 8, 4: 16, 5: 32
  unsigned link_width = 8;       // lanes
  size_t config_bytes = 4096;    // 256 or 4096
};
bool operator==(const PciDescription& a, const PciDescription& b);
inline bool operator!=(const PciDescription& a, const PciDescription& b) { return !(a == b); }

class PciConfigSpace {
 public:
  static constexpr size_t kSize = 4096;

  // What a write asked the owner of the function to do.
  enum class Effect { kNone, kFunctionReset };

  explicit PciConfigSpace(const PciDescription& description);

  // Both want offset + length <= kSize; the caller checks it (asserted here).
  void read(size_t offset, uint8_t* out, size_t length) const;
  // Writes what is writable. With kFunctionReset the caller resets the whole function, this
  // configuration space by reset() included.
  Effect write(size_t offset, const uint8_t* data, size_t length);

  // Every register back to its value after a reset of the function.
  void reset();

  // In D3hot a function answers nothing but configuration accesses and starts nothing.
  bool memory_enabled() const;
  bool bus_master_enabled() const;
  bool msix_enabled() const;

  uint64_t bar_address(unsigned index) const;
  unsigned max_payload() const;       // MPS that the host set, bytes
  unsigned max_read_request() const;  // MRRS that the host set, bytes

 private:
  void add_header(const PciDescription& description);
  void add_bar(const PciDescription::Bar& bar);
  void add_power_management();
  void add_msix(const PciDescription::Msix& msix);
  void add_express(const PciDescription& description);

  uint32_t get(size_t offset, size_t size) const;
  bool powered() const;
  void keep_legal_encodings(const std::array<uint8_t, kSize>& before);
  // Value after reset, and the bits that a write may change.
  void define(size_t offset, size_t size, uint32_t value, uint32_t writable = 0);

  std::array<uint8_t, kSize> reset_values_{};
  std::array<uint8_t, kSize> write_mask_{};
  std::array<uint8_t, kSize> bytes_{};
  unsigned max_payload_supported_;
};

}  // namespace exrnic
