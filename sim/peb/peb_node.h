// SPDX-License-Identifier: BSD-2-Clause
// Nodes of the testbed that have a PEB: a host with slots in which devices of other nodes appear,
// and a box with a device.
//
// Threads: none of its own; one calls at a time, see "Several threads" in sim/README.md.
#pragma once

#include <memory>
#include <vector>

#include "sim/node/station.h"
#include "sim/pcie/pcie_device.h"
#include "sim/pcie/pcie_link.h"
#include "sim/pcie/store_combiner.h"
#include "sim/peb/device_slot.h"
#include "sim/peb/host_slot.h"
#include "sim/peb/peb_module.h"
#include "sim/profile/profile.h"

namespace exrnic::peb {

// As of a Node.
struct Place {
  unsigned index;
  unsigned id;
  uint64_t guid;
  bool link_up;
};

class PebNode : public Station {
 public:
  unsigned id() const override { return id_; }
  Scheduler& scheduler() override { return scheduler_; }
  Mac& mac() override { return mac_; }
  void set_link(bool up) override { module_.set_link(up); }
  const Mac& mac() const { return mac_; }
  unsigned index() const { return index_; }
  const PebCore& peb() const { return module_.peb(); }

 protected:
  // Must be constructed in the SystemC context that is to run it.
  PebNode(Scheduler& scheduler, const Place& place, const Profile& profile, Side side,
          unsigned ports, const PebFactory& make_peb);

  const unsigned index_;
  const unsigned id_;
  Scheduler& scheduler_;
  PebModule module_;
  Mac mac_;
};

class PebHost final : public PebNode {
 public:
  PebHost(Scheduler& scheduler, const Place& place, const Profile& profile, unsigned slots,
          const PebFactory& make_peb);

  unsigned slots() const { return static_cast<unsigned>(slots_.size()); }
  HostSlot& slot(unsigned number) { return slots_.at(number)->slot; }
  const HostSlot& slot(unsigned number) const { return slots_.at(number)->slot; }
  const PcieLink& pcie(unsigned slot) const { return slots_.at(slot)->link; }

  // The slot as its host sees it.
  DevicePort& device(unsigned slot) { return slots_.at(slot)->link; }
  // `outside`: see PcieLink.
  void connect_host(unsigned slot, HostPort* host,
                    std::unique_ptr<Scheduler::Entrance> outside = nullptr) {
    slots_.at(slot)->link.connect_host(host, std::move(outside));
  }

 private:
  struct Wired {
    Wired(PebModule& module, unsigned port, Scheduler& scheduler, const PcieConfig& config);
    HostSlot slot;
    PcieLink link;
  };
  std::vector<std::unique_ptr<Wired>> slots_;
};

class PebBox final : public PebNode {
 public:
  PebBox(Scheduler& scheduler, const Place& place, const Profile& profile,
         const PcieDeviceFactory& make_device, const PebFactory& make_peb);

  DeviceSlot& slot() { return slot_; }
  const DeviceSlot& slot() const { return slot_; }

 private:
  DeviceSlot slot_;
};

// Joins a slot of a host to the device of a box, which both had nobody, or leave who they had. The
// group of both is the host's node identifier.
void join(PebHost& host, unsigned slot, PebBox& box);

}  // namespace exrnic::peb
