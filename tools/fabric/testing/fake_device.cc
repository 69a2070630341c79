// SPDX-License-Identifier: BSD-2-Clause
#include "tools/fabric/testing/fake_device.h"

#include <algorithm>

namespace exrnic::fabric::testing {
namespace {

constexpr unsigned kHeaderAt = 14, kPathAt = 48, kDataAt = 128, kDataBytes = 128, kHops = 40;
constexpr uint16_t kNone = 0xffff;

uint64_t mac(uint16_t number) { return 0x024558520000 | number; }

uint16_t word(const uint8_t* at) { return static_cast<uint16_t>(at[0] << 8 | at[1]); }

void set_word(uint8_t* at, uint16_t value) {
  at[0] = static_cast<uint8_t>(value >> 8);
  at[1] = static_cast<uint8_t>(value & 0xff);
}

}  // namespace

void FakeDevice::forget() {
  if (!fixed) number = kNone;
  manager = kNone;
  key = changes = 0;
  beat = 0;
  for (FakePort& port : ports) port.changes = 0;
  routes.clear();
  floods.assign(ports.size(), false);
  forget_assignments();
}

void FakeDevice::forget_assignments() {
  assignments.clear();
  if (kind == EXRNIC_MANAGEMENT_KIND_PEB_DEVICE) assignments[0] = {kNone, 0};
  for (uint32_t i = 0; kind == EXRNIC_MANAGEMENT_KIND_PEB_HOST && i < 4; ++i) {
    assignments[i] = {kNone, 0};
  }
}

std::vector<Sent> FakeDevice::take(Frame frame, uint16_t in) {
  uint8_t* const header = &frame[kHeaderAt];
  if (exrnic_eth_ethertype(frame.data()) != 0x88b6 ||
      exrnic_management_header_version(header) != 1) {
    return drop();
  }
  const uint64_t method = exrnic_management_header_method(header);
  const bool request = method <= EXRNIC_MANAGEMENT_METHOD_SET;
  if (in == kHost) {
    if (!request) return drop();
    exrnic_eth_set_src(frame.data(), mac(number));
  }
  const uint64_t to = exrnic_eth_dst(frame.data());
  if (to != mac(kNone)) {  // routed
    if (number != kNone && to == mac(number)) {
      if (request) return serve(frame, in);
      if (is_switch()) return drop();
      return {{kHost, frame}};
    }
    if (in == kHost) return number == kNone ? drop() : forward(frame, 0);
    if (!is_switch() || to >> 16 != 0x02455852) return drop();
    const uint16_t port = route(static_cast<uint16_t>(to));
    return port == in ? drop() : forward(frame, port);
  }
  const auto hop = static_cast<unsigned>(exrnic_management_header_hop(header));
  const auto hops = static_cast<unsigned>(exrnic_management_header_hops(header));
  if (request && hop == hops && hops < kHops) return serve(frame, in);
  if (hops >= kHops) return drop();
  if (request && hop < hops) {
    if (!is_switch() && in != kHost) return drop();
    uint8_t* const place = &frame[kPathAt + 2 * hop];
    const uint16_t port = word(place);
    set_word(place, in);
    exrnic_management_header_set_hop(header, hop + 1);
    return forward(frame, port);
  }
  if (method != EXRNIC_MANAGEMENT_METHOD_ANSWER || hop == 0 || hop > hops) return drop();
  exrnic_management_header_set_hop(header, hop - 1);
  const uint16_t port = word(&frame[kPathAt + 2 * (hop - 1)]);
  if (!is_switch() && port != kNone) return drop();
  if (is_switch() && port == kNone) return drop();
  if (port == kNone) return {{kHost, frame}};
  return forward(frame, port);
}

std::vector<Sent> FakeDevice::forward(const Frame& frame, uint16_t port) {
  if (port >= ports.size() || !ports[port].up) return drop();
  return {{port, frame}};
}

std::vector<Sent> FakeDevice::serve(Frame frame, uint16_t in) {
  uint8_t* const header = &frame[kHeaderAt];
  if (key != 0 && exrnic_management_header_key(header) != key) return drop();
  const auto hops = static_cast<unsigned>(exrnic_management_header_hops(header));
  const bool directed = exrnic_eth_dst(frame.data()) == mac(kNone);
  const uint8_t status = handle(frame);
  exrnic_management_header_set_method(header, EXRNIC_MANAGEMENT_METHOD_ANSWER);
  exrnic_management_header_set_status(header, status);
  exrnic_management_header_set_key(header, 0);
  exrnic_eth_set_dst(frame.data(), directed ? mac(kNone) : exrnic_eth_src(frame.data()));
  exrnic_eth_set_src(frame.data(), mac(number));
  set_word(&frame[kPathAt + 2 * hops], in);
  if (lie && !lie(frame)) return drop();
  if (in == kHost) {
    exrnic_management_header_set_hop(header, 0);
    return {{kHost, frame}};
  }
  return forward(frame, in);
}

uint8_t FakeDevice::handle(Frame& frame) {
  uint8_t* const header = &frame[kHeaderAt];
  uint8_t* const data = &frame[kDataAt];
  const bool set = exrnic_management_header_method(header) == EXRNIC_MANAGEMENT_METHOD_SET;
  const auto modifier = static_cast<uint32_t>(exrnic_management_header_modifier(header));
  const auto attribute = exrnic_management_header_attribute(header);
  const bool peb = kind >= EXRNIC_MANAGEMENT_KIND_PEB_HOST;
  sets += set ? 1 : 0;
  uint8_t status = EXRNIC_MANAGEMENT_STATUS_NO_ATTRIBUTE;
  if (attribute == EXRNIC_MANAGEMENT_ATTRIBUTE_DEVICE) {
    status = EXRNIC_MANAGEMENT_STATUS_NO_BLOCK;
    if (modifier == 0) status = handle_device(data, set);
  } else if (attribute == EXRNIC_MANAGEMENT_ATTRIBUTE_ROUTES && is_switch()) {
    status = handle_routes(data, modifier, set);
  } else if (attribute == EXRNIC_MANAGEMENT_ATTRIBUTE_ROUTE_BLOCKS && is_switch() && !set) {
    if (modifier != 0) return EXRNIC_MANAGEMENT_STATUS_NO_BLOCK;
    std::fill_n(data, kDataBytes, 0);
    for (const auto& route : routes) {
      const unsigned block = route.first / EXRNIC_MANAGEMENT_ROUTES;
      data[block / 8] |= static_cast<uint8_t>(0x80u >> block % 8);
    }
    return EXRNIC_MANAGEMENT_STATUS_OK;
  } else if (attribute == EXRNIC_MANAGEMENT_ATTRIBUTE_FLOODS && is_switch()) {
    status = handle_floods(data, modifier, set);
  } else if (attribute == EXRNIC_MANAGEMENT_ATTRIBUTE_ASSIGNMENT && peb) {
    status = handle_assignment(data, modifier, set);
  } else if (attribute == EXRNIC_MANAGEMENT_ATTRIBUTE_PORTS && is_switch() && !set) {
    std::fill_n(data, kDataBytes, 0);
    const size_t told = told_ports != 0 ? told_ports : ports.size();
    if (modifier * 8 >= told) return EXRNIC_MANAGEMENT_STATUS_NO_BLOCK;
    for (size_t i = 0; i < 8; ++i) tell_port(data + 16 * i, 8 * modifier + i);
    return EXRNIC_MANAGEMENT_STATUS_OK;
  }
  if (status == EXRNIC_MANAGEMENT_STATUS_NO_ATTRIBUTE ||
      status == EXRNIC_MANAGEMENT_STATUS_NO_BLOCK) {
    std::fill_n(data, kDataBytes, 0);
  }
  return status;
}

uint8_t FakeDevice::handle_device(uint8_t* data, bool set) {
  uint8_t status = EXRNIC_MANAGEMENT_STATUS_OK;
  const uint64_t what = exrnic_management_device_sets(data);
  const auto wanted = static_cast<uint16_t>(exrnic_management_device_number(data));
  const bool sets_number = set && (what & EXRNIC_MANAGEMENT_SETS_NUMBER) != 0;
  if (set && what > 15) {
    status = EXRNIC_MANAGEMENT_STATUS_BAD_VALUE;
  } else if (sets_number && wanted != kNone && wanted >= nodes) {
    status = EXRNIC_MANAGEMENT_STATUS_BAD_VALUE;
  } else if (sets_number && fixed && wanted != number) {
    status = EXRNIC_MANAGEMENT_STATUS_FIXED;
  } else if (set) {
    if (sets_number && wanted != number) {
      number = wanted;
      forget_assignments();
    }
    if ((what & EXRNIC_MANAGEMENT_SETS_MANAGER) != 0) {
      manager = static_cast<uint16_t>(exrnic_management_device_manager(data));
    }
    if ((what & EXRNIC_MANAGEMENT_SETS_KEY) != 0) key = exrnic_management_device_new_key(data);
    if ((what & EXRNIC_MANAGEMENT_SETS_BEAT) != 0) {
      beat = static_cast<uint8_t>(exrnic_management_device_beat(data));
    }
  }
  std::fill_n(data, kDataBytes, 0);
  tell_device(data);
  return status;
}

void FakeDevice::tell_device(uint8_t* data) const {
  exrnic_management_device_set_guid(data, guid);
  exrnic_management_device_set_kind(data, kind);
  exrnic_management_device_set_flags(data, (fixed ? 1 : 0) | (key != 0 ? 2 : 0));
  exrnic_management_device_set_number(data, number);
  exrnic_management_device_set_ports(data, told_ports != 0 ? told_ports : ports.size());
  exrnic_management_device_set_manager(data, manager);
  exrnic_management_device_set_nodes(data, nodes);
  exrnic_management_device_set_changes(data, changes);
  exrnic_management_device_set_beat(data, beat);
}

void FakeDevice::tell_port(uint8_t* at, size_t port) const {
  if (port >= ports.size()) return;
  const FakePort& item = ports[port];
  exrnic_management_port_set_flags(at, 1 | (item.up ? 2 : 0) | (item.credits ? 4 : 0));
  exrnic_management_port_set_changes(at, item.changes);
  exrnic_management_port_set_mbps(at, 100'000);
}

uint8_t FakeDevice::handle_routes(uint8_t* data, uint32_t block, bool set) {
  if (uint64_t{block} * 64 >= nodes) return EXRNIC_MANAGEMENT_STATUS_NO_BLOCK;
  uint8_t status = EXRNIC_MANAGEMENT_STATUS_OK;
  if (set) {
    for (unsigned i = 0; i < 64; ++i) {
      const uint16_t port = word(data + 2 * i);
      if (port != kNone && port >= ports.size()) status = EXRNIC_MANAGEMENT_STATUS_BAD_VALUE;
    }
    if (status == EXRNIC_MANAGEMENT_STATUS_OK && fixed_routes) {
      status = EXRNIC_MANAGEMENT_STATUS_FIXED;
    }
  }
  for (unsigned i = 0; i < 64; ++i) {
    const auto to = static_cast<uint16_t>(block * 64 + i);
    const uint16_t port = word(data + 2 * i);
    if (set && status == EXRNIC_MANAGEMENT_STATUS_OK) {
      if (port == kNone) {
        routes.erase(to);
      } else {
        routes[to] = port;
      }
    }
    set_word(data + 2 * i, route(to));
  }
  return status;
}

uint8_t FakeDevice::handle_floods(uint8_t* data, uint32_t block, bool set) {
  if (uint64_t{block} * 1024 >= ports.size()) return EXRNIC_MANAGEMENT_STATUS_NO_BLOCK;
  const auto bit = [&](size_t i) { return (data[i / 8] >> (7 - i % 8) & 1) != 0; };
  const size_t first = size_t{block} * 1024;
  uint8_t status = EXRNIC_MANAGEMENT_STATUS_OK;
  for (size_t i = 0; set && i < 1024; ++i) {
    if (bit(i) && first + i >= ports.size()) status = EXRNIC_MANAGEMENT_STATUS_BAD_VALUE;
  }
  for (size_t i = first; i < std::min<size_t>(first + 1024, ports.size()); ++i) {
    if (set && status == EXRNIC_MANAGEMENT_STATUS_OK) floods[i] = bit(i - first);
  }
  std::fill_n(data, kDataBytes, 0);
  for (size_t i = first; i < std::min<size_t>(first + 1024, ports.size()); ++i) {
    if (floods[i]) data[(i - first) / 8] |= 1 << (7 - (i - first) % 8);
  }
  return status;
}

uint8_t FakeDevice::handle_assignment(uint8_t* data, uint32_t port, bool set) {
  const auto found = assignments.find(port);
  if (found == assignments.end()) return EXRNIC_MANAGEMENT_STATUS_NO_BLOCK;
  std::array<uint16_t, 2> wanted = {word(data), word(data + 2)};
  if (wanted[0] == kNone) wanted[1] = 0;
  const bool is_same = wanted == found->second;
  const bool taken =
      std::any_of(assignments.begin(), assignments.end(),
                  [&](const auto& assignment) { return assignment.second == wanted; });
  const bool refused = set && !is_same && wanted[0] != kNone &&
                       (number == kNone || wanted[0] == number || wanted[0] >= nodes || taken);
  if (set && !refused) found->second = wanted;
  std::fill_n(data, kDataBytes, 0);
  set_word(data, found->second[0]);
  set_word(data + 2, found->second[1]);
  return refused ? EXRNIC_MANAGEMENT_STATUS_BAD_VALUE : EXRNIC_MANAGEMENT_STATUS_OK;
}

std::vector<Sent> FakeDevice::set_carrier(uint16_t port, bool up) {
  if (ports[port].up == up) return {};
  ports[port].up = up;
  ++ports[port].changes;
  ++changes;
  if (!is_switch() || number == kNone || manager == kNone) return {};
  Frame frame{};
  exrnic_eth_set_dst(frame.data(), mac(manager));
  exrnic_eth_set_src(frame.data(), mac(number));
  exrnic_eth_set_ethertype(frame.data(), 0x88b6);
  uint8_t* const header = &frame[kHeaderAt];
  exrnic_management_header_set_version(header, 1);
  exrnic_management_header_set_method(header, EXRNIC_MANAGEMENT_METHOD_TRAP);
  exrnic_management_header_set_attribute(header, EXRNIC_MANAGEMENT_ATTRIBUTE_PORTS);
  exrnic_management_header_set_modifier(header, port);
  tell_port(&frame[kDataAt], port);
  return forward(frame, route(manager));
}

}  // namespace exrnic::fabric::testing
