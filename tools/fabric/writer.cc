// SPDX-License-Identifier: BSD-2-Clause
#include "tools/fabric/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace exrnic::fabric {
namespace {

constexpr size_t kMostProblems = 256;
constexpr size_t kMostMisses = 8;       // of switches in one writing
constexpr size_t kMostMissed = 64;      // nodes, more than have answered: then it is something else
constexpr uint16_t kMostPebPorts = 64;  // of a host, that are looked at

const char* name_of_status(uint8_t status) {
  switch (status) {
    case EXRNIC_MANAGEMENT_STATUS_NO_ATTRIBUTE:
      return "it cannot be set";
    case EXRNIC_MANAGEMENT_STATUS_NO_BLOCK:
      return "it has no such block";
    case EXRNIC_MANAGEMENT_STATUS_BAD_VALUE:
      return "it does not take this";
    default:
      return "its board has fixed it";
  }
}

template <typename Block>
void keep_unless_empty(std::map<uint32_t, Block>& blocks, uint32_t number, const Block& block,
                       const Block& empty) {
  if (block == empty) {
    blocks.erase(number);
  } else {
    blocks[number] = block;
  }
}

}  // namespace

void Writer::begin(Numbers numbers, RoutesPlan plan, std::vector<Assignment> assignments) {
  numbers_ = std::move(numbers);
  plan_ = std::move(plan);
  assignments_ = std::move(assignments);
  problems_.clear();
  asked_ = 0;
  failed_ = missed_ = false;
  heard_.clear();
  doubted_.clear();
  unheard_.clear();
  misses_ = 0;
  nodes_answered_ = nodes_missed_ = 0;
  for (auto it = silent_.begin(); it != silent_.end();) {
    const bool gone = map_.find(*it) == nullptr;
    it = gone ? silent_.erase(it) : std::next(it);
  }
  start(Stage::kRead);
}

bool Writer::advance() {
  // Who else does not answer is asked at the same time; to hear of each by itself would take long.
  const bool hears_more = asked_ != 0 && !doubted_.empty() && misses_ < kMostMisses;
  if (failed_ && !hears_more && stage_ != Stage::kDone) stop();
  while (stage_ != Stage::kDone && asked_ == 0) {
    start(static_cast<Stage>(static_cast<int>(stage_) + 1));
  }
  return stage_ == Stage::kDone;
}

void Writer::stop() {
  if (stage_ == Stage::kRead) known_.clear();
  requests_.clear();
  stage_ = Stage::kDone;
}

void Writer::start(Stage stage) {
  stage_ = stage;
  switch (stage) {
    case Stage::kRead:
      return read_switches();
    case Stage::kSwitches:
      take_numbers();
      return set_devices(true);
    case Stage::kUrgent:
      writes_ = writes_for(map_, plan_, known_);
      return write_blocks(true);
    case Stage::kRest:
      return write_blocks(false);
    case Stage::kNodes:
      return set_devices(false);
    case Stage::kPeers:
      return read_peers();
    case Stage::kFree:
      return free_ports();
    case Stage::kAssign:
      return set_peers(peers_.to_set(map_));
    case Stage::kDone:
      return;
  }
}

void Writer::ask(uint64_t guid, Request request, std::function<void(const Answer&)> take) {
  ++asked_;
  requests_.ask(std::move(request), [this, guid, take = std::move(take)](const Answer* answer) {
    --asked_;
    if (answer != nullptr) {
      heard_.insert(guid);
      return take(*answer);
    }
    failed_ = true;
    doubt(guid);
  });
}

// Its line may have gone. Who is deaf still says who he is.
void Writer::doubt(uint64_t guid) {
  if (!map_.devices.at(guid).is_switch() || !doubted_.insert(guid).second) {
    ++misses_;
    return;
  }
  ++asked_;
  requests_.ask(get(along(map_.devices.at(guid).path), EXRNIC_MANAGEMENT_ATTRIBUTE_DEVICE),
                [this, guid](const Answer* answer) {
                  --asked_;
                  const auto data = answer == nullptr ? std::nullopt : parse_device(answer->data);
                  if (data && data->guid == guid) {
                    unheard_.insert(guid);
                  } else {
                    ++misses_;
                  }
                });
}

