// SPDX-License-Identifier: BSD-2-Clause
// Records between the blocks of the core: from plain structs to the ports of a verilated block, and
// back. Each of exrnic_records.h shows its fields once.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "exrnic_records.h"
#include "rtl-model/testing/packed.h"

namespace exrnic::testing {

using namespace records;  // a test may have others of these names

constexpr unsigned kWireQpnBits = 24;
constexpr unsigned kRxBytes = kRxSlots * kRxSlotSpace;  // of the receive buffer's address space

constexpr unsigned log2_of(uint64_t size) {
  unsigned bits = 0;
  while ((uint64_t{1} << bits) < size) ++bits;
  return bits;
}

struct WidthCounter {
  unsigned bits = 0;
  template <typename Field>
  void operator()(Field&, unsigned width) {
    bits += width;
  }
  template <std::size_t N>
  void wire(std::array<uint8_t, N>&) {
    bits += 8 * N;
  }
  template <std::size_t N>
  void memory(std::array<uint8_t, N>&) {
    bits += 8 * N;
  }
};

template <typename Record>
unsigned width_of() {
  Record record;
  WidthCounter counter;
  record.fields(counter);
  return counter.bits;
}

template <typename Port>
struct PackVisitor {
  Packer<Port>& packer;
  template <typename Field>
  void operator()(Field& value, unsigned width) {
    packer.field(value, width);
  }
  template <std::size_t N>
  void wire(std::array<uint8_t, N>& bytes) {
    for (const uint8_t byte : bytes) packer.field(byte, 8);
  }
  template <std::size_t N>
  void memory(std::array<uint8_t, N>& bytes) {
    packer.bytes({bytes.begin(), bytes.end()}, 8 * N);
  }
};

template <typename Port>
struct UnpackVisitor {
  Unpacker<Port>& unpacker;
  template <typename Field>
  void operator()(Field& value, unsigned width) {
    value = static_cast<Field>(unpacker.field(width));
  }
  template <std::size_t N>
  void wire(std::array<uint8_t, N>& bytes) {
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(unpacker.field(8));
  }
  template <std::size_t N>
  void memory(std::array<uint8_t, N>& bytes) {
    const std::vector<uint8_t> value = unpacker.bytes(8 * N);
    std::copy(value.begin(), value.end(), bytes.begin());
  }
};

template <typename Port, typename Record>
void pack(Port& port, Record record) {
  Packer<Port> packer(port, width_of<Record>());
  PackVisitor<Port> visitor{packer};
  record.fields(visitor);
}

template <typename Record, typename Port>
Record unpack(const Port& port) {
  Record record;
  Unpacker<Port> unpacker(port, width_of<Record>());
  UnpackVisitor<Port> visitor{unpacker};
  record.fields(visitor);
  return record;
}

}  // namespace exrnic::testing
