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

// Whether another port of that PEB is to have this peer.
bool Peers::moves(const PortId& port, const AssignmentData& peer) const {
  return std::any_of(wanted_.begin(), wanted_.end(), [&](const auto& item) {
    return item.first.guid == port.guid && item.first != port && same_peer(item.second, peer);
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
    if (moves(port, peer) || (listed && found->second.node == kNoNumber))
      changes[port] = {kNoNumber, 0};
  }
  for (const auto& [port, peer] : wanted_) left_.erase(port.guid);
  return changes;
}

// A device that is nobody's does not wait for a host: a later one may have that number.
void Peers::leave(const Map& map, uint64_t host, const AssignmentData& peer) {
  for (const auto& [guid, device] : map.devices) {
    if (is_peb(&device, EXRNIC_MANAGEMENT_KIND_PEB_DEVICE) && device.data.number == peer.node)
      left_[guid] = {map.devices.at(host).data.number, peer.group};
  }
}

Peers::Changes Peers::to_set() const {
  Changes changes;
  for (const auto& [port, peer] : wanted_) {
    const auto found = is_.find(port);
    if (found != is_.end() && !same_peer(found->second, peer)) changes[port] = peer;
  }
  return changes;
}

}  // namespace exrnic::fabric
