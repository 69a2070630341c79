// SPDX-License-Identifier: BSD-2-Clause
// exrnic-demo: the verbs in a few lines of output. Two processes connect a queue pair; node 0
// PUSHes into the memory of node 1, PULLs from it, and plays ping-pong with it.
#ifndef EXRNIC_EXAMPLES_DEMO_PROGRAM_H
#define EXRNIC_EXAMPLES_DEMO_PROGRAM_H

#include <cstdint>
#include <cstdio>
#include <vector>

#include "oob.h"
#include "verbs_objects.h"

namespace exrnic {

struct DemoOptions {
  std::vector<uint32_t> sizes = {8, 4096, 64u << 10};  // bytes of a PUSH and a PULL
  uint32_t times = 4;                                  // each
  uint32_t rounds = 64;                                // of ping-pong, with 8 bytes
};

// Both ends run it, with the same options; node 0 prints a line of JSON for each operation and size
// to `out`. Throws std::exception, also when a byte is not what it should be.
void RunDemo(const DemoOptions& options, const OpenRnicCall& open, Oob* oob, FILE* out);

}  // namespace exrnic

#endif  // EXRNIC_EXAMPLES_DEMO_PROGRAM_H
