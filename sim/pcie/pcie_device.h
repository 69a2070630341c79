// SPDX-License-Identifier: BSD-2-Clause
// A device that has its own configuration space, at the far end of its PCIe link.
//
// Threads: none of its own; one calls at a time, see "Several threads" in sim/README.md.
#pragma once

#include <functional>
#include <memory>

#include "rtl-model/systemc/rnic_ports.h"
#include "rtl-model/systemc/scheduler.h"
#include "sim/pcie/config_space.h"

namespace exrnic {

// Accesses to its configuration space are those of kConfigSpace, whole DWs or parts of one.
class PcieDevice : public PcieEndpoint {
 public:
  // Its BARs and its MSI-X table; whoever joins it to a bus counts on no more.
  virtual const PciDescription& description() const = 0;
  // Plugs in the way to its host; before the first access.
  virtual void connect(PciePort& pcie) = 0;
};

using PcieDeviceFactory = std::function<std::unique_ptr<PcieDevice>(Scheduler&)>;

}  // namespace exrnic
