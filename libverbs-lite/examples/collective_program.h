// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXRNIC_EXAMPLES_COLLECTIVE_PROGRAM_H
#define EXRNIC_EXAMPLES_COLLECTIVE_PROGRAM_H

#include <cstdint>
#include <cstdio>

#include "exrnic/messages.h"
#include "verbs_objects.h"

namespace exrnic {

struct CollectiveOptions {
  uint32_t node = 0;     // of this guest, below nodes
  uint32_t nodes = 2;    // 0 to nodes - 1 take part; likewise at each of them, as what follows
  uint32_t rounds = 20;  // barriers, and reductions of each kind
  uint32_t channel = 0;
  bool events = false;   // sleeps until its interrupt, instead of polling
  bool in_guest = true;  // else a process at a simulator
};

constexpr uint32_t kCollectiveNodesMax = VL_MESSAGE_NODES;

// What a reduction makes of two values.
uint64_t Combine(vl_reduction operation, uint64_t a, uint64_t b);

// Meets the other nodes, however late they start, and runs barriers, reductions of every kind, and
// a message from each node to each; compares all results. Writes to `out` one line:
// @exrnic {"nodes":2,"rounds":20,"verified":140,"barrier_guest_us":5.432}
// The median by the guest's clock, which is simulated time with TIME=sync only; of a process
// "barrier_wall_us": wall time, which says how long the simulator took. Throws std::runtime_error.
void RunCollective(const CollectiveOptions& options, const OpenRnicCall& open, FILE* out);

}  // namespace exrnic

#endif  // EXRNIC_EXAMPLES_COLLECTIVE_PROGRAM_H
