// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXRNIC_LIBVERBS_QUEUE_SHAPE_H
#define EXRNIC_LIBVERBS_QUEUE_SHAPE_H

#include <cstdint>

#include "exrnic_data_path.h"

namespace exrnic {

using QueueShape = exrnic_queue_shape;

// How the caller's attributes are called.
struct ShapeNames {
  const char* wrs;
  const char* elements;
  const char* inline_bytes;
};

// As exrnic_shape_grant(), but false with EINVAL, also for elements and inline bytes out of range.
bool GrantShape(QueueShape* shape, uint32_t most_slots, const ShapeNames& names);

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_QUEUE_SHAPE_H
