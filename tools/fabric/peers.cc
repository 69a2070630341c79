// SPDX-License-Identifier: BSD-2-Clause
#include "tools/fabric/peers.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace exrnic::fabric {
namespace {

constexpr uint16_t kPortOfDevice = 0;

bool is_peb(const Device* device, uint8_t kind) {
  return device != nullptr && device->data.kind == kind && device->data.number != kNoNumber;
}

}  // namespace

bool same_peer(const AssignmentData& a, const AssignmentData& b) {
  return a.node == b.node && (a.node == kNoNumber || a.group == b.group);
}

// Of two that contradict each other the first one counts: else a device would go from one to the
// other each time that all is written.
void Peers::begin(const Map& map, const std::vector<Assignment>& assignments,
                  std::vector<std::string>& problems) {
  wanted_.clear();
  is_.clear();
  absent_.clear();
  whole_.clear();
  for (auto it = left_.begin(); it != left_.end();) {
    const bool gone = map.find(it->first) == nullptr;
    it = gone ? left_.erase(it) : std::next(it);
  }
  for (const Assignment& assignment : assignments) {
    const Device* const host = map.find(assignment.host);
    const Device* const device = map.find(assignment.device);
    const auto tell = [&](const char* why) {
      problems.push_back(fmt::format("port {} of the PEB {} cannot get the device {}: {}",
                                     assignment.port, name_of_guid(assignment.host),
                                     name_of_guid(assignment.device), why));
    };
    if (!is_peb(host, EXRNIC_MANAGEMENT_KIND_PEB_HOST) ||
        (assignment.device != 0 && !is_peb(device, EXRNIC_MANAGEMENT_KIND_PEB_DEVICE))) {
      tell("one of them is not in the fabric, has no number, or is another kind of device");
      if (is_peb(host, EXRNIC_MANAGEMENT_KIND_PEB_HOST) && device == nullptr)
        absent_.insert({assignment.host, assignment.port});
      continue;
    }
    const uint16_t group = host->data.number;
    const PortId port{assignment.host, assignment.port};
    const PortId end{assignment.device, kPortOfDevice};
    if (wanted_.count(port) != 0 || wanted_.count(end) != 0) {
      tell("one of them is assigned twice; name each once");
      continue;
    }
    wanted_[port] = {device == nullptr ? kNoNumber : device->data.number, group};
    if (device != nullptr) wanted_[end] = {group, group};
  }
}

bool Peers::gets_device(uint64_t host) const {
  return std::any_of(wanted_.begin(), wanted_.end(), [&](const auto& item) {
    return item.first.guid == host && item.second.node != kNoNumber;
  });
}

std::set<PortId> Peers::doubtful(const Map& map) const {
  std::set<PortId> ports = absent_;
  for (const auto& [guid, device] : map.devices) {
    const PortId end{guid, kPortOfDevice};
    if (!looked_ && is_peb(&device, EXRNIC_MANAGEMENT_KIND_PEB_DEVICE) && wanted_.count(end) == 0)
      ports.insert(end);
  }
  for (const auto& [port, peer] : wanted_) ports.erase(port);
  return ports;
}

uint64_t Peers::other_host(const Map& map, const PortId& port) const {
  const auto has = is_.find(port);
  if (has == is_.end() || has->second.node == kNoNumber ||
      !is_peb(map.find(port.guid), EXRNIC_MANAGEMENT_KIND_PEB_DEVICE))
    return 0;
  const auto wanted = wanted_.find(port);
  if (wanted != wanted_.end() && wanted->second.node == has->second.node) return 0;
  for (const auto& [guid, device] : map.devices) {
    const bool named = device.data.number == has->second.node;
    if (named && is_peb(&device, EXRNIC_MANAGEMENT_KIND_PEB_HOST)) return guid;
  }
  return 0;
}

// Whether another port is to have this peer.
bool Peers::moves(const PortId& port, const AssignmentData& peer) const {
  return std::any_of(wanted_.begin(), wanted_.end(), [&](const auto& item) {
    return item.first != port && item.second.node == peer.node;
  });
}

