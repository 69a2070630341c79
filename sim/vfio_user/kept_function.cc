// SPDX-License-Identifier: BSD-2-Clause
#include <linux/vfio.h>

#include <cerrno>

#include "sim/vfio_user/pci_function.h"

namespace exrnic::vfio_user {
namespace {

bool is_register_access(const RegionAccess& access) {
  const uint32_t n = access.count;
  return (n == 1 || n == 2 || n == 4 || n == 8) && access.offset % n == 0;
}

size_t bar_size(const PciDescription& description, unsigned index) {
  for (const PciDescription::Bar& bar : description.bars) {
    if (bar.index == index) return bar.size;
  }
  return 0;  // MsixBar asserts that its table fits
}

}  // namespace

KeptFunction::KeptFunction(const PciDescription& description, PciConfigSpace& config, Msix& msix,
                           DevicePort& device)
    : config_(config),
      msix_(msix),
      device_(device),
      msix_region_(VFIO_PCI_BAR0_REGION_INDEX + description.msix.bar),
      msix_bar_(description.msix, bar_size(description, description.msix.bar), msix) {}

// A register access that is not one of the CPU's natural ones has no meaning on the device's bus;
// it is refused and not split, since splitting would invent an order for its parts.
std::optional<Fault> KeptFunction::check(const RegionAccess& access) const {
  if (access.region == VFIO_PCI_CONFIG_REGION_INDEX) return std::nullopt;
  if (!config_.memory_enabled()) return refused(EIO, "memory accesses are disabled");
  if (access.region == msix_region_ || is_register_access(access)) return std::nullopt;
  return refused(EINVAL, "not 1, 2, 4 or 8 bytes, aligned");
}

bool KeptFunction::read(const RegionAccess& access, uint8_t* out) {
  if (access.region == VFIO_PCI_CONFIG_REGION_INDEX) {
    config_.read(access.offset, out, access.count);
    return true;
  }
  if (access.region != msix_region_) return false;
  msix_bar_.read(access.offset, out, access.count);
  return true;
}

bool KeptFunction::write(const RegionWrite& write) {
  const RegionAccess& access = write.access;
  if (access.region == VFIO_PCI_CONFIG_REGION_INDEX) {
    const auto effect = config_.write(access.offset, write.data, access.count);
    if (effect == PciConfigSpace::Effect::kFunctionReset) reset();
    return true;
  }
  if (access.region != msix_region_) return false;
  msix_bar_.write(access.offset, write.data, access.count);
  return true;
}

void KeptFunction::reset() {
  config_.reset();
  msix_.reset();
  msix_bar_.reset();
  device_.reset();
}

}  // namespace exrnic::vfio_user
