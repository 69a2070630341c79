// SPDX-License-Identifier: BSD-2-Clause
// What a client does to the regions of the device: BARs and configuration space.
#include <linux/vfio.h>

#include <cerrno>

#include "sim/vfio_user/session.h"

namespace exrnic::vfio_user {
namespace {

// The DevicePort's number of a region.
static_assert(VFIO_PCI_BAR0_REGION_INDEX == 0 && VFIO_PCI_CONFIG_REGION_INDEX == kConfigSpace);

// The natural accesses that an access consists of, in ascending order. How many they are.
template <typename Use>
size_t for_each_part(const RegionAccess& access, Use use) {
  const unsigned most = access.region == VFIO_PCI_CONFIG_REGION_INDEX ? 4 : 8;
  size_t parts = 0;
  for (uint32_t at = 0; at < access.count; ++parts) {
    unsigned size = most;
    while ((access.offset + at) % size != 0 || size > access.count - at) size /= 2;
    use(at, size);
    at += size;
  }
  return parts;
}

std::string describe(const char* what, const RegionAccess& access) {
  return std::string(what) + " of region " + std::to_string(access.region) + " offset " +
         hex(access.offset) + " count " + std::to_string(access.count);
}

}  // namespace

uint64_t Session::region_size(uint32_t region) const {
  if (region == VFIO_PCI_CONFIG_REGION_INDEX) return context_.description.config_bytes;
  for (const PciDescription::Bar& bar : context_.description.bars) {
    if (VFIO_PCI_BAR0_REGION_INDEX + bar.index == region) return bar.size;
  }
  return 0;
}

std::optional<Fault> Session::check_region(const char* what, const RegionAccess& access) const {
  const uint64_t size = region_size(access.region);
  if (access.offset > size || access.count > size - access.offset) {
    return refused(EINVAL, describe(what, access) + ": the region has " + std::to_string(size));
  }
  auto fault = function_->check(access);
  if (fault) fault->reason = describe(what, access) + ": " + fault->reason;
  return fault;
}

Session::Outcome Session::handle_region_read(const Message& message) {
  const Parsed<RegionAccess> parsed = decode_region_read(message.payload);
  if (const auto* fault = std::get_if<Fault>(&parsed)) return *fault;
  const RegionAccess& access = std::get<RegionAccess>(parsed);
  if (auto fault = check_region("REGION_READ", access)) return std::move(*fault);
  Bytes data(access.count);
  if (!function_->read(access, data.data())) return read_device(message.header, access);
  return encode_region_access(access, data.data(), data.size());
}

// Until its last part is answered.
struct Session::DeviceRead {
  Header request;
  RegionAccess access;
  Bytes data;
  size_t missing;
};

Session::Outcome Session::read_device(const Header& header, const RegionAccess& access) {
  const auto read =
      std::make_shared<DeviceRead>(DeviceRead{header, access, Bytes(access.count), access.count});
  const auto load = [&](uint32_t at, unsigned size) {
    ++loads_in_flight_;
    context_.device.mmio_read(access.region, access.offset + at, size,
                              [self = weak_from_this(), read, at, size](uint64_t value) {
                                // The client may have left in the meantime.
                                if (const auto session = self.lock())
                                  session->finish_load(*read, at, size, value);
                              });
  };
  extra_accesses_ += for_each_part(access, load) - 1;
  return Later{};
}

void Session::finish_load(DeviceRead& read, uint32_t at, unsigned size, uint64_t value) {
  --loads_in_flight_;
  for (unsigned i = 0; i < size; ++i) read.data[at + i] = static_cast<uint8_t>(value >> (8 * i));
  read.missing -= size;
  if (read.missing > 0) return;
  conclude(read.request, encode_region_access(read.access, read.data.data(), read.data.size()));
}

void Session::write_region(const RegionWrite& write) {
  if (function_->write(write)) return;
  const auto store = [&](uint32_t at, unsigned size) {
    uint64_t value = 0;
    for (unsigned i = 0; i < size; ++i) value |= uint64_t{write.data[at + i]} << (8 * i);
    context_.device.mmio_write(write.access.region, write.access.offset + at, size, value);
  };
  extra_accesses_ += for_each_part(write.access, store) - 1;
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
