// SPDX-License-Identifier: BSD-2-Clause
#include "tools/fabric/sweep.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace exrnic::fabric {
namespace {

constexpr size_t kMostSilentPorts = 64;  // that are chosen at a time
constexpr size_t kSilentAtOnce = 4;      // that are asked
static_assert(kSilentAtOnce < EXRNIC_MANAGEMENT_WAITING, "others get answers meanwhile");
constexpr unsigned kTimes = 2;  // then a device is asked along its path at once

}  // namespace

void Sweep::forget() {
  asked_ = 0;
  changed_.clear();
  lost_ = 0;
  misrouted_ = false;
}

void Sweep::stop() {
  forget();
  silent_.clear();
  silent_asked_ = 0;
}

std::set<uint64_t> Sweep::take_found() { return std::exchange(found_, {}); }

void Sweep::begin(uint16_t manager, unsigned tries) {
  manager_ = manager;
  tries_ = tries;
  forget();
  for (const auto& [guid, device] : map_.devices) {
    if (guid == map_.own) continue;
    const bool numbered = device.data.number != kNoNumber && manager != kNoNumber;
    const auto found = by_path_.find(guid);
    ask_device(guid, numbered && (found == by_path_.end() || found->second < kTimes));
  }
  if (silent_.empty() && silent_asked_ == 0) choose_silent_ports();
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

// Whoever had another key, or no agent, may have changed his mind. Devices have turns: one with
// thousands of silent ports does not keep the others' from being asked.
void Sweep::choose_silent_ports() {
  std::vector<std::vector<PortId>> devices;
  std::map<uint64_t, uint16_t> last;
  for (const auto& [guid, device] : map_.devices) {
    std::vector<PortId> ports;
    for (size_t port = 0; port < device.ports.size(); ++port) {
      if (device.ports[port].silent) ports.push_back({guid, static_cast<uint16_t>(port)});
    }
    if (ports.empty() || device.path.out.size() >= kMostLines) continue;
    const auto found = last_silent_.find(guid);
    if (found != last_silent_.end()) {
      last.insert(*found);
      const PortId before{guid, found->second};
      std::rotate(ports.begin(), std::upper_bound(ports.begin(), ports.end(), before), ports.end());
    }
    devices.push_back(std::move(ports));
  }
  last_silent_ = std::move(last);
  const auto first = std::find_if(devices.begin(), devices.end(), [this](const auto& ports) {
    return ports.front().guid > last_turn_;
  });
  std::rotate(devices.begin(), first, devices.end());
  bool more = true;
  for (size_t turn = 0; more; ++turn) {
    more = false;
    for (const std::vector<PortId>& ports : devices) {
      if (turn >= ports.size() || silent_.size() >= kMostSilentPorts) continue;
      silent_.push_back(ports[turn]);
      last_silent_[ports[turn].guid] = ports[turn].port;
      last_turn_ = ports[turn].guid;
      more = true;
    }
  }
}

void Sweep::ask_silent_ports() {
  for (; !silent_.empty() && silent_asked_ < kSilentAtOnce; silent_.pop_front()) {
    const PortId port = silent_.front();
    Path path = map_.devices.at(port.guid).path;
    path.out.push_back(port.port);
    ++silent_asked_;
    requests_.ask(
        get(along(std::move(path)), EXRNIC_MANAGEMENT_ATTRIBUTE_DEVICE),
        [this, port](const Answer* answer) {
          --silent_asked_;
          if (answer != nullptr && parse_device(answer->data)) {
            map_.devices.at(port.guid).ports[port.port].silent = false;
            found_.insert(port.guid);
          }
          ask_silent_ports();
        },
        1);
  }
}

}  // namespace exrnic::fabric
