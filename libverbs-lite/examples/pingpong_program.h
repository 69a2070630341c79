// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXRNIC_EXAMPLES_PINGPONG_PROGRAM_H
#define EXRNIC_EXAMPLES_PINGPONG_PROGRAM_H

#include <cstdint>
#include <cstdio>
#include <vector>

#include "oob.h"
#include "verbs_objects.h"

namespace exrnic {

struct PingpongOptions {
  uint32_t node = 0;            // of this guest: 0 or 1
  std::vector<uint32_t> sizes;  // bytes, each 1 to kPingpongSizeMax; those of both ends must agree
  uint32_t rounds = 100;        // per size; likewise
  uint64_t seed = 0;            // of node 0 counts
  bool events = false;          // this end sleeps until its completion queue fires
};

constexpr uint32_t kPingpongSizeMax = 1u << 20;

// From 8 B to 64 KiB.
std::vector<uint32_t> DefaultPingpongSizes();

// Node 0 SENDs a message, node 1 SENDs the bytes that it received back, and so on; node 0 compares
// every byte and writes to `out` one line for each size:
// @exrnic {"size":8,"rounds":100,"verified":100,"rtt_us":5.432}
// with "events":true if this end sleeps. rtt_us: median of a round trip in simulated time, between
// two receives of node 0 (device time stands still while nothing is in flight). Messages of up to
// VL_MAX_INLINE bytes are sent inline. Throws std::runtime_error; the peer then gets to know it.
void RunPingpong(const PingpongOptions& options, const OpenRnicCall& open, Oob* oob, FILE* out);

}  // namespace exrnic

#endif  // EXRNIC_EXAMPLES_PINGPONG_PROGRAM_H
