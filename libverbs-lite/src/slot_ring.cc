// SPDX-License-Identifier: BSD-2-Clause
#include "slot_ring.h"

#include <cstring>

#include "barrier.h"
#include "doorbell.h"

namespace exrnic {

SlotRing::SlotRing(uint32_t slots, uint32_t doorbell)
    : slots_(slots), doorbell_(doorbell), memory_(slots * sizeof(exrnic_wqe)) {}

void SlotRing::Write(uint16_t tail, const Wqe& wqe, uint32_t count) {
  const uint8_t* from = reinterpret_cast<const uint8_t*>(&wqe);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t slot = SlotOf(static_cast<uint16_t>(tail + i));
    memcpy(static_cast<exrnic_wqe*>(memory_.data()) + slot, from + i * sizeof(exrnic_wqe),
           sizeof(exrnic_wqe));
  }
}

void SlotRing::RingDoorbell(const UserPage& user_page, uint32_t number) const {
  vl_wmb_wqe_before_doorbell();
  WriteDoorbell(user_page, doorbell_, number, tail_.load(std::memory_order_relaxed));
}

}  // namespace exrnic
