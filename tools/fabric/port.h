// SPDX-License-Identifier: BSD-2-Clause
// The way from a fabric manager to the fabric: whoever has a node's registers implements it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "exrnic_hw.h"

namespace exrnic::fabric {

// A management frame without FCS, its bytes in the order of the line; numbers in it are big-endian.
using Frame = std::array<uint8_t, EXRNIC_MANAGEMENT_FRAME_BYTES>;

// Neither call blocks. One manager calls, from one thread.
class ManagementPort {
 public:
  virtual ~ManagementPort() = default;

  // Takes a frame to send; false: the one before has not left, try again later.
  virtual bool send(const Frame& frame) = 0;

  // The frame that waits longest, which is gone then; or none.
  virtual std::optional<Frame> receive() = 0;
};

}  // namespace exrnic::fabric
