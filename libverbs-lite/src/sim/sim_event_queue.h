// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXRNIC_LIBVERBS_SIM_EVENT_QUEUE_H
#define EXRNIC_LIBVERBS_SIM_EVENT_QUEUE_H

#include <cstdint>

#include "exrnic_hw.h"
#include "sim_link.h"
#include "sim_mailbox.h"
#include "sim_memory.h"

namespace exrnic {

// A ring in which the device tells what has happened. Not for several threads. Throws SimError.
class SimEventQueue {
 public:
  // Of at least so many entries; not armed.
  SimEventQueue(SimLink* link, SimMailbox* mailbox, SimArena* arena, uint32_t eqn, uint32_t entries,
                uint32_t msix_vector);

  // The next event; false: there is none.
  bool Take(exrnic_eqe* event);
  // What was taken leaves room; the next event fires the vector, or one that is there at once.
  void Arm();

 private:
  SimLink* const link_;
  const uint32_t eqn_;
  const uint32_t log_entries_;
  SimPages pages_;
  uint32_t taken_ = 0;
};

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_SIM_EVENT_QUEUE_H
