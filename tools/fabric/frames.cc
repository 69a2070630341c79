// SPDX-License-Identifier: BSD-2-Clause
#include "tools/fabric/frames.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace exrnic::fabric {
namespace {

constexpr unsigned kHeaderAt = EXRNIC_ETH_BYTES;
constexpr unsigned kPathAt = EXRNIC_MANAGEMENT_PATH_AT;
constexpr unsigned kDataAt = EXRNIC_MANAGEMENT_DATA_AT;
constexpr unsigned kNumberBits = 16;

uint64_t mac_of(uint16_t number) { return uint64_t{EXRNIC_MAC_PREFIX} << kNumberBits | number; }

uint16_t load(const uint8_t* at) { return static_cast<uint16_t>(at[0] << 8 | at[1]); }

void store(uint8_t* at, uint16_t value) {
  at[0] = static_cast<uint8_t>(value >> 8);
  at[1] = static_cast<uint8_t>(value);
}

uint16_t port_of_path(const Frame& frame, size_t hop) { return load(&frame[kPathAt + 2 * hop]); }

// What switches and agents have made of the request's path.
bool path_fits(const Frame& frame, const Path& path) {
  const size_t hops = path.out.size();
  for (size_t hop = 0; hop < EXRNIC_MANAGEMENT_HOPS; ++hop) {
    if (hop == hops) continue;  // the device's own word
    const uint16_t port = port_of_path(frame, hop);
    if (hop > hops && port != 0) return false;
    if (hop == 0 && port != kNoPort) return false;
    const bool known = hop > 0 && hop < hops && hop <= path.in.size();
    if (known && port != path.in[hop - 1]) return false;
  }
  return true;
}

}  // namespace

Way along(Path path) {
  assert(path.out.size() <= kMostLines);
  return {std::move(path), std::nullopt};
}

Way to_number(uint16_t number) { return {{}, number}; }

Frame build(const Request& request, uint64_t transaction, uint64_t key) {
  Frame frame{};
  exrnic_eth_set_dst(frame.data(), mac_of(request.way.number.value_or(kNoNumber)));
  exrnic_eth_set_ethertype(frame.data(), EXRNIC_MANAGEMENT_ETHERTYPE);
  uint8_t* header = &frame[kHeaderAt];
  exrnic_management_header_set_version(header, EXRNIC_MANAGEMENT_VERSION);
  exrnic_management_header_set_method(header, request.method);
  exrnic_management_header_set_attribute(header, request.attribute);
  exrnic_management_header_set_modifier(header, request.modifier);
  exrnic_management_header_set_transaction(header, transaction);
  exrnic_management_header_set_key(header, key);
  const std::vector<uint16_t>& out = request.way.path.out;
  exrnic_management_header_set_hops(header, out.size());
  for (size_t hop = 0; hop < out.size(); ++hop) store(&frame[kPathAt + 2 * hop], out[hop]);
  std::copy(request.data.begin(), request.data.end(), frame.begin() + kDataAt);
  return frame;
}

Request get(Way way, uint16_t attribute, uint32_t modifier) {
  return {std::move(way), EXRNIC_MANAGEMENT_METHOD_GET, attribute, modifier, {}};
}

Request set_device(Way way, const DeviceChange& change) {
  Request request{
      std::move(way), EXRNIC_MANAGEMENT_METHOD_SET, EXRNIC_MANAGEMENT_ATTRIBUTE_DEVICE, 0, {}};
  uint8_t* data = request.data.data();
  exrnic_management_device_set_number(data, change.number.value_or(0));
  exrnic_management_device_set_manager(data, change.manager.value_or(0));
  exrnic_management_device_set_new_key(data, change.key.value_or(0));
  exrnic_management_device_set_beat(data, change.beat.value_or(0));
  exrnic_management_device_set_sets(data,
                                    (change.number ? EXRNIC_MANAGEMENT_SETS_NUMBER : 0) |
                                        (change.manager ? EXRNIC_MANAGEMENT_SETS_MANAGER : 0) |
                                        (change.key ? EXRNIC_MANAGEMENT_SETS_KEY : 0) |
                                        (change.beat ? EXRNIC_MANAGEMENT_SETS_BEAT : 0));
  return request;
}

Request set_routes(Way way, uint32_t block, const RoutesBlock& ports) {
  Request request{
      std::move(way), EXRNIC_MANAGEMENT_METHOD_SET, EXRNIC_MANAGEMENT_ATTRIBUTE_ROUTES, block, {}};
  for (unsigned i = 0; i < kRoutesOfBlock; ++i) store(&request.data[2 * i], ports[i]);
  return request;
}

Request set_floods(Way way, uint32_t block, const Data& bits) {
  return {std::move(way), EXRNIC_MANAGEMENT_METHOD_SET, EXRNIC_MANAGEMENT_ATTRIBUTE_FLOODS, block,
          bits};
}

Request set_assignment(Way way, uint32_t port, const AssignmentData& assignment) {
  Request request{std::move(way),
                  EXRNIC_MANAGEMENT_METHOD_SET,
                  EXRNIC_MANAGEMENT_ATTRIBUTE_ASSIGNMENT,
                  port,
                  {}};
  exrnic_management_assignment_set_node(request.data.data(), assignment.node);
  exrnic_management_assignment_set_group(request.data.data(), assignment.group);
  return request;
}

