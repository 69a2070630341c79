// SPDX-License-Identifier: BSD-2-Clause
#include "queue_shape.h"

#include <algorithm>
#include <cerrno>

#include "exrnic/verbs.h"
#include "exrnic_data_path.h"
#include "ring_memory.h"
#include "transport/error_text.h"

namespace exrnic {

namespace {

static_assert(VL_MAX_SGE == EXRNIC_MAX_SGE, "the device takes what the library promises");
static_assert(VL_MAX_INLINE == EXRNIC_INLINE_MAX, "the device takes what the library promises");

constexpr uint32_t kSlotsMin = 1u << EXRNIC_RING_LOG_MIN;
constexpr uint32_t kElementBytes = sizeof(exrnic_sge);

}  // namespace

bool GrantShape(QueueShape* shape, uint32_t most_slots, const ShapeNames& names) {
  if (!IsWithin(names.elements, shape->elements, 0, EXRNIC_MAX_SGE) ||
      !IsWithin(names.inline_bytes, shape->inline_bytes, 0, EXRNIC_INLINE_MAX)) {
    return false;
  }
  const uint32_t each = std::max(exrnic_slots_for_elements(shape->elements),
                                 exrnic_slots_for_bytes(shape->inline_bytes));
  if (shape->wrs == 0 || shape->wrs > most_slots / each) {
    Fail(EINVAL,
         "%s is %u, not 1 to %u: a queue has %u slots at most, and with these elements and inline "
         "bytes a work request takes %u",
         names.wrs, shape->wrs, most_slots / each, most_slots, each);
    return false;
  }
  shape->slots = RingSize(shape->wrs * each, kSlotsMin);
  shape->wrs = shape->slots / each;
  shape->elements = std::min<uint32_t>(EXRNIC_MAX_SGE, EXRNIC_WORK_ROOM(each) / kElementBytes);
  shape->inline_bytes = std::min<uint32_t>(EXRNIC_INLINE_MAX, EXRNIC_WORK_ROOM(each));
  return true;
}

uint32_t CqRingFor(uint32_t wanted) {
  const uint32_t ring = RingSize(wanted, kSlotsMin);
  return exrnic_cq_capacity(ring) < wanted ? ring * 2 : ring;
}

}  // namespace exrnic
