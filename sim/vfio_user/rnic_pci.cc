// SPDX-License-Identifier: BSD-2-Clause
#include "sim/vfio_user/rnic_pci.h"

namespace exrnic {

PciDescription rnic_pci_description(const RnicBoard& board) {
  PciDescription description;
  description.vendor_id = EXRNIC_PCI_VENDOR_ID;
  description.device_id = EXRNIC_PCI_DEVICE_ID;
  description.revision = EXRNIC_PCI_REVISION;
  description.class_code = EXRNIC_PCI_CLASS;
  description.subsystem_vendor_id = EXRNIC_PCI_SUBSYSTEM_VENDOR_ID;
  description.subsystem_id = EXRNIC_PCI_SUBSYSTEM_ID;
  // A store to a user page is a command, and a load must reach the device. Behind a window is
  // memory.
  description.bars = {
      {EXRNIC_BAR_REGISTERS, EXRNIC_BAR0_SIZE, false, false},
      {EXRNIC_BAR_MSIX, EXRNIC_BAR1_SIZE, false, false},
      {EXRNIC_BAR_USER, EXRNIC_BAR2_SIZE, true, false},
      {EXRNIC_BAR_WINDOW, uint64_t{EXRNIC_MAX_WINDOWS} << board.window_shift, true, true}};
  description.msix = {EXRNIC_MSIX_VECTORS, EXRNIC_BAR_MSIX, EXRNIC_MSIX_TABLE_OFFSET,
                      EXRNIC_MSIX_PBA_OFFSET};
  description.max_payload = board.max_payload;
  description.link_generation = board.generation;
  description.link_width = board.width;
  return description;
}

}  // namespace exrnic
