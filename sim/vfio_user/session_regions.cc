// SPDX-License-Identifier: BSD-2-Clause
// What a client does to the regions of the device: BARs and configuration space.
#include <linux/vfio.h>

#include <cerrno>

#include "sim/vfio_user/session.h"

namespace exrnic::vfio_user {
namespace {

bool is_register_access(const RegionAccess& access) {
  const uint32_t n = access.count;
  return (n == 1 || n == 2 || n == 4 || n == 8) && access.offset % n == 0;
}

std::string describe(const char* what, const RegionAccess& access) {
  return std::string(what) + " of region " + std::to_string(access.region) + " offset " +
         hex(access.offset) + " count " + std::to_string(access.count);
}

}  // namespace

uint64_t Session::region_size(uint32_t region) const {
  if (region == VFIO_PCI_CONFIG_REGION_INDEX) return PciConfigSpace::kSize;
  for (const PciDescription::Bar& bar : context_.description.bars) {
    if (VFIO_PCI_BAR0_REGION_INDEX + bar.index == region) return bar.size;
  }
  return 0;
}

// A register access that is not one of the CPU's natural ones has no meaning on the device's bus;
// it is refused and not split, since splitting would invent an order for its parts.
std::optional<Fault> Session::check_region(const char* what, const RegionAccess& access) const {
  const uint64_t size = region_size(access.region);
  if (access.offset > size || access.count > size - access.offset) {
    return refused(EINVAL, describe(what, access) + ": the region has " + std::to_string(size));
  }
  if (access.region == VFIO_PCI_CONFIG_REGION_INDEX) return std::nullopt;
  if (!context_.config.memory_enabled()) {
    return refused(EIO, describe(what, access) + ": memory accesses are disabled");
  }
  if (access.region == context_.description.msix.bar || is_register_access(access)) {
    return std::nullopt;
  }
  return refused(EINVAL, describe(what, access) + ": not 1, 2, 4 or 8 bytes, aligned");
}

Session::Outcome Session::handle_region_read(const Message& message) {
  const Parsed<RegionAccess> parsed = decode_region_read(message.payload);
  if (const auto* fault = std::get_if<Fault>(&parsed)) return *fault;
  const RegionAccess& access = std::get<RegionAccess>(parsed);
  if (auto fault = check_region("REGION_READ", access)) return std::move(*fault);

  const bool is_config = access.region == VFIO_PCI_CONFIG_REGION_INDEX;
  if (!is_config && access.region != context_.description.msix.bar) {
    return read_device(message.header, access);
  }
  Bytes data(access.count);
  if (is_config) {
    context_.config.read(access.offset, data.data(), data.size());
  } else {
    msix_.read_bar(access.offset, data.data(), data.size());
  }
  return encode_region_access(access, data.data(), data.size());
}

Session::Outcome Session::read_device(const Header& header, const RegionAccess& access) {
  ++reads_in_flight_;
  context_.device.mmio_read(access.region, access.offset, access.count,
                            [self = weak_from_this(), header, access](uint64_t value) {
                              // The client may have left in the meantime.
                              if (const auto session = self.lock()) {
                                session->finish_read(header, access, value);
                              }
                            });
  return Later{};
}

void Session::finish_read(const Header& header, const RegionAccess& access, uint64_t value) {
  --reads_in_flight_;
  uint8_t data[sizeof(value)];
  for (size_t i = 0; i < sizeof(data); ++i) data[i] = static_cast<uint8_t>(value >> (8 * i));
  conclude(header, encode_region_access(access, data, access.count));
}

void Session::write_region(const RegionWrite& write) {
  const RegionAccess& access = write.access;
  if (access.region == VFIO_PCI_CONFIG_REGION_INDEX) {
    const auto effect = context_.config.write(access.offset, write.data, access.count);
    if (effect == PciConfigSpace::Effect::kFunctionReset) reset_function();
  } else if (access.region == context_.description.msix.bar) {
    msix_.write_bar(access.offset, write.data, access.count);
  } else {
    uint64_t value = 0;
    for (size_t i = 0; i < access.count; ++i) value |= uint64_t{write.data[i]} << (8 * i);
    context_.device.mmio_write(access.region, access.offset, access.count, value);
  }
}

Session::Outcome Session::handle_region_write(const Message& message) {
  const Parsed<RegionWrite> parsed = decode_region_write(message.payload);
  if (const auto* fault = std::get_if<Fault>(&parsed)) return *fault;
  const RegionWrite& write = std::get<RegionWrite>(parsed);
  if (auto fault = check_region("REGION_WRITE", write.access)) return std::move(*fault);
  write_region(write);
  return encode_region_access(write.access, nullptr, 0);
}

// One write that is not possible refuses its whole message. Each is checked again in its turn,
// because one before it may have disabled memory accesses.
Session::Outcome Session::handle_region_write_multi(const Message& message) {
  const auto parsed = decode_region_write_multi(message.payload);
  if (const auto* fault = std::get_if<Fault>(&parsed)) return *fault;
  const auto& writes = std::get<std::vector<RegionWrite>>(parsed);
  for (const RegionWrite& write : writes) {
    if (auto fault = check_region("REGION_WRITE_MULTI", write.access)) return std::move(*fault);
  }
  uint64_t written = 0;
  for (const RegionWrite& write : writes) {
    if (check_region("REGION_WRITE_MULTI", write.access)) break;
    write_region(write);
    ++written;
  }
  return encode_write_count(written);
}

}  // namespace exrnic::vfio_user
