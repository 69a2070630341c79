// SPDX-License-Identifier: BSD-2-Clause
// One node of the testbed: an RNIC with its PCIe link and its Ethernet MAC, wired. The host comes
// later, through connect_host().
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "rtl-model/systemc/rnic_module.h"
#include "rtl-model/systemc/scheduler.h"
#include "sim/node/station.h"
#include "sim/pcie/pcie_link.h"
#include "sim/pcie/store_combiner.h"
#include "sim/profile/profile.h"
#include "sim/trace/observer.h"
#include "sim/trace/traced_host.h"

namespace exrnic {

class Node final : public Station {
 public:
  // Must be constructed in the SystemC context that is to run it. `link_up`: the MAC will be joined
  // to a line before the first event. `index`: its place among the nodes; `id`: its identifier, or
  // NODE_NONE. `guid`: names it to a fabric's manager.
  // `observer`: of all that passes between its parts; may be nullptr.
  Node(Scheduler& scheduler, unsigned index, unsigned id, uint64_t guid, bool link_up,
       const Profile& profile, const CoreFactory& make_core, trace::Observer* observer);

  // `outside`: whose entrance PcieLink::connect_host() takes.
  void connect_host(HostPort* host, Scheduler* outside = nullptr);

  unsigned id() const override { return id_; }
  Scheduler& scheduler() override { return scheduler_; }
  Mac& mac() override { return mac_; }
  void set_link(bool up) override { rnic_.set_link(up); }

  DevicePort& device() { return device_; }
  // The same by way of a CPU's write-combining buffer.
  DevicePort& combined_device() { return combiner_; }
  RnicModule& rnic() { return rnic_; }
  PcieLink& pcie() { return pcie_; }
  const RnicModule& rnic() const { return rnic_; }
  const PcieLink& pcie() const { return pcie_; }
  const Mac& mac() const { return mac_; }

 private:
  const unsigned index_;
  const unsigned id_;
  Scheduler& scheduler_;
  RnicModule rnic_;
  PcieLink pcie_;
  Mac mac_;
  trace::Observer* const observer_;
  trace::HostClocks clocks_;
  std::unique_ptr<trace::TracedHost> traced_host_;
  std::unique_ptr<trace::TracedDevice> traced_device_;
  DevicePort& device_;  // the link, or what traces it
  StoreCombiner combiner_;
};

}  // namespace exrnic
