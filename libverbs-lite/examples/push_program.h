// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXRNIC_EXAMPLES_PUSH_PROGRAM_H
#define EXRNIC_EXAMPLES_PUSH_PROGRAM_H

#include <cstdint>
#include <cstdio>
#include <vector>

#include "oob.h"
#include "verbs_objects.h"

namespace exrnic {

struct PushOptions {
  uint32_t node = 0;            // of this guest: 0 or 1
  std::vector<uint32_t> sizes;  // bytes, each 1 to kPushSizeMax
  uint32_t ops = 0;             // per size and direction; 0: DefaultOps
  uint64_t seed = 0;            // of node 0 counts
};

constexpr uint32_t kPushSizeMax = 64u << 20;

// From 8 B to 1 MiB.
std::vector<uint32_t> DefaultSizes();
// So many that a simulation of them stays within seconds.
uint32_t DefaultOps(uint32_t size);

// PUSHes each size from node 0 to 1 and from 1 to 0. The sender of a direction writes to `out` one
// line for it:
// @exrnic {"from":0,"to":1,"size":8,"ops":200,"verified":200,"latency_us":2.710,
//          "bandwidth_mbps":1234.5,"wall_s":0.12}
// Throws std::runtime_error; the peer then gets to know it.
void RunPush(const PushOptions& options, const OpenRnicCall& open, Oob* oob, FILE* out);

}  // namespace exrnic

#endif  // EXRNIC_EXAMPLES_PUSH_PROGRAM_H
