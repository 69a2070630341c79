// SPDX-License-Identifier: BSD-2-Clause
#include "sim/devices/nvme/nvme_pci.h"

#include "exrnic_hw.h"
#include "sim/devices/nvme/nvme.h"

namespace exrnic::nvme {
namespace {

constexpr uint16_t kDeviceId = 0xe4c2;      // beside the RNIC's
constexpr uint32_t kClass = 0x010802;       // mass storage, non-volatile memory, NVM Express I/O
constexpr uint64_t kRegisterBytes = 16384;  // of BAR 0: the least that the specification allows
constexpr unsigned kMsixBar = 4;
constexpr uint64_t kMsixBytes = 4096;
constexpr uint32_t kMsixPending = 2048;

}  // namespace

PciDescription pci_description() {
  PciDescription description;
  description.vendor_id = EXRNIC_PCI_VENDOR_ID;
  description.device_id = kDeviceId;
  description.revision = 1;
  description.class_code = kClass;
  description.subsystem_vendor_id = EXRNIC_PCI_SUBSYSTEM_VENDOR_ID;
  description.subsystem_id = 1;
  description.bars = {{0, kRegisterBytes, true, false}, {kMsixBar, kMsixBytes, false, false}};
  description.msix = {kInterruptVectors, kMsixBar, 0, kMsixPending};
  return description;
}

}  // namespace exrnic::nvme
