// SPDX-License-Identifier: BSD-2-Clause
// Packed structs of exrnic_core_pkg at the ports of a verilated block: built from and taken apart
// into their fields. Fields come in the order of the SystemVerilog declaration, so the first one is
// in the top bits. Bytes of a wide field: byte 0 in its low bits, as in data_t.
#pragma once

#include <verilated.h>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "exrnic_hw.h"

namespace exrnic::testing {

constexpr unsigned log2_of(uint64_t size) {
  unsigned bits = 0;
  while ((uint64_t{1} << bits) < size) ++bits;
  return bits;
}

// Widths of the types in exrnic_core_pkg.
constexpr unsigned kPdBits = log2_of(EXRNIC_MAX_PD);
constexpr unsigned kNodeBits = log2_of(EXRNIC_MAX_NODE);
constexpr unsigned kChunkBits = 13;
constexpr unsigned kTxSlots = 128;
constexpr unsigned kTxAddressBits = log2_of(uint64_t{kTxSlots} * EXRNIC_MTU_MAX);
constexpr unsigned kRxSlots = 128;
constexpr unsigned kRxBytes = kRxSlots * 2 * EXRNIC_MTU_MAX;  // of its address space
constexpr unsigned kRxAddressBits = log2_of(kRxBytes);

// xlate_status_e
enum XlateStatus : uint8_t {
  kXlateOk,
  kXlateStag,
  kXlateStream,
  kXlateAccess,
  kXlateWrap,
  kXlateBounds,
  kXlateMemory
};

// mr_t
struct Region {
  bool valid = false;
  bool invalidated = false;
  uint8_t key = 0;
  uint16_t pd = 0;
  uint8_t access = 0;
  bool huge = false;
  uint64_t base = 0;
  uint64_t length = 0;
  uint64_t pbl_address = 0;
};
constexpr unsigned kRegionBits = 1 + 1 + 8 + kPdBits + 8 + 1 + 3 * 64;

// Storage of a port: an integer up to 64 bits, else an array of 32-bit words.
template <typename Port>
unsigned get_bit(const Port& port, unsigned at) {
  return (port >> at) & 1;
}
template <std::size_t N>
unsigned get_bit(const VlWide<N>& port, unsigned at) {
  return (port.at(at / 32) >> (at % 32)) & 1;
}

template <typename Port>
void set_bit(Port& port, unsigned at, unsigned bit) {
  port = static_cast<Port>((port & ~(Port{1} << at)) | (Port{bit} << at));
}
template <std::size_t N>
void set_bit(VlWide<N>& port, unsigned at, unsigned bit) {
  EData& word = port.at(at / 32);
  word = (word & ~(1u << (at % 32))) | (bit << (at % 32));
}

// Fills a port of `total` bits, field by field from the top.
template <typename Port>
class Packer {
 public:
  Packer(Port& port, unsigned total) : port_(port), at_(total) {}
  ~Packer() { assert(at_ == 0 && "fields do not fill the struct"); }

  Packer& field(uint64_t value, unsigned width) {
    at_ -= width;
    for (unsigned i = 0; i < width; ++i) set_bit(port_, at_ + i, i < 64 ? (value >> i) & 1 : 0);
    return *this;
  }
  Packer& bytes(const std::vector<uint8_t>& value, unsigned width) {
    at_ -= width;
    for (unsigned i = 0; i < width; ++i)
      set_bit(port_, at_ + i, i / 8 < value.size() ? (value[i / 8] >> (i % 8)) & 1 : 0);
    return *this;
  }

 private:
  Port& port_;
  unsigned at_;
};

// Reads a port of `total` bits, field by field from the top.
template <typename Port>
class Unpacker {
 public:
  Unpacker(const Port& port, unsigned total) : port_(port), at_(total) {}
  ~Unpacker() { assert(at_ == 0 && "fields do not fill the struct"); }

  uint64_t field(unsigned width) {
    at_ -= width;
    uint64_t value = 0;
    for (unsigned i = 0; i < width; ++i) value |= uint64_t{get_bit(port_, at_ + i)} << i;
    return value;
  }
  std::vector<uint8_t> bytes(unsigned width) {
    at_ -= width;
    std::vector<uint8_t> value(width / 8);
    for (unsigned i = 0; i < width; ++i) value[i / 8] |= get_bit(port_, at_ + i) << (i % 8);
    return value;
  }

 private:
  const Port& port_;
  unsigned at_;
};

template <typename Port>
void pack_region(Port& port, const Region& region) {
  Packer<Port>(port, kRegionBits)
      .field(region.valid, 1)
      .field(region.invalidated, 1)
      .field(region.key, 8)
      .field(region.pd, kPdBits)
      .field(region.access, 8)
      .field(region.huge, 1)
      .field(region.base, 64)
      .field(region.length, 64)
      .field(region.pbl_address, 64);
}

template <typename Port>
Region unpack_region(const Port& port) {
  Unpacker<Port> fields(port, kRegionBits);
  Region region;
  region.valid = fields.field(1);
  region.invalidated = fields.field(1);
  region.key = static_cast<uint8_t>(fields.field(8));
  region.pd = static_cast<uint16_t>(fields.field(kPdBits));
  region.access = static_cast<uint8_t>(fields.field(8));
  region.huge = fields.field(1);
  region.base = fields.field(64);
  region.length = fields.field(64);
  region.pbl_address = fields.field(64);
  return region;
}

}  // namespace exrnic::testing