// It says that all is well, and that it is not as it was to be: it has begun anew, or lies.
void Writer::disobeys(uint64_t guid) {
  const Device& device = map_.devices.at(guid);
  if (problems_.size() < kMostProblems)
    problems_.push_back(fmt::format(
        "{}: it does not do what it is told; look at it, or take it away", name_of(device)));
  if (!device.is_switch()) {
    missed_ = true;
    return;
  }
  known_[guid].complete = false;
  doubted_.insert(guid);
  unheard_.insert(guid);
  failed_ = true;
}

// Nothing but the node itself depends on what it is told, so one that hears nothing keeps nobody
// waiting: the second time it is asked once.
void Writer::ask_node(uint64_t guid, Request request, std::function<void(const Answer&)> take) {
  const bool again = silent_.count(guid) != 0;
  ++asked_;
  requests_.ask(
      std::move(request),
      [this, guid, again, take = std::move(take)](const Answer* answer) {
        --asked_;
        if (answer != nullptr) {
          ++nodes_answered_;
          silent_.erase(guid);
          return take(*answer);
        }
        missed_ = true;
        silent_.insert(guid);
        if (problems_.size() < kMostProblems)
          problems_.push_back(
              fmt::format("{}: it does not answer what it is told; look at it, or take it away",
                          name_of(map_.devices.at(guid))));
        if (!again) ++nodes_missed_;
        failed_ = failed_ || nodes_missed_ > kMostMissed + nodes_answered_;
      },
      again ? 1 : 0);
}

void Writer::report(const Device& device, const std::string& what, const Answer& answer) {
  if (problems_.size() >= kMostProblems) return;
  problems_.push_back(fmt::format("{}: {} was refused: {}; look at how it was built",
                                  name_of(device), what, name_of_status(answer.status)));
}

// A switch of which nothing is known, and blocks of which it is not known whether they were
// written: they are part of what must not deadlock. One that has another manager, or none, has lost
// what was written, or been written by that one.
void Writer::read_switches() {
  KnownSwitch nothing;
  nothing.complete = true;
  for (const auto& [guid, device] : map_.devices) {
    if (!device.is_switch()) continue;
    KnownSwitch& known = known_[guid];
    if (device.data.manager != number_of(map_.own)) known.complete = false;
    if (known.complete) {
      for (const uint32_t block : known.unsure_routes) read_routes(guid, block);
      for (const uint32_t block : known.unsure_floods) read_floods(guid, block);
      continue;
    }
    known = nothing;
    ask(guid, get(along(device.path), EXRNIC_MANAGEMENT_ATTRIBUTE_ROUTE_BLOCKS),
        [this, guid = guid](const Answer& answer) {
          for (unsigned block = 0; answer.ok() && block < kRouteBlocks; ++block)
            if (has_routes(answer.data, block)) read_routes(guid, block);
        });
    // Those of ports that are not used, too: they are taken away.
    for (uint32_t block = 0; block * kFloodsOfBlock < device.data.ports; ++block)
      read_floods(guid, block);
  }
}

void Writer::read_routes(uint64_t guid, uint32_t block) {
  const Path& path = map_.devices.at(guid).path;
  ask(guid, get(along(path), EXRNIC_MANAGEMENT_ATTRIBUTE_ROUTES, block),
      [&known = known_[guid], block](const Answer& answer) {
        if (!answer.ok()) return;
        keep_unless_empty(known.routes, block, parse_routes(answer.data), no_routes());
        known.unsure_routes.erase(block);
      });
}

