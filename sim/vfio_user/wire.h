// SPDX-License-Identifier: BSD-2-Clause
// Payloads as they stand in a message: what protocol.h hides from everybody else.
// Source and byte order: see protocol.h.
#pragma once

#include <linux/vfio.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "sim/vfio_user/protocol.h"

namespace exrnic::vfio_user {

// Those that <linux/vfio.h> does not have in this form.
struct VersionWire {
  uint16_t major;
  uint16_t minor;
};
struct DmaMapWire {
  uint32_t argsz;
  uint32_t flags;
  uint64_t offset;
  uint64_t address;
  uint64_t size;
};
struct DmaUnmapWire {
  uint32_t argsz;
  uint32_t flags;
  uint64_t address;
  uint64_t size;
};
struct RegionAccessWire {
  uint64_t offset;
  uint32_t region;
  uint32_t count;
};
struct DmaAccessWire {
  uint64_t address;
  uint64_t count;
};
struct MultiEntryWire {
  RegionAccessWire access;
  uint8_t data[kMaxMultiWriteLength];
};
static_assert(sizeof(VersionWire) == 4 && sizeof(DmaMapWire) == 32 && sizeof(DmaUnmapWire) == 24);
static_assert(sizeof(RegionAccessWire) == 16 && sizeof(MultiEntryWire) == 24);
static_assert(sizeof(DmaAccessWire) == 16);
static_assert(sizeof(vfio_region_info) == 32 && sizeof(vfio_irq_info) == 16);
// Newer kernels append fields to vfio_device_info; vfio-user has the first four.
constexpr size_t kDeviceInfoSize = 16;

// Fields before the data of SET_IRQS; the struct itself ends in a flexible array.
constexpr size_t kSetIrqsSize = sizeof(vfio_irq_set);
static_assert(kSetIrqsSize == 20);

template <typename T>
T load(const uint8_t* bytes) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

template <typename T>
void append(Bytes& out, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
  out.insert(out.end(), bytes, bytes + sizeof(T));
}

}  // namespace exrnic::vfio_user
