// SPDX-License-Identifier: BSD-2-Clause
// What a host sets and asks: features (5.21). All have their first values again after a reset; none
// can be saved.
#pragma once

#include <array>
#include <cstdint>

#include "sim/devices/nvme/nvme.h"

namespace exrnic::nvme {

class Features {
 public:
  // The commands "Set Features" and "Get Features". `has_io_queues`: they are too many to change.
  Result set(const Command& command, bool has_io_queues);
  Result get(const Command& command) const;

  // So many I/O queues of each kind the host may create.
  uint32_t io_queues() const { return io_queues_; }
  bool write_cache() const { return (stored_[kWriteCacheAt] & 1) != 0; }

 private:
  static constexpr unsigned kWriteCacheAt = static_cast<unsigned>(Feature::kVolatileWriteCache);
  static constexpr unsigned kFeatures = static_cast<unsigned>(Feature::kEventConfiguration) + 1;
  static constexpr uint16_t kAlmostHot = 343;  // Kelvin

  Result set_io_queues(uint32_t wanted, bool has_io_queues);
  uint32_t granted() const;

  std::array<uint32_t, kFeatures> stored_ = [] {
    std::array<uint32_t, kFeatures> values{};
    values[static_cast<unsigned>(Feature::kArbitration)] = 7;  // bursts without limit
    values[kWriteCacheAt] = 1;
    return values;
  }();
  std::array<uint16_t, 2> temperature_limits_ = {kAlmostHot, 0};  // over, under
  std::array<bool, kInterruptVectors> coalescing_disabled_{};
  uint32_t io_queues_ = kMaxIoQueues;
};

}  // namespace exrnic::nvme