void Writer::read_floods(uint64_t guid, uint32_t block) {
  const Path& path = map_.devices.at(guid).path;
  ask(guid, get(along(path), EXRNIC_MANAGEMENT_ATTRIBUTE_FLOODS, block),
      [&known = known_[guid], block](const Answer& answer) {
        if (!answer.ok()) return;
        keep_unless_empty(known.floods, block, answer.data, Data{});
        known.unsure_floods.erase(block);
      });
}

uint16_t Writer::number_of(uint64_t guid) const {
  const auto found = numbers_.of.find(guid);
  return found == numbers_.of.end() ? kNoNumber : found->second;
}

// What a node sends with a number that is another one's is not to get to others by the new routes.
void Writer::take_numbers() {
  for (const auto& [guid, device] : map_.devices) {
    const uint16_t is = device.data.number;
    if (device.is_switch() || guid == map_.own || device.data.fixed) continue;
    if (is == kNoNumber || is == number_of(guid)) continue;
    DeviceChange change;
    change.number = kNoNumber;
    set_device(guid, change);
  }
}

void Writer::set_devices(bool switches) {
  const uint16_t manager = number_of(map_.own);
  for (const auto& [guid, device] : map_.devices) {
    if ((device.is_switch() || guid == map_.own) != switches) continue;
    DeviceChange change;
    const uint16_t number = number_of(guid);
    if (!device.data.fixed && number != device.data.number) change.number = number;
    if (manager != device.data.manager) change.manager = manager;
    if (key_ != 0 && !device.data.keyed) change.key = key_;
    if (change.number || change.manager || change.key) set_device(guid, change);
  }
}

void Writer::set_device(uint64_t guid, const DeviceChange& change) {
  const Device& device = map_.devices.at(guid);
  Request request = fabric::set_device(along(device.path), change);
  const auto take = [this, guid, change](const Answer& answer) {
    take_device(guid, change, answer);
  };
  if (device.is_switch() || guid == map_.own) return ask(guid, std::move(request), take);
  ask_node(guid, std::move(request), take);
}

void Writer::take_device(uint64_t guid, const DeviceChange& change, const Answer& answer) {
  Device& device = map_.devices.at(guid);
  const std::optional<DeviceData> data = parse_device(answer.data);
  const bool obeys = data && data->guid == guid &&
                     data->number == change.number.value_or(device.data.number) &&
                     data->manager == change.manager.value_or(device.data.manager);
  if (answer.ok() && !obeys) disobeys(guid);
  if (data && data->guid == guid) {
    const uint16_t seen = device.data.changes;  // what came since has not been looked at
    device.data = *data;
    device.data.changes = seen;
  }
  if (answer.ok()) {
    ++counts_.devices;
    return;
  }
  if (!change.number) return report(device, "manager and key", answer);
  report(device, fmt::format("the number {}", *change.number), answer);
  DeviceChange rest = change;
  rest.number.reset();
  if (rest.manager || rest.key) set_device(guid, rest);
}

void Writer::write_blocks(bool urgent) {
  for (const BlockWrite& write : writes_) {
    if (write.urgent == urgent) write_block(write);
  }
}

void Writer::write_block(const BlockWrite& write) {
  const Path& path = map_.devices.at(write.guid).path;
  KnownSwitch& known = known_[write.guid];
  (write.floods ? known.unsure_floods : known.unsure_routes).insert(write.block);
  ask(write.guid,
      write.floods ? set_floods(along(path), write.block, write.bits)
                   : set_routes(along(path), write.block, write.ports),
      [this, &write](const Answer& answer) { take_block(write, answer); });
}

