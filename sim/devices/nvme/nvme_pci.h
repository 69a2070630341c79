// SPDX-License-Identifier: BSD-2-Clause
// The PCI face of the controller.
#pragma once

#include "sim/pcie/config_space.h"

namespace exrnic::nvme {

PciDescription pci_description();

}  // namespace exrnic::nvme
