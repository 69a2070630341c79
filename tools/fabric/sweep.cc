// SPDX-License-Identifier: BSD-2-Clause
#include "tools/fabric/sweep.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace exrnic::fabric {
namespace {

constexpr size_t kMostSilentPorts = 64;  // that are asked in a sweep
constexpr unsigned kTimes = 2;           // then a device is asked along its path at once

}  // namespace

void Sweep::stop() {
  asked_ = 0;
  changed_.clear();
  lost_ = 0;
  misrouted_ = false;
}

void Sweep::begin(uint16_t manager, unsigned tries) {
  manager_ = manager;
  tries_ = tries;
  stop();
  for (const auto& [guid, device] : map_.devices) {
    if (guid == map_.own) continue;
    const bool numbered = device.data.number != kNoNumber && manager != kNoNumber;
    const auto found = by_path_.find(guid);
    ask_device(guid, numbered && (found == by_path_.end() || found->second < kTimes));
  }
  ask_silent_ports();
}

// The beat alone: who has forgotten his manager has forgotten the rest, too, and is to show it.
void Sweep::ask_device(uint64_t guid, bool routed, bool again) {
  const Device& device = map_.devices.at(guid);
  DeviceChange change;
  change.beat = static_cast<uint8_t>(device.data.beat + 1);
  ++asked_;
  requests_.ask(
      set_device(routed ? to_number(device.data.number) : along(device.path), change),
      [this, guid, routed](const Answer* answer) {
        --asked_;
        if (answer != nullptr) {
          take_device(guid, routed, *answer);
        } else if (routed) {
          ask_device(guid, false, true);
        } else {
          ++lost_;
        }
      },
      routed ? tries_ : 0, again);
}

void Sweep::take_device(uint64_t guid, bool routed, const Answer& answer) {
  DeviceData& is = map_.devices.at(guid).data;
  const std::optional<DeviceData> data = parse_device(answer.data);
  if (!data || data->guid != guid) {
    if (routed) {
      ask_device(guid, false, true);
    } else {
      ++lost_;
    }
    return;
  }
  const bool switch_changed =
      data->kind == EXRNIC_MANAGEMENT_KIND_SWITCH && data->changes != is.changes;
  const bool reset =
      data->number != is.number || data->manager != is.manager || (is.keyed && !data->keyed);
  if (switch_changed || reset) {
    changed_.insert(guid);  // what is known of it stays, for who looks
    return;
  }
  if (routed) {
    by_path_.erase(guid);
  } else if (is.number != kNoNumber && manager_ != kNoNumber) {
    unsigned& times = by_path_[guid];
    if (times < kTimes) misrouted_ = ++times == kTimes || misrouted_;
  }
  is = *data;
}

// Whoever had another key, or no agent, may have changed his mind. Some ports in each sweep.
void Sweep::ask_silent_ports() {
  std::vector<PortId> silent;
  for (const auto& [guid, device] : map_.devices) {
    for (size_t port = 0; port < device.ports.size(); ++port) {
      if (device.ports[port].silent) silent.push_back({guid, static_cast<uint16_t>(port)});
    }
  }
  const auto first = std::upper_bound(silent.begin(), silent.end(), last_silent_);
  std::rotate(silent.begin(), first, silent.end());
  if (silent.size() > kMostSilentPorts) silent.resize(kMostSilentPorts);
  for (const PortId& port : silent) {
    Path path = map_.devices.at(port.guid).path;
    if (path.out.size() >= kMostLines) continue;
    last_silent_ = port;
    path.out.push_back(port.port);
    ++asked_;
    requests_.ask(
        get(along(std::move(path)), EXRNIC_MANAGEMENT_ATTRIBUTE_DEVICE),
        [this, port](const Answer* answer) {
          --asked_;
          if (answer != nullptr && parse_device(answer->data)) changed_.insert(port.guid);
        },
        1);
  }
}

}  // namespace exrnic::fabric
