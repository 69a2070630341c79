// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXRNIC_LIBVERBS_DOORBELL_H
#define EXRNIC_LIBVERBS_DOORBELL_H

#include <cstdint>
#include <cstring>

#include "barrier.h"
#include "exrnic_hw.h"
#include "transport/user_page.h"

namespace exrnic {

// One store of 8 bytes into a user page, at EXRNIC_DOORBELL_*. Two of 4 would be two doorbells,
// both malformed. Call the ordering point of barrier.h that fits before it. It has left the
// processor when this returns.
inline void WriteDoorbell(const UserPage& user_page, uint32_t offset, uint32_t number,
                          uint32_t index) {
  const exrnic_doorbell doorbell = {number, index};
  uint64_t value;
  static_assert(sizeof(value) == sizeof(doorbell), "one store");
  memcpy(&value, &doorbell, sizeof(value));
  user_page.Store(offset, &value, 1);
  vl_wmb_flush_user_page();
}

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_DOORBELL_H
