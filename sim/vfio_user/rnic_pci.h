// SPDX-License-Identifier: BSD-2-Clause
// The PCI face of the RNIC, from the generated header.
#pragma once

#include "sim/pcie/config_space.h"

namespace exrnic {

// What a board decides about the link.
struct RnicLink {
  unsigned max_payload = 256;  // bytes
  unsigned generation = 3;
  unsigned width = 8;
};

PciDescription rnic_pci_description(const RnicLink& link);

}  // namespace exrnic
