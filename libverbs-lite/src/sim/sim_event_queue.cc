// SPDX-License-Identifier: BSD-2-Clause
#include "sim_event_queue.h"

#include <algorithm>

namespace exrnic {

namespace {

uint32_t LogOf(uint32_t entries) {
  uint32_t log = EXRNIC_RING_LOG_MIN;
  while (log < EXRNIC_EQ_LOG_MAX && (1u << log) < entries) ++log;
  return log;
}

}  // namespace

SimEventQueue::SimEventQueue(SimLink* link, SimMailbox* mailbox, SimArena* arena, uint32_t eqn,
                             uint32_t entries, uint32_t msix_vector)
    : link_(link),
      eqn_(eqn),
      log_entries_(LogOf(entries)),
      pages_(arena, sizeof(exrnic_eqe) << log_entries_) {
  exrnic_mbox_create_eq in = {};
  in.eqn = eqn;
  in.log_entries = log_entries_;
  in.address = pages_.bus();
  in.msix_vector = msix_vector;
  mailbox->Set(EXRNIC_MBOX_OP_CREATE_EQ, in);
}

// The device writes the phase last.
bool SimEventQueue::Take(exrnic_eqe* event) {
  auto* ring = reinterpret_cast<exrnic_eqe*>(pages_.words());
  exrnic_eqe& next = ring[taken_ & ((1u << log_entries_) - 1)];
  const uint8_t phase = !(taken_ >> log_entries_ & 1);
  if (__atomic_load_n(&next.phase, __ATOMIC_ACQUIRE) != phase) return false;
  *event = next;
  ++taken_;
  return true;
}

void SimEventQueue::Arm() {
  link_->Write({{EXRNIC_REG_EQ_ARM + eqn_ * static_cast<uint32_t>(sizeof(uint32_t)), taken_}});
}

}  // namespace exrnic