void Writer::take_block(const BlockWrite& write, const Answer& answer) {
  KnownSwitch& known = known_[write.guid];
  (write.floods ? known.unsure_floods : known.unsure_routes).erase(write.block);
  const bool there = answer.status != EXRNIC_MANAGEMENT_STATUS_NO_ATTRIBUTE &&
                     answer.status != EXRNIC_MANAGEMENT_STATUS_NO_BLOCK;
  if (there && write.floods) {
    keep_unless_empty(known.floods, write.block, answer.data, Data{});
  } else if (there) {
    keep_unless_empty(known.routes, write.block, parse_routes(answer.data), no_routes());
  }
  const bool obeys =
      write.floods ? answer.data == write.bits : parse_routes(answer.data) == write.ports;
  if (answer.ok() && !obeys) disobeys(write.guid);
  if (answer.ok()) {
    ++(write.floods ? counts_.flood_blocks : counts_.route_blocks);
    return;
  }
  const std::string what = write.floods ? fmt::format("block {} of its floods", write.block)
                                        : fmt::format("its routes to the numbers from {} on",
                                                      write.block * kRoutesOfBlock);
  report(map_.devices.at(write.guid), what, answer);
}

void Writer::read_peers() {
  peers_.begin(map_, assignments_, problems_);
  hosts_read_.clear();
  for (auto it = peers_.wanted().begin(); it != peers_.wanted().end(); ++it) {
    const PortId& port = it->first;
    read_peer(port);
    const bool first = it == peers_.wanted().begin() || std::prev(it)->first.guid != port.guid;
    const bool at_host = map_.devices.at(port.guid).data.kind == EXRNIC_MANAGEMENT_KIND_PEB_HOST;
    if (first && at_host && peers_.gets_device(port.guid)) read_host(port.guid);
  }
  for (const PortId& port : peers_.doubtful(map_)) read_peer(port);
}

void Writer::read_peer(const PortId& port) {
  const Device& device = map_.devices.at(port.guid);
  ask_node(port.guid, get(along(device.path), EXRNIC_MANAGEMENT_ATTRIBUTE_ASSIGNMENT, port.port),
           [this, &device, port](const Answer& answer) {
             if (!answer.ok())
               return report(device, fmt::format("a peer of its port {}", port.port), answer);
             peers_.is(port, parse_assignment(answer.data));
             const uint64_t host = peers_.other_host(map_, port);
             if (host != 0) read_host(host);
           });
}

// One of its ports may have what another one is to get.
void Writer::read_host(uint64_t host) {
  if (hosts_read_.insert(host).second) read_others(host, 0);
}

void Writer::read_others(uint64_t host, uint16_t port) {
  while (peers_.wanted().count({host, port}) != 0) ++port;
  if (port >= kMostPebPorts) return peers_.is_whole(host);
  const Path& path = map_.devices.at(host).path;
  ask_node(host, get(along(path), EXRNIC_MANAGEMENT_ATTRIBUTE_ASSIGNMENT, port),
           [this, host, port](const Answer& answer) {
             if (!answer.ok()) return peers_.is_whole(host);
             peers_.is({host, port}, parse_assignment(answer.data));
             read_others(host, port + 1);
           });
}

void Writer::free_ports() {
  set_peers(peers_.to_free(map_));
  for (const auto& [device, left] : peers_.left()) free_device(device, left);
}

void Writer::free_device(uint64_t device, const AssignmentData& left) {
  const Path& path = map_.devices.at(device).path;
  ask_node(device, get(along(path), EXRNIC_MANAGEMENT_ATTRIBUTE_ASSIGNMENT),
           [this, device, left](const Answer& answer) {
             if (answer.ok() && same_peer(parse_assignment(answer.data), left))
               return set_peer({device, 0}, {kNoNumber, 0});
             peers_.forget_left(device);
           });
}

void Writer::set_peers(const Peers::Changes& changes) {
  for (const auto& [port, peer] : changes) set_peer(port, peer);
}

void Writer::set_peer(const PortId& port, const AssignmentData& peer) {
  const Device& device = map_.devices.at(port.guid);
  ask_node(port.guid, set_assignment(along(device.path), port.port, peer),
           [this, &device, port, peer](const Answer& answer) {
             peers_.forget_left(port.guid);
             if (!answer.ok())
               return report(
                   device, fmt::format("the peer {} of its port {}", peer.node, port.port), answer);
             ++counts_.assignments;
             peers_.is(port, peer);
           });
}

}  // namespace exrnic::fabric
