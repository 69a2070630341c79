// SPDX-License-Identifier: BSD-2-Clause
// What a PCIe link is made with: what a profile says of it.
#pragma once

#include <cstdint>

namespace exrnic {

struct PcieConfig {
  uint32_t bytes_per_us = 7877;  // after line coding, before TLP overhead
  uint32_t latency_ns = 120;     // propagation, one way, end of TLP to end of TLP
  uint32_t max_payload = 256;    // MPS, bytes
  uint32_t max_read = 512;       // MRRS, bytes
  uint32_t host_load_ns = 0;     // what a CPU load takes beside the link and the device
  uint32_t host_memory_ns = 0;   // from a read's arrival to its first completion
};

}  // namespace exrnic
