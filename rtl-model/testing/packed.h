// SPDX-License-Identifier: BSD-2-Clause
// Packed structs at the ports of a verilated block: built from and taken apart into their fields.
// Fields come in the order of the SystemVerilog declaration, so the first one is in the top bits.
// Bytes of a wide field: byte 0 in its low bits, as in data_t.
#pragma once

#include <verilated.h>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace exrnic::testing {

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

// An element of a packed array.
template <typename Port>
void set_element(Port& port, unsigned index, unsigned width, uint64_t value) {
  for (unsigned i = 0; i < width; ++i) set_bit(port, index * width + i, (value >> i) & 1);
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

}  // namespace exrnic::testing
