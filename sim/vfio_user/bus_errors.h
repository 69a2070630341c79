// SPDX-License-Identifier: BSD-2-Clause
// Accesses to memory that a client has granted, and may take away: what lies in huge pages can be
// punched out of a file, whatever seals it has, and when no huge page is free then, an access
// raises SIGBUS. It must end the access, and not the simulator.
#pragma once

#include <atomic>
#include <csetjmp>

namespace exrnic::vfio_user {

// From now on survives() works. Bus errors elsewhere go to who had them before.
void catch_bus_errors();

// Where this thread goes on from a bus error; null: nowhere.
extern thread_local sigjmp_buf* bus_error_exit;

// False: access() has met memory that is not there, and has ended there, so it must own nothing.
template <typename Access>
bool survives(Access access) {
  sigjmp_buf exit;
  if (sigsetjmp(exit, /*savemask=*/0) != 0) return false;
  bus_error_exit = &exit;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  access();
  std::atomic_signal_fence(std::memory_order_seq_cst);
  bus_error_exit = nullptr;
  return true;
}

}  // namespace exrnic::vfio_user
