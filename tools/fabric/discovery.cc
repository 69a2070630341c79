// SPDX-License-Identifier: BSD-2-Clause
#include "tools/fabric/discovery.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace exrnic::fabric {
namespace {

constexpr unsigned kMostPasses = 6;  // then whoever is under suspicion is left out
// A device may say that it has thousands of lines at which nobody answers. So many of its ports are
// asked at the same time; so many silent ones more than those that answer make it wait for others,
// and so many end it: the rest is left to those who look again and again.
constexpr unsigned kAtOnce = 8;
constexpr unsigned kSilentUntilLater = 8;
constexpr unsigned kMostSilent = 64;
// Of all devices that wait for others: the host has room for more answers than these.
constexpr unsigned kLaterAtOnce = 6;
// Blocks of a switch's ports that are asked for at the same time.
constexpr unsigned kBlocksAtOnce = 4;
static_assert(kLaterAtOnce < EXRNIC_MANAGEMENT_WAITING, "others get answers meanwhile");

bool leads_to_duplicate(const Map& map, const PortId& port) {
  return std::any_of(map.duplicates.begin(), map.duplicates.end(),
                     [&](const auto& duplicate) { return duplicate.second.count(port) != 0; });
}

// Who answers by a port whose line is down, or leads elsewhere, is another device than said so.
bool contradicts(const MapPort& port) { return port.neighbour && (!port.data.up || port.silent); }

// Its other end has answered, but not to who asks by it: who answers by some of his lines alone is
// that, and no other device.
bool is_half(const MapPort& port) { return port.neighbour && port.data.up && port.silent; }

std::set<PortId> silent_ports(const Map& map) {
  std::set<PortId> result;
  for (const auto& [guid, device] : map.devices) {
    for (size_t port = 0; port < device.ports.size(); ++port) {
      if (device.ports[port].silent) result.insert({guid, static_cast<uint16_t>(port)});
    }
  }
  return result;
}

}  // namespace

void Discovery::begin_all() {
  all_ = true;
  failed_ = done_ = false;
  passes_ = 0;
  look_.clear();
  suspects_.clear();
  silent_before_ = silent_ports(map_);
  map_.duplicates.clear();
  map_.mute.clear();
  begin_pass();
}

void Discovery::begin_pass() {
  ++passes_;
  std::map<uint64_t, std::set<PortId>> duplicates = std::move(map_.duplicates);
  mute_before_ = std::move(map_.mute);
  map_ = Map();
  map_.duplicates = std::move(duplicates);
  suspects_before_ = std::move(suspects_);
  suspects_.clear();
  parted_.clear();
  ports_of_all_ = 0;
  forget_probes();
  ask_own();
}

void Discovery::forget_probes() {
  asked_ = 0;
  probing_.clear();
  later_.clear();
  later_out_.clear();
  unsure_.clear();
}

void Discovery::begin_at(Map map, const std::set<uint64_t>& guids) {
  all_ = failed_ = done_ = false;
  map_ = std::move(map);
  suspects_.clear();
  parted_.clear();
  silent_before_.clear();
  looked_.clear();
  ports_of_all_ = 0;
  forget_probes();
  hurried_ = guids.size() > 1;
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
  if (all_ || std::find(look_.begin(), look_.end(), guid) != look_.end()) return;
  look_.push_back(guid);
  hurried_ = true;
}

bool Discovery::advance() {
  while (!done_ && asked_ == later_out_.size()) {
    const bool waits = all_ || (look_.empty() && !hurried_ && !failed_);
    if (waits && has_later()) return false;
    if (all_) {
      done_ = end_pass();
      continue;
    }
    if (look_.empty()) look_at_contradictions();
    if (look_.empty()) suspect_contradictions();
    failed_ = failed_ || !suspects_.empty();
    settle();
    done_ = failed_ || look_.empty();
    if (!done_) look_at_next();
  }
  if (done_ && has_later()) leave_later();
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
  for (const uint64_t guid : map_.mute) confirmed = confirmed && mute_before_.count(guid) != 0;
  if (!confirmed && passes_ < kMostPasses) {
    begin_pass();
    return false;
  }
  for (const auto& [guid, places] : suspects_) {
    map_.duplicates[guid].insert(places.begin(), places.end());
  }
  settle();
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
    if (add(*data, {})) probe({data->guid, 0}, true);
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
      probe({guid, 0}, true);
    }
  });
}

void Discovery::probe(const PortId& from, bool patient) {
  probing_[from.guid].waiting.push_back({from, patient, false});
  ask_more(from.guid);
  ask_later();
}

void Discovery::ask_more(uint64_t guid) {
  Probing& probing = probing_[guid];
  const auto is_late = [&] { return probing.silent >= kSilentUntilLater + probing.answered; };
  while (!probing.waiting.empty() && (is_late() || probing.out < kAtOnce)) {
    const Probe probe = probing.waiting.front();
    probing.waiting.pop_front();
    if (is_late()) {
      later_.push_back(probe);
    } else {
      ask_port(probe, false);
    }
  }
}

void Discovery::ask_later() {
  while (!later_.empty() && later_out_.size() < kLaterAtOnce) {
    const Probe probe = later_.front();
    later_.pop_front();
    const Probing& probing = probing_[probe.from.guid];
    const bool enough =
        probe.again ? probing.tired : probing.silent >= kMostSilent + probing.answered;
    if (enough && !probe.disputed) {
      leave(probe.from);
    } else {
      ask_port(probe, true);
    }
  }
}

