// SPDX-License-Identifier: BSD-2-Clause
#include "tools/fabric/map.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

namespace exrnic::fabric {

const Device* Map::find(uint64_t guid) const {
  const auto found = devices.find(guid);
  return found == devices.end() ? nullptr : &found->second;
}

Device* Map::find(uint64_t guid) {
  const auto found = devices.find(guid);
  return found == devices.end() ? nullptr : &found->second;
}

bool Map::join(const PortId& a, const PortId& b) {
  Device* const of_a = find(a.guid);
  Device* const of_b = find(b.guid);
  if (of_a == nullptr || of_b == nullptr || a == b) return false;
  if (a.port >= of_a->ports.size() || b.port >= of_b->ports.size()) return false;
  MapPort& at_a = of_a->ports[a.port];
  MapPort& at_b = of_b->ports[b.port];
  if (at_a.neighbour.value_or(b) != b || at_b.neighbour.value_or(a) != a) return false;
  at_a.neighbour = b;
  at_b.neighbour = a;
  return true;
}

void Map::part(const PortId& port) {
  Device* const device = find(port.guid);
  if (device == nullptr || port.port >= device->ports.size()) return;
  const std::optional<PortId> other = device->ports[port.port].neighbour;
  device->ports[port.port].neighbour.reset();
  if (!other) return;
  Device* const neighbour = find(other->guid);
  if (neighbour != nullptr && other->port < neighbour->ports.size()) {
    neighbour->ports[other->port].neighbour.reset();
  }
}

bool Map::is_left_out(uint64_t guid) const {
  return duplicates.count(guid) != 0 || deaf.count(guid) != 0 || mute.count(guid) != 0;
}

std::vector<uint64_t> Map::settle() {
  std::set<uint64_t> reached;
  std::deque<uint64_t> next;
  if (find(own) != nullptr) {
    reached.insert(own);
    next.push_back(own);
    find(own)->path = {};
  }
  for (; !next.empty(); next.pop_front()) {
    const Device& device = devices.at(next.front());
    if (!device.is_switch() && next.front() != own) continue;  // a node passes nothing on
    if (device.path.out.size() >= kMostLines) continue;
    for (size_t port = 0; port < device.ports.size(); ++port) {
      const std::optional<PortId>& neighbour = device.ports[port].neighbour;
      if (!neighbour || is_left_out(neighbour->guid)) continue;
      Device* const other = find(neighbour->guid);
      if (other == nullptr || !reached.insert(neighbour->guid).second) continue;
      other->path = device.path;
      other->path.out.push_back(static_cast<uint16_t>(port));
      other->path.in.push_back(neighbour->port);
      next.push_back(neighbour->guid);
    }
  }
  std::vector<uint64_t> gone;
  for (const auto& [guid, device] : devices) {
    if (reached.count(guid) == 0) gone.push_back(guid);
  }
  for (const uint64_t guid : gone) {
    for (size_t port = 0; port < devices.at(guid).ports.size(); ++port) {
      part({guid, static_cast<uint16_t>(port)});
    }
    devices.erase(guid);
  }
  return gone;
}

bool Map::credits() const {
  for (const auto& [guid, device] : devices) {
    const bool any = std::any_of(device.ports.begin(), device.ports.end(), [](const MapPort& port) {
      return port.neighbour && port.data.credits;
    });
    if (any) return true;
  }
  return false;
}

bool same_fabric(const Map& a, const Map& b) {
  const auto same_port = [](const MapPort& one, const MapPort& other) {
    return one.neighbour == other.neighbour && one.data.credits == other.data.credits;
  };
  const auto same_device = [&](const auto& one, const auto& other) {
    const Device &x = one.second, &y = other.second;
    return one.first == other.first && x.data.kind == y.data.kind &&
           x.data.number == y.data.number && x.data.fixed == y.data.fixed &&
           x.data.manager == y.data.manager && x.data.keyed == y.data.keyed &&
           x.data.nodes == y.data.nodes &&
           std::equal(x.ports.begin(), x.ports.end(), y.ports.begin(), y.ports.end(), same_port);
  };
  return a.own == b.own && std::equal(a.devices.begin(), a.devices.end(), b.devices.begin(),
                                      b.devices.end(), same_device);
}

const char* name_of_kind(uint8_t kind) {
  switch (kind) {
    case EXRNIC_MANAGEMENT_KIND_RNIC:
      return "rnic";
    case EXRNIC_MANAGEMENT_KIND_SWITCH:
      return "switch";
    case EXRNIC_MANAGEMENT_KIND_PEB_HOST:
      return "peb-host";
    default:
      return "peb-device";
  }
}

std::string name_of_guid(uint64_t guid) { return fmt::format("{:016x}", guid); }

std::string name_of(const Device& device) {
  const std::string name =
      fmt::format("{} {}", name_of_kind(device.data.kind), name_of_guid(device.data.guid));
  return device.data.number == kNoNumber ? name : fmt::format("{} ({})", name, device.data.number);
}

}  // namespace exrnic::fabric
