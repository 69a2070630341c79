// SPDX-License-Identifier: BSD-2-Clause
#include "tools/fabric/discovery.h"

#include <algorithm>
#include <utility>

namespace exrnic::fabric {
namespace {

constexpr unsigned kMostPasses = 6;  // then whoever is under suspicion is left out
constexpr unsigned kPatience = 256;  // silent ports of a device that are asked more than once

bool leads_to_duplicate(const Map& map, const PortId& port) {
  return std::any_of(map.duplicates.begin(), map.duplicates.end(),
                     [&](const auto& duplicate) { return duplicate.second.count(port) != 0; });
}

// Who answers by a port whose line is down, or leads elsewhere, is another device than said so.
bool contradicts(const MapPort& port) { return port.neighbour && (!port.data.up || port.silent); }

}  // namespace

void Discovery::begin_all() {
  all_ = true;
  failed_ = done_ = false;
  passes_ = 0;
  look_.clear();
  suspects_.clear();
  map_.duplicates.clear();
  begin_pass();
}

void Discovery::begin_pass() {
  ++passes_;
  std::map<uint64_t, std::set<PortId>> duplicates = std::move(map_.duplicates);
  map_ = Map();
  map_.duplicates = std::move(duplicates);
  suspects_before_ = std::move(suspects_);
  suspects_.clear();
  asked_ = ports_of_all_ = 0;
  doubts_.clear();
  ask_own();
}

void Discovery::begin_at(Map map, const std::set<uint64_t>& guids) {
  all_ = failed_ = done_ = false;
  looked_.clear();
  map_ = std::move(map);
  suspects_.clear();
  asked_ = ports_of_all_ = 0;
  doubts_.clear();
  for (const auto& [guid, device] : map_.devices) ports_of_all_ += device.ports.size();
  look_.assign(guids.begin(), guids.end());
  // The nearest first: what they have lost need not be asked.
  std::stable_sort(look_.begin(), look_.end(), [this](uint64_t a, uint64_t b) {
    const auto lines = [this](uint64_t guid) {
      const Device* device = map_.find(guid);
      return device == nullptr ? 0 : device->path.out.size();
    };
    return lines(a) < lines(b);
  });
}

void Discovery::look_also_at(uint64_t guid) {
  if (!all_ && std::find(look_.begin(), look_.end(), guid) == look_.end()) look_.push_back(guid);
}

bool Discovery::advance() {
  while (!done_ && asked_ == 0) {
    if (all_) {
      done_ = end_pass();
      continue;
    }
    if (look_.empty()) look_at_contradictions();
    if (look_.empty()) suspect_contradictions();
    failed_ = failed_ || !suspects_.empty();
    map_.settle();
    done_ = failed_ || look_.empty();
    if (!done_) look_at_next();
  }
  return done_;
}

// True: no further one is needed.
bool Discovery::end_pass() {
  failed_ = map_.own == 0;
  if (failed_) return true;
  suspect_contradictions();
  bool confirmed = true;
  for (const auto& [guid, places] : suspects_) {
    confirmed = confirmed && suspects_before_.count(guid) != 0;
  }
  if (!confirmed && passes_ < kMostPasses) {
    begin_pass();
    return false;
  }
  for (const auto& [guid, places] : suspects_) {
    map_.duplicates[guid].insert(places.begin(), places.end());
  }
  map_.settle();
  return true;
}

template <typename Take>
void Discovery::ask(Path path, uint16_t attribute, uint32_t modifier, Take take, unsigned tries) {
  ++asked_;
  requests_.ask(
      get(along(std::move(path)), attribute, modifier),
      [this, take = std::move(take)](const Answer* answer) {
        --asked_;
        take(answer);
      },
      tries);
}

void Discovery::ask_own() {
  ask({}, EXRNIC_MANAGEMENT_ATTRIBUTE_DEVICE, 0, [this](const Answer* answer) {
    const auto data = answer == nullptr ? std::nullopt : parse_device(answer->data);
    if (!data || data->kind == EXRNIC_MANAGEMENT_KIND_SWITCH) return;
    map_.own = data->guid;
    if (add(*data, {})) probe({data->guid, 0});
  });
}

void Discovery::look_at_next() {
  const uint64_t guid = look_.front();
  look_.pop_front();
  looked_.insert(guid);
  const Device* const device = map_.find(guid);
  if (device == nullptr) return;
  ask(device->path, EXRNIC_MANAGEMENT_ATTRIBUTE_DEVICE, 0, [this, guid](const Answer* answer) {
    const auto data = answer == nullptr ? std::nullopt : parse_device(answer->data);
    Device* const found = map_.find(guid);
    const bool same = data && found != nullptr && data->guid == guid &&
                      data->kind == found->data.kind && data->ports == found->data.ports;
    if (!same) {
      failed_ = true;
      return;
    }
    found->data = *data;
    if (found->is_switch()) {
      ask_ports(guid);
    } else if (guid == map_.own) {
      map_.part({guid, 0});
      probe({guid, 0});
    }
  });
}

void Discovery::probe(const PortId& from) {
  Path path = map_.devices.at(from.guid).path;
  if (path.out.size() >= kMostLines) return;
  path.out.push_back(from.port);
  ask_once(from, path);
}

// Once first: with many silent ports patience would last for ever. Only so many of a device are
// asked again.
void Discovery::ask_once(const PortId& from, const Path& path) {
  const auto take = [this, from, path](const Answer* answer) {
    if (answer != nullptr || ++doubts_[from.guid] > kPatience) return take_probe(from, answer);
    ask(path, EXRNIC_MANAGEMENT_ATTRIBUTE_DEVICE, 0, [this, from](const Answer* again) {
      if (again != nullptr) --doubts_[from.guid];
      take_probe(from, again);
    });
  };
  ask(path, EXRNIC_MANAGEMENT_ATTRIBUTE_DEVICE, 0, take, 1);
}

void Discovery::take_probe(const PortId& from, const Answer* answer) {
  Device* const device = map_.find(from.guid);
  if (device == nullptr) return;
  device->ports[from.port].silent = answer == nullptr;
  if (answer != nullptr) arrive(from, *answer);
}

// A device has answered that is at the other end of the line of `from`.
void Discovery::arrive(const PortId& from, const Answer& answer) {
  const std::optional<DeviceData> data = answer.ok() ? parse_device(answer.data) : std::nullopt;
  if (!data) {
    map_.devices.at(from.guid).ports[from.port].silent = true;
    return;
  }
  const auto duplicate = map_.duplicates.find(data->guid);
  if (duplicate != map_.duplicates.end() && data->guid != map_.own) {
    duplicate->second.insert(from);
    return;
  }
  const Device* const known = map_.find(data->guid);
  if (known == nullptr) {
    Path path = map_.devices.at(from.guid).path;
    path.out.push_back(from.port);
    path.in.push_back(answer.came_by);
    if (!add(*data, path)) return;
    if (data->kind == EXRNIC_MANAGEMENT_KIND_SWITCH) ask_ports(data->guid);
  } else if (known->data.kind != data->kind || known->data.ports != data->ports) {
    suspect(data->guid, from);
    return;
  }
  const PortId at{data->guid, answer.came_by};
  if (map_.join(from, at)) return;
  const bool elsewhere = map_.devices.at(from.guid).ports[from.port].neighbour.value_or(at) != at;
  suspect(elsewhere ? from.guid : data->guid, from);
}

// False: there is no room for it.
bool Discovery::add(const DeviceData& data, const Path& path) {
  const bool is_switch = data.kind == EXRNIC_MANAGEMENT_KIND_SWITCH;
  const size_t ports = is_switch ? std::min<size_t>(data.ports, limits_.ports) : 1;
  if (map_.devices.size() >= limits_.devices || ports_of_all_ + ports > limits_.ports_of_all) {
    map_.full = true;
    return false;
  }
  Device& device = map_.devices[data.guid];
  device.data = data;
  device.path = path;
  device.ports.resize(ports);
  ports_of_all_ += ports;
  if (!is_switch) device.ports[0].data.exists = device.ports[0].data.up = true;
  return true;
}

void Discovery::ask_ports(uint64_t guid) {
  const Device& device = map_.devices.at(guid);
  const size_t blocks = (device.ports.size() + kPortsOfBlock - 1) / kPortsOfBlock;
  for (unsigned block = 0; block < blocks; ++block) {
    ask(device.path, EXRNIC_MANAGEMENT_ATTRIBUTE_PORTS, block,
        [this, guid, block](const Answer* answer) { take_ports(guid, block, answer); });
  }
}

void Discovery::take_ports(uint64_t guid, unsigned block, const Answer* answer) {
  Device* const device = map_.find(guid);
  if (device == nullptr) return;
  if (answer == nullptr || !answer->ok()) {
    if (!all_) failed_ = true;
    return;
  }
  const size_t first = size_t{block} * kPortsOfBlock;
  for (size_t i = first; i < std::min(first + kPortsOfBlock, device->ports.size()); ++i) {
    MapPort& port = device->ports[i];
    const PortId id{guid, static_cast<uint16_t>(i)};
    const PortData data = parse_port(answer->data, static_cast<unsigned>(i - first));
    const bool changed = data.up != port.data.up || data.changes != port.data.changes;
    port.data = data;
    if (!all_ && changed) {
      map_.part(id);
      failed_ = failed_ || leads_to_duplicate(map_, id);  // one may have gone
    }
    port.silent = port.silent && data.up;
    if (data.up && (all_ || !port.neighbour)) probe(id);
  }
}

// The own node is beyond doubt: it has answered without a line.
void Discovery::suspect(uint64_t guid, const PortId& from) {
  if (guid == map_.own) {
    map_.duplicates[guid].insert(from);
    return;
  }
  suspects_[guid].insert(from);
  const Device& device = map_.devices.at(guid);
  if (device.path.in.empty() || device.path.in.back() >= device.ports.size()) return;
  const std::optional<PortId>& first = device.ports[device.path.in.back()].neighbour;
  if (first) suspects_[guid].insert(*first);
}

// A line that has come may have been seen from one end.
void Discovery::look_at_contradictions() {
  for (const auto& [guid, device] : map_.devices) {
    const bool any = std::any_of(device.ports.begin(), device.ports.end(), contradicts);
    if (any && looked_.count(guid) == 0) look_.push_back(guid);
  }
}

void Discovery::suspect_contradictions() {
  for (const auto& [guid, device] : map_.devices) {
    for (const MapPort& port : device.ports) {
      if (contradicts(port)) suspect(guid, *port.neighbour);
    }
  }
}

}  // namespace exrnic::fabric