// Once first: with many silent ports patience would last for ever.
void Discovery::ask_port(const Probe& probe, bool later) {
  const Device* const device = map_.find(probe.from.guid);
  if (device == nullptr || device->path.out.size() >= kMostLines) return;
  Path path = device->path;
  path.out.push_back(probe.from.port);
  if (later) {
    later_out_.insert(probe.from);
  } else {
    ++probing_[probe.from.guid].out;
  }
  const auto take = [this, probe, later](const Answer* answer) {
    if (later) {
      later_out_.erase(later_out_.find(probe.from));
    } else {
      --probing_[probe.from.guid].out;
    }
    take_probe(probe, answer);
    ask_more(probe.from.guid);
    ask_later();
  };
  ask(std::move(path), EXRNIC_MANAGEMENT_ATTRIBUTE_DEVICE, 0, take, probe.again ? 0 : 1);
}

void Discovery::take_probe(const Probe& probe, const Answer* answer) {
  const PortId& from = probe.from;
  Probing& probing = probing_[from.guid];
  if (answer != nullptr) {
    ++probing.answered;
    if (probe.again && !probe.disputed) --probing.silent;
    unsure_.erase(from);
  } else if (probe.again) {
    probing.tired = true;
  } else {
    ++probing.silent;
    if (probe.patient) return later_.push_back({from, true, true, false});
  }
  Device* const device = map_.find(from.guid);
  if (device == nullptr || from.port >= device->ports.size()) return;
  device->ports[from.port].silent = answer == nullptr;
  if (answer != nullptr) return arrive(from, *answer);
  if (probe.again) return;
  unsure_.insert(from);
  if (device->ports[from.port].neighbour) dispute(from);
}

// Its silence is a contradiction, if it is one.
void Discovery::dispute(const PortId& port) {
  if (unsure_.erase(port) == 0) return;
  map_.devices.at(port.guid).ports[port.port].silent = false;
  later_.push_back({port, true, true, true});
}

// Whether somebody is there is found out later.
void Discovery::leave(const PortId& port) {
  Device* const device = map_.find(port.guid);
  if (device == nullptr || port.port >= device->ports.size()) return;
  MapPort& at = device->ports[port.port];
  at.silent = !at.neighbour;
  if (at.silent) unsure_.insert(port);
}

void Discovery::leave_later() {
  for (const Probe& probe : later_) leave(probe.from);
  for (const PortId& port : later_out_) leave(port);
  requests_.clear();
  forget_probes();
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
  if (map_.join(from, at)) return dispute(at);
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
  for (unsigned block = 0; block < kBlocksAtOnce; ++block) ask_ports_of_block(guid, block);
}

// Then the next of those: who says nothing of thousands of ports is not asked for each.
void Discovery::ask_ports_of_block(uint64_t guid, unsigned block) {
  const Device* const device = map_.find(guid);
  if (device == nullptr || block * kPortsOfBlock >= device->ports.size()) return;
  ask(device->path, EXRNIC_MANAGEMENT_ATTRIBUTE_PORTS, block,
      [this, guid, block](const Answer* answer) {
        take_ports(guid, block, answer);
        if (answer != nullptr) ask_ports_of_block(guid, block + kBlocksAtOnce);
      });
}

void Discovery::take_ports(uint64_t guid, unsigned block, const Answer* answer) {
  Device* const device = map_.find(guid);
  if (device == nullptr) return;
  if (answer == nullptr || !answer->ok()) {
    if (all_) {
      map_.mute.insert(guid);
    } else {
      failed_ = true;
    }
    return;
  }
  const size_t first = size_t{block} * kPortsOfBlock;
  for (size_t i = first; i < std::min(first + kPortsOfBlock, device->ports.size()); ++i) {
    MapPort& port = device->ports[i];
    const PortId id{guid, static_cast<uint16_t>(i)};
    const PortData data = parse_port(answer->data, static_cast<unsigned>(i - first));
    const bool changed = data.up != port.data.up || data.changes != port.data.changes;
    // Nothing was known of it: what leads there has just been found, from the other end.
    const bool fresh = !port.data.exists && !port.data.up;
    port.data = data;
    const bool was_silent = port.silent || silent_before_.count(id) != 0;
    if (!all_ && changed) {
      if (!fresh) part(id);
      failed_ = failed_ || leads_to_duplicate(map_, id);  // one may have gone
    }
    // Silent ones that have not changed are asked by whoever looks again and again, unless somebody
    // says that he is there.
    port.silent = port.silent && data.up && !changed && !port.neighbour;
    const bool asked = all_ || (!port.silent && (changed || !port.neighbour || was_silent));
    if (data.up && asked) probe(id, !was_silent || port.neighbour);
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
  std::vector<PortId> halves;
  for (const auto& [guid, device] : map_.devices) {
    if (map_.mute.count(guid) != 0) continue;
    for (size_t i = 0; i < device.ports.size(); ++i) {
      const MapPort& port = device.ports[i];
      if (is_half(port)) {
        halves.push_back({guid, static_cast<uint16_t>(i)});
      } else if (contradicts(port)) {
        suspect(guid, *port.neighbour);
      }
    }
  }
  for (const PortId& port : halves) part(port);
}

void Discovery::part(const PortId& port) {
  const std::optional<PortId> other = map_.devices.at(port.guid).ports[port.port].neighbour;
  if (other) parted_[port] = *other;
  map_.part(port);
}

// Where that was the only line, who has parted it has gone from the map. The other end is looked at
// again and again instead.
void Discovery::settle() {
  map_.settle();
  for (const auto& [port, other] : parted_) {
    Device* const device = map_.find(other.guid);
    if (device == nullptr || other.port >= device->ports.size()) continue;
    if (map_.find(port.guid) != nullptr) continue;
    MapPort& end = device->ports[other.port];
    end.silent = end.silent || (end.data.up && !end.neighbour);
  }
}

}  // namespace exrnic::fabric
