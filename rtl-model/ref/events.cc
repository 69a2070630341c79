// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/events.h"

#include <algorithm>
#include <deque>
#include <utility>

namespace exrnic::ref {

// It says what has been taken of what was there, and no more.
void Events::ring(uint32_t eqn, uint32_t consumer, bool arm) {
  EventQueue& eq = state_.eqs.at(eqn);
  const uint32_t told = eq.producer - consumer;
  if (!eq.valid || told > eq.producer - eq.consumer)
    return state_.count(EXRNIC_COUNTER_DOORBELLS_REFUSED);
  eq.consumer = consumer;
  state_.unpark_events();
  if (!arm) return;
  eq.armed = told == 0;
  eq.due |= told != 0;
}

// False: its queue has no room.
bool Events::tell(const Event& event) {
  EventQueue& eq = state_.eqs.at(event.eqn);
  const uint32_t entries = 1u << eq.log_entries;
  if (!eq.valid || eq.producer - eq.consumer == entries) {
    eq.late = true;
    state_.count(EXRNIC_COUNTER_EVENTS_LATE);
    return false;
  }
  exrnic_eqe eqe{};
  eqe.number = event.number;
  eqe.detail = event.type == EXRNIC_EQE_TYPE_LINK ? state_.config.link_up : event.detail;
  eqe.event_type = static_cast<uint8_t>(event.type);
  eqe.object = static_cast<uint8_t>(exrnic_of_eqe_type(event.type).object);
  if (std::exchange(eq.late, false)) eqe.flags = EXRNIC_EQE_FLAGS_LATE;
  eqe.phase = !(eq.producer >> eq.log_entries & 1);  // 1 in the first round, then 0, then 1
  const uint64_t slot = eq.producer % entries;
  dma_write_.write(eq.address + slot * sizeof eqe, reinterpret_cast<const uint8_t*>(&eqe),
                   sizeof eqe);
  ++eq.producer;
  state_.count(EXRNIC_COUNTER_EVENTS);
  eq.due |= std::exchange(eq.armed, false);
  return true;
}

bool Events::idle() const {
  return std::all_of(state_.events.begin(), state_.events.end(),
                     [](const Event& event) { return event.parked; }) &&
         std::none_of(state_.eqs.begin(), state_.eqs.end(),
                      [](const EventQueue& eq) { return eq.due; });
}

// An event that finds no room waits for it; those of other queues go on.
void Events::run() {
  if (state_.quiesce || idle()) return;
  std::deque<Event> left;
  for (Event& event : state_.events) {
    if (event.parked || tell(event)) {
      if (event.parked) left.push_back(event);
      continue;
    }
    event.parked = true;
    left.push_back(event);
  }
  state_.events = std::move(left);
  for (EventQueue& eq : state_.eqs)
    if (std::exchange(eq.due, false)) dma_write_.fire(eq.msix_vector);
}

}  // namespace exrnic::ref
