// SPDX-License-Identifier: BSD-2-Clause
// The PCI face of the RNIC, from the generated header.
#pragma once

#include "exrnic_hw.h"
#include "sim/pcie/config_space.h"

namespace exrnic {

// What a board decides.
struct RnicBoard {
  unsigned max_payload = 256;  // bytes
  unsigned generation = 3;
  unsigned width = 8;
  unsigned window_shift = EXRNIC_WINDOW_SHIFT_MIN;  // log2 of WINDOW_SIZE: of BAR 4 by MAX_WINDOWS
};

PciDescription rnic_pci_description(const RnicBoard& board);

}  // namespace exrnic
