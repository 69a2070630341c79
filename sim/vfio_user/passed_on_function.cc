// SPDX-License-Identifier: BSD-2-Clause
#include <linux/pci_regs.h>

#include <cstring>

#include "sim/pcie/msi.h"
#include "sim/vfio_user/pci_function.h"

namespace exrnic::vfio_user {

PassedOnFunction::PassedOnFunction(const PciDescription& description, Msix& msix,
                                   DevicePort& device, const Log& log)
    : told_(description), msix_(msix), device_(device), log_(log) {}

std::optional<Fault> PassedOnFunction::check(const RegionAccess& /*access*/) const {
  return std::nullopt;
}

// Another device must not be taken for the one that the client was told of.
bool PassedOnFunction::read(const RegionAccess& access, uint8_t* out) {
  if (other_) std::memset(out, 0xff, access.count);
  return other_;
}

bool PassedOnFunction::write(const RegionWrite& /*write*/) { return other_; }

void PassedOnFunction::interrupts_set_up(const SetIrqsRequest& request) {
  if (other_) return;
  for (uint32_t i = 0; i < request.count; ++i) write_entry(request.start + i);
  write_flags(PCI_MSIX_FLAGS_ENABLE);
}

void PassedOnFunction::interrupts_released() {
  if (!other_ && told_.msix.vectors > 0) write_flags(0);
}

void PassedOnFunction::write_entry(unsigned vector) {
  const uint64_t entry = told_.msix.table_offset + uint64_t{PCI_MSIX_ENTRY_SIZE} * vector;
  const auto write = [&](unsigned field, uint32_t value) {
    device_.mmio_write(told_.msix.bar, entry + field, sizeof value, value);
  };
  write(PCI_MSIX_ENTRY_LOWER_ADDR, static_cast<uint32_t>(kInterruptAddress));
  write(PCI_MSIX_ENTRY_UPPER_ADDR, static_cast<uint32_t>(kInterruptAddress >> 32));
  write(PCI_MSIX_ENTRY_DATA, vector);
  write(PCI_MSIX_ENTRY_VECTOR_CTRL, 0);
}

void PassedOnFunction::write_flags(uint16_t flags) {
  device_.mmio_write(kConfigSpace, told_.msix.capability + PCI_MSIX_FLAGS, sizeof flags, flags);
}

void PassedOnFunction::reset() {
  msix_.reset();
  if (!other_) device_.reset();
}

void PassedOnFunction::describe(const PciDescription& present) {
  const bool was_other = other_;
  other_ = present != told_;
  if (other_ && !was_other) {
    log_("another device is there than the client was told of, which finds none until it leaves");
  }
}

}  // namespace exrnic::vfio_user
