// SPDX-License-Identifier: BSD-2-Clause
#include "sim/peb/peb_module.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace exrnic::peb {

PebModule::PebModule(const sc_core::sc_module_name& name, Scheduler& scheduler,
                     const CoreConfig& config, Side side, unsigned ports,
                     const PebFactory& make_peb)
    : sc_module(name),
      peb_(make_peb(config, side, ports, *this)),
      clock_(scheduler, config.clock_khz, *this) {}

void PebModule::connect(EthernetPort& ethernet, const std::vector<Slot*>& slots) {
  ethernet_ = &ethernet;
  slots_ = slots;
}

void PebModule::receive(Frame&& frame) {
  between_cycles([&](PebCore& peb) { peb.receive(std::move(frame)); });
}

void PebModule::step(uint64_t time_ns) {
  assert(ethernet_ != nullptr);
  for (Slot* slot : slots_) slot->step(time_ns);
  peb_->step(time_ns);
}

bool PebModule::idle() const {
  return peb_->idle() &&
         std::all_of(slots_.begin(), slots_.end(), [](const Slot* slot) { return slot->idle(); });
}

uint64_t PebModule::wakes_at_ns() const {
  uint64_t wakes = peb_->wakes_at_ns();
  for (const Slot* slot : slots_) wakes = std::min(wakes, slot->wakes_at_ns());
  return wakes;
}

}  // namespace exrnic::peb
