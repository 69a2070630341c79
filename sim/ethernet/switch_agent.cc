// SPDX-License-Identifier: BSD-2-Clause
#include "sim/ethernet/switch_agent.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "sim/ethernet/mac.h"

namespace exrnic {
namespace {

management::Device device_of(uint64_t guid, bool fixed) {
  management::Device device;
  device.guid = guid;
  device.kind = EXRNIC_MANAGEMENT_KIND_SWITCH;
  device.fixed = fixed;
  device.ports = 0;
  device.nodes = EXRNIC_NODE_NONE;
  return device;
}

// Of the bits of floods.
uint8_t bit_of(unsigned port) { return static_cast<uint8_t>(0x80u >> port % 8); }

}  // namespace

SwitchAgent::SwitchAgent(Scheduler& scheduler, ManagedSwitch& owner, uint64_t guid, bool fixed)
    : Agent(device_of(guid, fixed)), scheduler_(scheduler), owner_(owner) {}

bool SwitchAgent::is_mine(const Bytes& wire) const {
  if (!management::is_management(wire)) return false;
  const uint64_t to = exrnic_eth_dst(wire.data());
  return to == management::kAnyone || (has_number() && to == mac());
}

void SwitchAgent::add_port(unsigned port) {
  device_.ports = static_cast<uint16_t>(std::max<unsigned>(device_.ports, port + 1));
}

void SwitchAgent::receive(unsigned from, Bytes&& wire, SimTime wait) {
  unsigned& in_hand = in_hand_[from];
  if (in_hand == kMostInHand || !remove_fcs(wire)) {
    ++counters_.dropped;
    return;
  }
  ++in_hand;
  works_until_ = std::max(scheduler_.now() + wait, works_until_) + kWorks;
  scheduler_.after(works_until_ - scheduler_.now(), [this, from, wire = std::move(wire)]() mutable {
    --in_hand_[from];
    take(from, std::move(wire));
  });
}

bool SwitchAgent::goes(bool /*answer*/, unsigned /*from*/, unsigned to) const {
  const auto state = owner_.port_state(to);
  return state && state->up;
}

void SwitchAgent::send(unsigned to, Bytes&& frame) {
  Room& waiting = waiting_[to];
  if (!waiting) waiting = std::make_shared<char>();
  if (waiting.use_count() > kMostWaiting) {
    ++counters_.dropped;
    return;
  }
  owner_.send_by(to, std::move(frame), waiting);
}

void SwitchAgent::send_routed(unsigned /*from*/, Bytes&& frame) {
  const uint64_t to = exrnic_eth_dst(frame.data());
  const auto port = owner_.route(static_cast<uint16_t>(to));
  if (port && management::mac_of(static_cast<uint16_t>(to)) == to) send(*port, std::move(frame));
}

// It asks nobody.
void SwitchAgent::deliver(Bytes&& /*frame*/) { ++counters_.dropped; }

void SwitchAgent::count(exrnic_counter which) {
  ++(which == EXRNIC_COUNTER_MANAGEMENT_SERVED ? counters_.served : counters_.dropped);
}

exrnic_management_status SwitchAgent::serve(exrnic_management_attribute attribute,
                                            uint32_t modifier, bool sets, uint8_t* data) {
  switch (attribute) {
    case EXRNIC_MANAGEMENT_ATTRIBUTE_PORTS:
      return sets ? EXRNIC_MANAGEMENT_STATUS_NO_ATTRIBUTE : serve_ports(modifier, data);
    case EXRNIC_MANAGEMENT_ATTRIBUTE_ROUTE_BLOCKS:
      return sets ? EXRNIC_MANAGEMENT_STATUS_NO_ATTRIBUTE : serve_route_blocks(modifier, data);
    case EXRNIC_MANAGEMENT_ATTRIBUTE_ROUTES:
      return serve_routes(modifier, sets, data);
    case EXRNIC_MANAGEMENT_ATTRIBUTE_FLOODS:
      return serve_floods(modifier, sets, data);
    default:
      return EXRNIC_MANAGEMENT_STATUS_NO_ATTRIBUTE;
  }
}

void SwitchAgent::put_port(unsigned port, uint8_t* data) const {
  const auto state = owner_.port_state(port);
  if (!state) return;
  exrnic_management_port_set_flags(data,
                                   EXRNIC_MANAGEMENT_PORT_FLAGS_EXISTS |
                                       (state->up ? EXRNIC_MANAGEMENT_PORT_FLAGS_UP : 0) |
                                       (state->credits ? EXRNIC_MANAGEMENT_PORT_FLAGS_CREDITS : 0));
  exrnic_management_port_set_changes(data, state->changes);
  exrnic_management_port_set_mbps(data, state->megabits_per_second);
}

exrnic_management_status SwitchAgent::serve_ports(uint32_t modifier, uint8_t* data) const {
  if (uint64_t{modifier} * EXRNIC_MANAGEMENT_PORTS >= device_.ports)
    return EXRNIC_MANAGEMENT_STATUS_NO_BLOCK;
  for (unsigned i = 0; i < EXRNIC_MANAGEMENT_PORTS; ++i)
    put_port(modifier * EXRNIC_MANAGEMENT_PORTS + i, data + i * EXRNIC_MANAGEMENT_PORT_BYTES);
  return EXRNIC_MANAGEMENT_STATUS_OK;
}

exrnic_management_status SwitchAgent::serve_route_blocks(uint32_t modifier, uint8_t* data) const {
  if (modifier != 0) return EXRNIC_MANAGEMENT_STATUS_NO_BLOCK;
  for (unsigned number = 0; number < EXRNIC_MAX_NODE; ++number) {
    const unsigned block = number / EXRNIC_MANAGEMENT_ROUTES;
    if (owner_.route(static_cast<uint16_t>(number))) data[block / 8] |= bit_of(block);
  }
  return EXRNIC_MANAGEMENT_STATUS_OK;
}

exrnic_management_status SwitchAgent::serve_routes(uint32_t modifier, bool sets, uint8_t* data) {
  if (modifier >= EXRNIC_MAX_NODE / EXRNIC_MANAGEMENT_ROUTES)
    return EXRNIC_MANAGEMENT_STATUS_NO_BLOCK;
  exrnic_management_status status = EXRNIC_MANAGEMENT_STATUS_OK;
  for (unsigned i = 0; sets && i < EXRNIC_MANAGEMENT_ROUTES; ++i) {
    const unsigned port = management::number_at(data + 2 * i);
    if (port != EXRNIC_PORT_NONE && !has_port(port)) status = EXRNIC_MANAGEMENT_STATUS_BAD_VALUE;
  }
  if (sets && status == EXRNIC_MANAGEMENT_STATUS_OK && device_.fixed)
    status = EXRNIC_MANAGEMENT_STATUS_FIXED;
  for (unsigned i = 0; i < EXRNIC_MANAGEMENT_ROUTES; ++i) {
    const auto number = static_cast<uint16_t>(modifier * EXRNIC_MANAGEMENT_ROUTES + i);
    uint8_t* const at = data + 2 * i;
    if (sets && status == EXRNIC_MANAGEMENT_STATUS_OK) {
      const unsigned port = management::number_at(at);
      owner_.set_route(number, port == EXRNIC_PORT_NONE ? std::nullopt : std::optional(port));
    }
    management::put_number(at, owner_.route(number).value_or(EXRNIC_PORT_NONE));
  }
  return status;
}

exrnic_management_status SwitchAgent::serve_floods(uint32_t modifier, bool sets, uint8_t* data) {
  if (uint64_t{modifier} * EXRNIC_MANAGEMENT_FLOODS >= device_.ports)
    return EXRNIC_MANAGEMENT_STATUS_NO_BLOCK;
  const auto port_at = [&](unsigned i) { return modifier * EXRNIC_MANAGEMENT_FLOODS + i; };
  exrnic_management_status status = EXRNIC_MANAGEMENT_STATUS_OK;
  for (unsigned i = 0; sets && i < EXRNIC_MANAGEMENT_FLOODS; ++i)
    if ((data[i / 8] & bit_of(i)) && !has_port(port_at(i)))
      status = EXRNIC_MANAGEMENT_STATUS_BAD_VALUE;
  if (sets && status == EXRNIC_MANAGEMENT_STATUS_OK && device_.fixed)
    status = EXRNIC_MANAGEMENT_STATUS_FIXED;
  for (unsigned i = 0; i < EXRNIC_MANAGEMENT_FLOODS; ++i) {
    uint8_t& at = data[i / 8];
    if (sets && status == EXRNIC_MANAGEMENT_STATUS_OK && has_port(port_at(i)))
      owner_.set_floods(port_at(i), at & bit_of(i));
    const auto state = owner_.port_state(port_at(i));
    at = static_cast<uint8_t>(state && state->floods ? at | bit_of(i) : at & ~bit_of(i));
  }
  return status;
}

void SwitchAgent::carrier_changed(unsigned port) {
  Agent::carrier_changed();
  if (!has_number() || device_.manager == EXRNIC_NODE_NONE) return;
  scheduler_.after(kWorks, [this, port] { tell(port); });
}

void SwitchAgent::tell(unsigned port) {
  const auto way = owner_.route(device_.manager);
  if (!way) return;
  Bytes frame(EXRNIC_MANAGEMENT_FRAME_BYTES);
  exrnic_eth_set_dst(frame.data(), management::mac_of(device_.manager));
  exrnic_eth_set_src(frame.data(), mac());
  exrnic_eth_set_ethertype(frame.data(), EXRNIC_MANAGEMENT_ETHERTYPE);
  uint8_t* const header = management::header(frame);
  exrnic_management_header_set_version(header, EXRNIC_MANAGEMENT_VERSION);
  exrnic_management_header_set_method(header, EXRNIC_MANAGEMENT_METHOD_TRAP);
  exrnic_management_header_set_attribute(header, EXRNIC_MANAGEMENT_ATTRIBUTE_PORTS);
  exrnic_management_header_set_modifier(header, port);
  put_port(port, management::data(frame));
  send(*way, std::move(frame));
}

}  // namespace exrnic
