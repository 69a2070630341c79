// SPDX-License-Identifier: BSD-2-Clause
// What one client may take of this process for the memory that it grants. Address space, mappings
// and descriptors are for all clients together: none may use up what the others need.
#pragma once

#include <cstddef>
#include <cstdint>

namespace exrnic::vfio_user {

struct MemoryBudget {
  uint64_t mapped_bytes = uint64_t{1} << 40;  // of address space
  size_t mappings = 1024;                     // of files that cannot shrink
  size_t open_files = 256;                    // of others, which are held open instead

  // The share of each of `clients` (0: as of 1): these numbers, or less where the process may not
  // have so much. Half of what it may have is left for everything else.
  static MemoryBudget share_of(size_t clients);
};

}  // namespace exrnic::vfio_user