std::optional<uint8_t> method_of(const Frame& frame) {
  const bool management =
      exrnic_eth_ethertype(frame.data()) == EXRNIC_MANAGEMENT_ETHERTYPE &&
      exrnic_management_header_version(&frame[kHeaderAt]) == EXRNIC_MANAGEMENT_VERSION;
  if (!management) return std::nullopt;
  return static_cast<uint8_t>(exrnic_management_header_method(&frame[kHeaderAt]));
}

uint64_t transaction_of(const Frame& frame) {
  return exrnic_management_header_transaction(&frame[kHeaderAt]);
}

std::optional<Answer> parse_answer(const Frame& frame, const Request& request) {
  const uint8_t* header = &frame[kHeaderAt];
  const Path& path = request.way.path;
  const bool fits = method_of(frame) == EXRNIC_MANAGEMENT_METHOD_ANSWER &&
                    exrnic_management_header_attribute(header) == request.attribute &&
                    exrnic_management_header_modifier(header) == request.modifier &&
                    exrnic_management_header_hop(header) == 0 &&
                    exrnic_management_header_hops(header) == path.out.size() &&
                    exrnic_management_header_status(header) <= EXRNIC_MANAGEMENT_STATUS_FIXED &&
                    path_fits(frame, path);
  if (!fits) return std::nullopt;
  Answer answer;
  answer.status = static_cast<uint8_t>(exrnic_management_header_status(header));
  answer.came_by = port_of_path(frame, path.out.size());
  std::copy(frame.begin() + kDataAt, frame.end(), answer.data.begin());
  return answer;
}

std::optional<Trap> parse_trap(const Frame& frame) {
  const uint8_t* header = &frame[kHeaderAt];
  const bool fits =
      method_of(frame) == EXRNIC_MANAGEMENT_METHOD_TRAP &&
      exrnic_management_header_attribute(header) == EXRNIC_MANAGEMENT_ATTRIBUTE_PORTS &&
      exrnic_management_header_hop(header) == 0 && exrnic_management_header_hops(header) == 0 &&
      exrnic_eth_src(frame.data()) >> kNumberBits == EXRNIC_MAC_PREFIX;
  if (!fits) return std::nullopt;
  return Trap{static_cast<uint16_t>(exrnic_eth_src(frame.data())),
              static_cast<uint32_t>(exrnic_management_header_modifier(header))};
}

std::optional<DeviceData> parse_device(const Data& data) {
  const uint8_t* p = data.data();
  DeviceData device;
  device.guid = exrnic_management_device_guid(p);
  device.kind = static_cast<uint8_t>(exrnic_management_device_kind(p));
  const uint64_t flags = exrnic_management_device_flags(p);
  device.fixed = (flags & EXRNIC_MANAGEMENT_DEVICE_FLAGS_FIXED) != 0;
  device.keyed = (flags & EXRNIC_MANAGEMENT_DEVICE_FLAGS_KEYED) != 0;
  device.number = static_cast<uint16_t>(exrnic_management_device_number(p));
  device.ports = static_cast<uint16_t>(exrnic_management_device_ports(p));
  device.manager = static_cast<uint16_t>(exrnic_management_device_manager(p));
  device.nodes = static_cast<uint32_t>(exrnic_management_device_nodes(p));
  device.changes = static_cast<uint16_t>(exrnic_management_device_changes(p));
  device.beat = static_cast<uint8_t>(exrnic_management_device_beat(p));
  if (device.guid == 0 || device.kind > EXRNIC_MANAGEMENT_KIND_PEB_DEVICE) return std::nullopt;
  return device;
}

PortData parse_port(const Data& data, unsigned place) {
  assert(place < kPortsOfBlock);
  const uint8_t* p = &data[place * EXRNIC_MANAGEMENT_PORT_BYTES];
  const uint64_t flags = exrnic_management_port_flags(p);
  PortData port;
  port.exists = (flags & EXRNIC_MANAGEMENT_PORT_FLAGS_EXISTS) != 0;
  port.up = port.exists && (flags & EXRNIC_MANAGEMENT_PORT_FLAGS_UP) != 0;
  port.credits = port.exists && (flags & EXRNIC_MANAGEMENT_PORT_FLAGS_CREDITS) != 0;
  port.changes = static_cast<uint16_t>(exrnic_management_port_changes(p));
  port.mbps = static_cast<uint32_t>(exrnic_management_port_mbps(p));
  return port;
}

RoutesBlock parse_routes(const Data& data) {
  RoutesBlock ports{};
  for (unsigned i = 0; i < kRoutesOfBlock; ++i) ports[i] = load(&data[2 * i]);
  return ports;
}

bool has_routes(const Data& blocks, unsigned block) { return flood_bit(blocks, block); }

RoutesBlock no_routes() {
  RoutesBlock ports;
  ports.fill(kNoPort);
  return ports;
}

AssignmentData parse_assignment(const Data& data) {
  return {static_cast<uint16_t>(exrnic_management_assignment_node(data.data())),
          static_cast<uint16_t>(exrnic_management_assignment_group(data.data()))};
}

bool flood_bit(const Data& data, unsigned port) {
  return (data[port / 8] & (0x80u >> port % 8)) != 0;
}

void set_flood_bit(Data& data, unsigned port) {
  data[port / 8] = static_cast<uint8_t>(data[port / 8] | (0x80u >> port % 8));
}

}  // namespace exrnic::fabric
