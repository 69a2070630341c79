// SPDX-License-Identifier: BSD-2-Clause
#include "sim/devices/nvme/queues.h"

#include <cassert>

namespace exrnic::nvme {

void Queues::clear() { *this = Queues(); }

void Queues::add_completion(unsigned id, uint64_t address, uint32_t entries,
                            std::optional<unsigned> vector) {
  assert(!completion_[id]);
  completion_[id] = CompletionQueue{address, entries, vector};
}

void Queues::add_submission(unsigned id, uint64_t address, uint32_t entries,
                            unsigned completion_queue) {
  assert(!submission_[id]);
  submission_[id] = SubmissionQueue{address, entries, 0, 0, completion_queue, {}};
  ++completion_[completion_queue]->users;
}

void Queues::remove_submission(unsigned id) {
  --completion_[submission_[id]->completion_queue]->users;
  submission_[id].reset();
}

SubmissionQueue* Queues::submission(unsigned id) {
  return id < kQueues && submission_[id] ? &*submission_[id] : nullptr;
}

CompletionQueue* Queues::completion(unsigned id) {
  return id < kQueues && completion_[id] ? &*completion_[id] : nullptr;
}

std::optional<uint8_t> Queues::ring_submission(unsigned id, uint32_t tail) {
  SubmissionQueue* queue = submission(id);
  if (queue == nullptr) return kEventUnknownDoorbell;
  if (tail >= queue->entries) return kEventWrongDoorbellValue;
  queue->tail = tail;
  // Of a host that takes back what it has told, nothing is kept.
  if (queue->ahead.size() > queue->waiting()) queue->ahead.clear();
  return std::nullopt;
}

std::optional<uint8_t> Queues::ring_completion(unsigned id, uint32_t head) {
  CompletionQueue* queue = completion(id);
  if (queue == nullptr) return kEventUnknownDoorbell;
  if (head >= queue->entries) return kEventWrongDoorbellValue;
  // No further than there are entries that the host has not had.
  const uint32_t there = (queue->tail + queue->entries - queue->head) % queue->entries;
  const uint32_t taken = (head + queue->entries - queue->head) % queue->entries;
  if (taken > there) return kEventWrongDoorbellValue;
  queue->head = head;
  return std::nullopt;
}

std::optional<unsigned> Queues::next() {
  for (unsigned i = 1; i <= kQueues; ++i) {
    const unsigned id = (last_ + i) % kQueues;
    const SubmissionQueue* queue = submission(id);
    if (queue == nullptr || queue->empty()) continue;
    if (completion_[queue->completion_queue]->full()) continue;
    last_ = id;
    return id;
  }
  return std::nullopt;
}

}  // namespace exrnic::nvme
