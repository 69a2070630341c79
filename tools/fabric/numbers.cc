// SPDX-License-Identifier: BSD-2-Clause
#include "tools/fabric/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <unordered_map>

namespace exrnic::fabric {
namespace {

class Assigner {
 public:
  Assigner(const Map& map, const std::map<uint64_t, uint16_t>& before)
      : map_(map), before_(before), lowest_{0, kFirstSwitch}, unused_{0, kFirstSwitch} {
    for (const auto& item : before) had_.insert(item.second);
  }

  Numbers run() {
    // The own node first: without its number nothing is routed back.
    if (const Device* own = map_.find(map_.own)) keep_fixed(*own);
    for (const auto& [guid, device] : map_.devices) keep_fixed(device);
    if (const Device* own = map_.find(map_.own)) keep(*own, own->data.number);
    // Who comes, and says that a number is his, does not take it from who has it.
    for (const auto& [guid, device] : map_.devices) {
      const auto had = before_.find(guid);
      if (had != before_.end() && had->second == device.data.number) keep(device, had->second);
    }
    for (const auto& [guid, device] : map_.devices) keep(device, device.data.number);
    for (const auto& [guid, device] : map_.devices) {
      const auto had = before_.find(guid);
      if (had != before_.end()) keep(device, had->second);
    }
    for (const auto& [guid, device] : map_.devices) {
      if (!device.data.fixed && numbers_.of.count(guid) == 0) give(device);
    }
    report_narrow();
    return std::move(numbers_);
  }

 private:
  static uint32_t first(const Device& device) { return device.is_switch() ? kFirstSwitch : 0; }
  static uint32_t end(const Device& device) {
    const uint32_t most = device.is_switch() ? kNoNumber : kFirstSwitch;
    return std::min(device.data.nodes, most);
  }

  void keep_fixed(const Device& device) {
    const uint16_t number = device.data.number;
    if (!device.data.fixed || numbers_.of.count(device.data.guid) != 0) return;
    if (number == kNoNumber) {
      numbers_.problems.push_back(fmt::format(
          "{}: its board has fixed that it has no number; give it one there", name_of(device)));
      return;
    }
    const auto [taken, fresh] = taken_.emplace(number, device.data.guid);
    if (fresh) {
      numbers_.of[device.data.guid] = number;
      return;
    }
    numbers_.problems.push_back(fmt::format(
        "{}: its board has fixed the number {}, and so has that of {}; nothing is routed to it, "
        "change one of them",
        name_of(device), number, name_of_guid(taken->second)));
  }

  void keep(const Device& device, uint16_t number) {
    const uint64_t guid = device.data.guid;
    if (device.data.fixed || numbers_.of.count(guid) != 0) return;
    if (number < first(device) || number >= end(device)) return;
    if (taken_.emplace(number, guid).second) numbers_.of[guid] = number;
  }

  // Who knows an absent device by its number does not find another one there, unless there is no
  // other number left.
  void give(const Device& device) {
    const unsigned kind = device.is_switch() ? 1 : 0;
    const auto is_had = [&](uint16_t number) { return had_.count(number) != 0; };
    const auto is_none = [](uint16_t) { return false; };
    if (give_from(unused_[kind], device, is_had) || give_from(lowest_[kind], device, is_none))
      return;
    numbers_.problems.push_back(fmt::format(
        "{}: numbers below {} are all it can have, and none is free; take devices away, or "
        "build it for more",
        name_of(device), device.data.nodes));
  }

  bool give_from(uint32_t& number, const Device& device,
                 const std::function<bool(uint16_t)>& is_left_out) {
    const auto is_free = [&](uint16_t one) { return taken_.count(one) == 0 && !is_left_out(one); };
    while (number < kNoNumber && !is_free(static_cast<uint16_t>(number))) ++number;
    if (number >= end(device)) return false;
    keep(device, static_cast<uint16_t>(number));
    return true;
  }

  // Nodes that cannot talk to all others.
  void report_narrow() {
    uint32_t most = 0;
    for (const auto& [guid, number] : numbers_.of) {
      if (number < kFirstSwitch) most = std::max<uint32_t>(most, number);
    }
    for (const auto& [guid, number] : numbers_.of) {
      const Device& device = map_.devices.at(guid);
      if (device.is_switch() || device.data.nodes > most) continue;
      numbers_.problems.push_back(fmt::format(
          "{}: it can talk to numbers below {}, and there are some up to {}; build it for more",
          name_of(device), device.data.nodes, most));
    }
  }

  const Map& map_;
  const std::map<uint64_t, uint16_t>& before_;
  std::set<uint16_t> had_;  // by somebody, before
  uint32_t lowest_[2];      // that may be free, of nodes and of switches
  uint32_t unused_[2];      // likewise of those that nobody has had
  std::unordered_map<uint16_t, uint64_t> taken_;
  Numbers numbers_;
};

}  // namespace

Numbers assign_numbers(const Map& map, const std::map<uint64_t, uint16_t>& before) {
  return Assigner(map, before).run();
}

}  // namespace exrnic::fabric
