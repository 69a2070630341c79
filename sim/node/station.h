// SPDX-License-Identifier: BSD-2-Clause
// A node as the network sees it: a MAC, on an island of time.
#pragma once

#include "rtl-model/systemc/scheduler.h"
#include "sim/ethernet/mac.h"

namespace exrnic {

class Station {
 public:
  virtual ~Station() = default;
  virtual unsigned id() const = 0;
  virtual Scheduler& scheduler() = 0;
  virtual Mac& mac() = 0;
  // The line is plugged in, or out.
  virtual void set_link(bool up) = 0;
};

// The MAC address of a node as a 48-bit number, first byte most significant.
uint64_t mac_address(unsigned node_id);

}  // namespace exrnic
