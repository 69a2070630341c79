// SPDX-License-Identifier: BSD-2-Clause
#include "sim/peb/peb_node.h"

#include <fmt/format.h>

#include <algorithm>

namespace exrnic::peb {
namespace {

CoreConfig config_of(const Place& place, const Profile& profile) {
  CoreConfig config;
  config.node_id = static_cast<uint16_t>(place.id);
  config.guid = place.guid;
  config.link_up = place.link_up;
  config.max_payload = static_cast<uint16_t>(std::clamp<uint32_t>(
      profile.pcie.max_payload, EXRNIC_PEB_PAYLOAD_MIN, EXRNIC_PEB_PAYLOAD_MAX));
  config.max_read = static_cast<uint16_t>(profile.pcie.max_read);
  config.data_bits = profile.data_bits;
  config.clock_khz = profile.clock_khz;
  return config;
}

// Nobody there loads a register or has memory: the host's side takes the time of both.
PcieConfig bus_of_box(PcieConfig config) {
  config.host_load_ns = 0;
  config.host_memory_ns = 0;
  return config;
}

}  // namespace

PebNode::PebNode(Scheduler& scheduler, const Place& place, const Profile& profile, Side side,
                 unsigned ports, const PebFactory& make_peb)
    : index_(place.index),
      id_(place.id),
      scheduler_(scheduler),
      module_(fmt::format("peb{}", index_).c_str(), scheduler, config_of(place, profile), side,
              ports, make_peb),
      mac_(module_) {}

PebHost::Wired::Wired(PebModule& module, unsigned port, Scheduler& scheduler,
                      const PcieConfig& config)
    : slot(module, port, scheduler, config), link(scheduler, config, slot) {
  slot.connect(link);
}

PebHost::PebHost(Scheduler& scheduler, const Place& place, const Profile& profile, unsigned slots,
                 const PebFactory& make_peb)
    : PebNode(scheduler, place, profile, Side::kHost, slots, make_peb) {
  std::vector<Slot*> ports;
  for (unsigned port = 0; port < slots; ++port) {
    slots_.push_back(std::make_unique<Wired>(module_, port, scheduler, profile.pcie));
    ports.push_back(&slots_.back()->slot);
  }
  module_.connect(mac_, ports);
}

PebBox::PebBox(Scheduler& scheduler, const Place& place, const Profile& profile,
               const PcieDeviceFactory& make_device, const PebFactory& make_peb)
    : PebNode(scheduler, place, profile, Side::kDevice, 1, make_peb),
      slot_(module_, 0, scheduler, bus_of_box(profile.pcie), make_device(scheduler)) {
  module_.connect(mac_, {&slot_});
}

void join(PebHost& host, unsigned slot, PebBox& box) {
  const auto group = static_cast<uint16_t>(host.id());
  box.slot().assign(Peer{static_cast<uint16_t>(host.id()), group});
  host.slot(slot).assign(Peer{static_cast<uint16_t>(box.id()), group});
}

}  // namespace exrnic::peb
