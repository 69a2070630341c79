// SPDX-License-Identifier: BSD-2-Clause
// The BAR that shows MSI-X table and pending bits. The table is memory that a client may read and
// write, no more (see msix.h); pending bits are real.
// Threads: none of its own; one calls at a time, see "Several threads" in sim/README.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/pcie/config_space.h"
#include "sim/vfio_user/msix.h"

namespace exrnic::vfio_user {

class MsixBar {
 public:
  // `msix` outlives it.
  MsixBar(const PciDescription::Msix& layout, size_t size, const Msix& msix);

  // Any length within it.
  void read(size_t offset, uint8_t* out, size_t length) const;
  void write(size_t offset, const uint8_t* data, size_t length);

  // All vectors masked, as after a reset of the function.
  void reset();

 private:
  const PciDescription::Msix layout_;
  const Msix& msix_;
  std::vector<uint8_t> bytes_;  // without the pending bits
};

}  // namespace exrnic::vfio_user
