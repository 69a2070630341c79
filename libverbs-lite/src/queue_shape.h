// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXRNIC_LIBVERBS_QUEUE_SHAPE_H
#define EXRNIC_LIBVERBS_QUEUE_SHAPE_H

#include <cstdint>

namespace exrnic {

// What a queue of work requests is asked for, and then grants: no less, and all that its slots have
// room for.
struct QueueShape {
  uint32_t wrs;
  uint32_t elements;
  uint32_t inline_bytes;
  uint32_t slots = 0;  // of its ring; a power of two
};

// How the caller's attributes are called.
struct ShapeNames {
  const char* wrs;
  const char* elements;
  const char* inline_bytes;
};

// Rounds up to whole slots and a ring of the device. False with EINVAL: out of range, or more slots
// than `most_slots`.
bool GrantShape(QueueShape* shape, uint32_t most_slots, const ShapeNames& names);

// ---- Completion queues

// The size of the ring for so many completions.
uint32_t CqRingFor(uint32_t wanted);

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_QUEUE_SHAPE_H
