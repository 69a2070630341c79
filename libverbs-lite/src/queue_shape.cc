// SPDX-License-Identifier: BSD-2-Clause
#include "queue_shape.h"

#include <algorithm>

#include "exrnic/verbs.h"
#include "ring_memory.h"
#include "wqe.h"

namespace exrnic {

namespace {

static_assert(VL_MAX_SGE == EXRNIC_MAX_SGE, "the device takes what the library promises");
static_assert(VL_MAX_INLINE == EXRNIC_INLINE_MAX, "the device takes what the library promises");

constexpr uint32_t kSlotsMin = 1u << EXRNIC_RING_LOG_MIN;
constexpr uint32_t kElementBytes = sizeof(exrnic_sge);

}  // namespace

bool GrantShape(QueueShape* shape, uint32_t most_slots) {
  if (shape->wrs == 0 || shape->elements > EXRNIC_MAX_SGE ||
      shape->inline_bytes > EXRNIC_INLINE_MAX) {
    return false;
  }
  const uint32_t each =
      std::max(SlotsForElements(shape->elements), SlotsForBytes(shape->inline_bytes));
  if (shape->wrs > most_slots / each) return false;
  shape->slots = RingSize(shape->wrs * each, kSlotsMin);
  shape->wrs = shape->slots / each;
  shape->elements = std::min<uint32_t>(EXRNIC_MAX_SGE, PayloadRoom(each) / kElementBytes);
  shape->inline_bytes = std::min<uint32_t>(EXRNIC_INLINE_MAX, PayloadRoom(each));
  return true;
}

}  // namespace exrnic
