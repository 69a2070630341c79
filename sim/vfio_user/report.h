// SPDX-License-Identifier: BSD-2-Clause
// What a server tells of itself: lines for a log, and numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace exrnic::vfio_user {

using Log = std::function<void(const std::string& line)>;

// What went wrong without anybody having been told, or is worth a line in a summary.
struct Counters {
  uint64_t clients = 0;                 // that were accepted
  uint64_t clients_refused = 0;         // because there was one already, or no device
  uint64_t connections_malformed = 0;   // closed because of what the client sent
  uint64_t requests_refused = 0;        // answered with an errno
  uint64_t posted_writes_refused = 0;   // likewise, but nobody waited for the answer
  uint64_t dma_refused_bus_master = 0;  // no client, or it has not enabled bus mastering
  uint64_t dma_refused_address = 0;     // memory that is not granted
  uint64_t interrupts_dropped = 0;      // no eventfd, no client, or no bus mastering
};

}  // namespace exrnic::vfio_user
