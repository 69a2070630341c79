// SPDX-License-Identifier: BSD-2-Clause
// What lines and switches are made with: what a profile says of them.
#pragma once

#include <cstdint>

namespace exrnic {

struct EthernetLinkConfig {
  uint64_t megabits_per_second = 25'000;
  uint32_t latency_ns = 500;
  uint64_t buffer_bytes = 0;  // at the far end, in line bytes; 0: no flow control
  uint32_t head_bytes = 0;    // of a wire frame, when it is delivered; 0: all of it
};

struct SwitchConfig {
  uint32_t latency_ns = 0;
  uint64_t queue_bytes = 0;  // of each output, in line bytes; with flow control without effect
  uint64_t mark_bytes = 0;   // a frame that makes its queue longer is marked; 0: none is
  bool cut_through = false;
  bool flow_control = false;  // the lines have it
};

}  // namespace exrnic
