// SPDX-License-Identifier: BSD-2-Clause
// Doorbells and PIO blocks: stores of processes into their user pages. What a page does not own, it
// cannot ring.
#pragma once

#include "rtl-model/ref/completer.h"
#include "rtl-model/ref/state.h"

namespace exrnic::ref {

class UserPage {
 public:
  UserPage(State& state, Completer& completer) : state_(state), completer_(completer) {}

  void store(const MmioAccess& access);

 private:
  void store_pio(const MmioAccess& access);
  bool post_block(uint32_t page, const exrnic_wqe& block);
  bool ring_queue_pair(const exrnic_doorbell& bell, uint32_t page, bool receive);
  bool ring_shared(const exrnic_doorbell& bell, uint32_t page);

  State& state_;
  Completer& completer_;
};

}  // namespace exrnic::ref
