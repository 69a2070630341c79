// SPDX-License-Identifier: BSD-2-Clause
#include "queue_shape.h"

#include <cerrno>

#include "exrnic/verbs.h"
#include "transport/error_text.h"

namespace exrnic {

namespace {

static_assert(VL_MAX_SGE == EXRNIC_MAX_SGE, "the device takes what the library promises");
static_assert(VL_MAX_INLINE == EXRNIC_INLINE_MAX, "the device takes what the library promises");

}  // namespace

bool GrantShape(QueueShape* shape, uint32_t most_slots, const ShapeNames& names) {
  if (!IsWithin(names.elements, shape->elements, 0, EXRNIC_MAX_SGE) ||
      !IsWithin(names.inline_bytes, shape->inline_bytes, 0, EXRNIC_INLINE_MAX)) {
    return false;
  }
  if (exrnic_shape_grant(shape, most_slots)) return true;
  const uint32_t each = exrnic_shape_slots_each(shape);
  Fail(EINVAL,
       "%s is %u, not 1 to %u: a queue has %u slots at most, and with these elements and inline "
       "bytes a work request takes %u",
       names.wrs, shape->wrs, most_slots / each, most_slots, each);
  return false;
}

}  // namespace exrnic
