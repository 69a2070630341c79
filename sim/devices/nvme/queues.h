// SPDX-License-Identifier: BSD-2-Clause
// The queues of a controller: where they are in the host's memory, and how far each side has come
// (4.1). Queue 0 of each kind is the admin queue.
//
// Doorbells are the host's word and not trusted: one that makes no sense changes nothing.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/devices/nvme/nvme.h"

namespace exrnic::nvme {

struct SubmissionQueue {
  uint64_t address = 0;
  uint32_t entries = 0;
  uint32_t head = 0;
  uint32_t tail = 0;
  unsigned completion_queue = 0;
  std::vector<Command> ahead;  // read already: the next ones, the last of them first

  bool empty() const { return head == tail; }
  uint32_t waiting() const { return (tail + entries - head) % entries; }
  // Of these, what one read can have.
  uint32_t waiting_in_a_row() const { return std::min(waiting(), entries - head); }
  uint64_t next_command() const { return address + (uint64_t{head} << kCommandShift); }
  // `ahead` has it.
  Command take() {
    const Command command = ahead.back();
    ahead.pop_back();
    head = (head + 1) % entries;
    return command;
  }
};

struct CompletionQueue {
  uint64_t address = 0;
  uint32_t entries = 0;
  std::optional<unsigned> vector;  // that it interrupts by
  uint32_t head = 0;
  uint32_t tail = 0;
  bool phase = true;   // of the entries of this pass
  unsigned users = 0;  // submission queues

  bool full() const { return (tail + 1) % entries == head; }
  uint64_t next_completion() const { return address + (uint64_t{tail} << kCompletionShift); }
  void put() {
    tail = (tail + 1) % entries;
    if (tail == 0) phase = !phase;
  }
};

class Queues {
 public:
  void clear();

  // `id` is one that is free: see the following.
  void add_completion(unsigned id, uint64_t address, uint32_t entries,
                      std::optional<unsigned> vector);
  void add_submission(unsigned id, uint64_t address, uint32_t entries, unsigned completion_queue);
  // It exists, and no submission queue uses it.
  void remove_completion(unsigned id) { completion_[id].reset(); }
  // It exists. What was not taken from it is lost.
  void remove_submission(unsigned id);

  // nullptr: there is no such queue, whatever the number.
  SubmissionQueue* submission(unsigned id);
  CompletionQueue* completion(unsigned id);

  // What an event would tell of it; nothing, if all is well.
  std::optional<uint8_t> ring_submission(unsigned id, uint32_t tail);
  std::optional<uint8_t> ring_completion(unsigned id, uint32_t head);

  // The queue whose turn it is: it has a command, and room for its completion. They take turns.
  std::optional<unsigned> next();

 private:
  static constexpr unsigned kQueues = kMaxIoQueues + 1;

  std::array<std::optional<SubmissionQueue>, kQueues> submission_;
  std::array<std::optional<CompletionQueue>, kQueues> completion_;
  unsigned last_ = 0;
};

}  // namespace exrnic::nvme