// It waits for one that is not there, by a number that another device has got since.
bool Peers::has_no_device(const Map& map, const PortId& port, const AssignmentData& peer) const {
  return absent_.count(port) != 0 &&
         std::any_of(map.devices.begin(), map.devices.end(),
                     [&](const auto& item) { return item.second.data.number == peer.node; });
}

// Whether it is known what all ports of that PEB have.
bool Peers::is_known(uint64_t host) const {
  return whole_.count(host) != 0 &&
         std::all_of(wanted_.begin(), wanted_.end(), [&](const auto& item) {
           return item.first.guid != host || is_.count(item.first) != 0;
         });
}

bool Peers::names(uint64_t host, uint16_t device) const {
  return std::any_of(is_.begin(), is_.end(), [&](const auto& item) {
    return item.first.guid == host && item.second.node == device;
  });
}

Peers::Changes Peers::to_free(const Map& map) {
  Changes changes;
  for (const auto& [port, peer] : is_) {
    const Device* const host = map.find(port.guid);
    const auto found = wanted_.find(port);
    const bool listed = found != wanted_.end();
    if (peer.node == kNoNumber || !is_peb(host, EXRNIC_MANAGEMENT_KIND_PEB_HOST)) continue;
    if (listed && same_peer(found->second, peer)) continue;
    if (listed) leave(map, port.guid, peer);
    if (moves(port, peer) || (listed && found->second.node == kNoNumber) ||
        has_no_device(map, port, peer))
      changes[port] = {kNoNumber, 0};
  }
  leave_forgotten(map);
  for (const auto& [port, peer] : wanted_) left_.erase(port.guid);
  return changes;
}

// Devices in no assignment that name a host which does not name them. Who was not heard is looked
// at again.
void Peers::leave_forgotten(const Map& map) {
  const std::set<PortId> asked = doubtful(map);
  looked_ = std::all_of(asked.begin(), asked.end(),
                        [this](const PortId& port) { return is_.count(port) != 0; });
  for (const auto& [end, peer] : is_) {
    const uint64_t host = wanted_.count(end) != 0 ? 0 : other_host(map, end);
    if (host == 0) continue;
    if (!is_known(host)) {
      looked_ = false;
    } else if (!names(host, map.devices.at(end.guid).data.number)) {
      left_[end.guid] = peer;
    }
  }
}

// A device that is nobody's does not wait for a host: a later one may have that number.
void Peers::leave(const Map& map, uint64_t host, const AssignmentData& peer) {
  for (const auto& [guid, device] : map.devices) {
    if (is_peb(&device, EXRNIC_MANAGEMENT_KIND_PEB_DEVICE) && device.data.number == peer.node)
      left_[guid] = {map.devices.at(host).data.number, peer.group};
  }
}

// Whether another port has the device, or may have it. What devices name are hosts, if by numbers
// of before.
bool Peers::is_held(const Map& map, const PortId& port, const PortId& end) const {
  const uint16_t number = map.devices.at(end.guid).data.number;
  const bool named = std::any_of(is_.begin(), is_.end(), [&](const auto& item) {
    return item.first != port && item.second.node == number &&
           is_peb(map.find(item.first.guid), EXRNIC_MANAGEMENT_KIND_PEB_HOST);
  });
  if (named || is_.count(end) == 0) return true;
  const uint64_t host = other_host(map, end);
  return host != 0 && !is_known(host);
}

// Neither end of a device that its host has not let go.
Peers::Changes Peers::to_set(const Map& map) const {
  std::set<PortId> held;
  for (const auto& [end, host] : wanted_) {
    if (!is_peb(map.find(end.guid), EXRNIC_MANAGEMENT_KIND_PEB_DEVICE)) continue;
    for (const auto& [port, peer] : wanted_) {
      if (peer.node != map.devices.at(end.guid).data.number || !is_held(map, port, end)) continue;
      held.insert(port);
      held.insert(end);
    }
  }
  Changes changes;
  for (const auto& [port, peer] : wanted_) {
    const auto found = is_.find(port);
    if (found == is_.end() || same_peer(found->second, peer) || held.count(port) != 0) continue;
    changes[port] = peer;
  }
  return changes;
}

}  // namespace exrnic::fabric
