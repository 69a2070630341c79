// SPDX-License-Identifier: BSD-2-Clause
#include "sim/app/pebs.h"

#include <fmt/format.h>

#include <utility>

#include "sim/app/counters_json.h"

namespace exrnic {
namespace {

using Json = nlohmann::ordered_json;

Json of_peb(const peb::PebNode& node, const Testbed& testbed) {
  const peb::Counters& c = node.peb().counters();
  Json json = {{"id", node.index()},
               {"mac", to_json(node.mac().counters())},
               {"peb",
                {{"lives", c.lives},
                 {"dropped", c.dropped},
                 {"foreign", c.foreign},
                 {"malformed", c.malformed},
                 {"timeouts", c.timeouts}}}};
  if (const EthernetLink* line = testbed.line_towards(node.index()))
    json["line_towards"] = to_json(line->counters());
  return json;
}

}  // namespace

void Pebs::describe(TestbedOptions& testbed) {
  testbed.make_peb = options_.make_peb;
  for (const auto& slots : options_.peb_hosts)
    testbed.peb_hosts.push_back(static_cast<unsigned>(slots.size()));
  for (const std::string& path : options_.peb_devices)
    testbed.peb_boxes.push_back(
        [this, path](Scheduler& scheduler) { return make_device(scheduler, path); });
}

std::unique_ptr<PcieDevice> Pebs::make_device(Scheduler& scheduler, const std::string& path) {
  try {
    auto device = std::make_unique<RemoteEndpoint>(scheduler, path, options_.profile.pcie, log_,
                                                   RemoteEndpoint::Limits{});
    for (RemoteEndpoint* other : devices_) device->meet(*other);
    devices_.push_back(device.get());
    return device;
  } catch (const std::exception& error) {
    throw ExitRequest(kUsageError, fmt::format("--peb-device {}: {}", path, error.what()));
  }
}

void Pebs::begin(Testbed& testbed, const vfio_user::MemoryBudget& budget) {
  for (unsigned index = 0; index < options_.peb_hosts.size(); ++index) {
    peb::PebHost& host = testbed.peb_host(index);
    slots_.emplace_back();
    for (unsigned slot = 0; slot < host.slots(); ++slot) {
      const std::string& path = options_.peb_hosts[index][slot];
      std::unique_ptr<vfio_user::VfioUserServer> server;
      try {
        server = std::make_unique<vfio_user::VfioUserServer>(path, log_, budget);
      } catch (const std::exception& error) {
        throw ExitRequest(kUsageError, error.what());
      }
      server->attach(host.device(slot));
      testbed.connect_outside_host(index, slot, server.get());
      slots_.back().push_back(std::make_unique<SlotService>(
          std::move(server), host.slot(slot), fmt::format("{}.{}", host.index(), slot), log_));
    }
  }
  for (const Assignment& each : options_.assignments)
    testbed.assign(each.host, each.slot, each.box);
}

std::vector<SideSocket*> Pebs::sockets() {
  std::vector<SideSocket*> sockets(devices_.begin(), devices_.end());
  for (const auto& host : slots_)
    for (const auto& slot : host) sockets.push_back(slot.get());
  return sockets;
}

Json Pebs::hosts(const Testbed& testbed) const {
  Json hosts = Json::array();
  for (unsigned index = 0; index < slots_.size(); ++index) {
    const peb::PebHost& host = testbed.peb_host(index);
    Json json = of_peb(host, testbed);
    json["slots"] = Json::array();
    for (unsigned slot = 0; slot < host.slots(); ++slot)
      json["slots"].push_back({{"socket", options_.peb_hosts[index][slot]},
                               {"up", host.slot(slot).is_up()},
                               {"pcie", to_json(host.pcie(slot).counters())},
                               {"vfio_user", to_json(slots_[index][slot]->server().counters())}});
    hosts.push_back(json);
  }
  return hosts;
}

Json Pebs::devices(const Testbed& testbed) const {
  Json devices = Json::array();
  for (unsigned index = 0; index < testbed.peb_boxes(); ++index) {
    const peb::PebBox& box = testbed.peb_box(index);
    Json json = of_peb(box, testbed);
    json["socket"] = options_.peb_devices[index];
    json["alive"] = devices_[index]->alive();
    json["unsupported"] = box.slot().unsupported();
    json["pcie"] = to_json(box.slot().pcie().counters());
    devices.push_back(json);
  }
  return devices;
}

}  // namespace exrnic
