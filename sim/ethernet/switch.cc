// SPDX-License-Identifier: BSD-2-Clause
#include "sim/ethernet/switch.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "exrnic_hw.h"
#include "sim/ethernet/mac.h"
#include "sim/ethernet/marking.h"

namespace exrnic {
namespace {

// IEEE 802.3, 3.2.3: the first bit on the line, the least significant of the first byte.
bool is_group_address(const Bytes& wire) { return (wire[0] & 1) != 0; }

}  // namespace

Switch::Switch(Scheduler& scheduler, const Config& config, uint64_t guid, bool managed)
    : scheduler_(scheduler), config_(config), agent_(scheduler, *this, guid, !managed) {}

WireReceiver& Switch::add_port(unsigned port, uint64_t input_mbps) {
  if (port >= ports_.size()) ports_.resize(port + 1);
  auto& added = ports_[port];
  assert(added == nullptr);
  added = std::make_unique<Port>(*this, port, input_mbps);
  agent_.add_port(port);
  return *added;
}

Switch::Port* Switch::port_towards(uint64_t station) const {
  const auto number = static_cast<uint16_t>(station);
  return station == management::mac_of(number) ? port_at(routes_.at(number)) : nullptr;
}

std::optional<ManagedSwitch::PortState> Switch::port_state(unsigned port) const {
  const Port* const has = port_at(port);
  if (has == nullptr || has->output == nullptr) return std::nullopt;
  return PortState{has->up, config_.flow_control, has->changes,
                   has->output->config().megabits_per_second, has->floods};
}

std::optional<unsigned> Switch::route(uint16_t number) const {
  const unsigned port = routes_.at(number);
  return port == PortTable::kNone ? std::nullopt : std::optional(port);
}

void Switch::set_route(uint16_t number, std::optional<unsigned> port) {
  routes_.set(number, port.value_or(PortTable::kNone));
}

void Switch::send_by(unsigned port, Bytes&& frame, Room room) {
  append_fcs(frame);
  enqueue(*ports_.at(port), std::move(frame), std::move(room));
}

void Switch::set_carrier(unsigned port, bool up) {
  Port& has = *ports_.at(port);
  if (has.up == up) return;
  has.up = up;
  ++has.changes;
  agent_.carrier_changed(port);
}

std::vector<unsigned> Switch::ports() const {
  std::vector<unsigned> numbers;
  for (const auto& port : ports_)
    if (port) numbers.push_back(port->number);
  return numbers;
}

void Switch::receive(Port& from, Bytes&& wire, Room room) {
  ++from.counters.received;
  from.counters.received_bytes += wire.size();
  const bool whole = wire.size() >= EXRNIC_ETH_BYTES + kFcsBytes;
  if (!whole || (!config_.cut_through && !has_good_fcs(wire))) {
    ++from.counters.fcs_errors;
    return;
  }
  if (agent_.is_mine(wire)) {
    const SimTime wait = config_.latency_ns * kPsPerNs + rest(from, wire.size());
    return agent_.receive(from.number, std::move(wire), wait);
  }
  if (is_group_address(wire)) return flood(from, wire, room);
  Port* const to = port_towards(exrnic_eth_dst(wire.data()));
  if (to == nullptr || to == &from) {
    ++from.counters.unknown_station;
    return lose(from, Loss::kNoRoute, wire);
  }
  forward(from, *to, std::move(wire), std::move(room));
}

void Switch::flood(const Port& from, const Bytes& wire, const Room& room) {
  for (const auto& port : ports_) {
    if (port && port->floods && port.get() != &from) forward(from, *port, Bytes(wire), room);
  }
}

void Switch::forward(const Port& from, Port& to, Bytes&& wire, Room room) {
  const SimTime wait = delay(from, to, wire.size());
  scheduler_.after(wait, [this, &to, wire = std::move(wire), room = std::move(room)]() mutable {
    enqueue(to, std::move(wire), std::move(room));
  });
}

// A faster output would run dry if it began at the head: it waits for the tail.
SimTime Switch::delay(const Port& from, const Port& to, uint64_t wire_bytes) const {
  const SimTime latency = config_.latency_ns * kPsPerNs;
  const bool faster = to.output->config().megabits_per_second > from.input_mbps;
  return faster ? latency + rest(from, wire_bytes) : latency;
}

// Until the tail is here.
SimTime Switch::rest(const Port& from, uint64_t wire_bytes) const {
  if (!config_.cut_through || wire_bytes <= kCutThroughBytes) return 0;
  return Lane(from.input_mbps / 8).duration(wire_bytes - kCutThroughBytes);
}

void Switch::enqueue(Port& to, Bytes&& wire, Room room) {
  const uint64_t queued = to.output->queued_bytes() + line_bytes(wire.size());
  if (!config_.flow_control && queued > config_.queue_bytes) {
    ++to.counters.dropped;
    return lose(to, Loss::kQueueFull, wire);
  }
  to.counters.queue_high_water = std::max(to.counters.queue_high_water, queued);
  if (config_.mark_bytes != 0 && queued > config_.mark_bytes && mark_congestion(wire)) {
    ++to.counters.marked;
  }
  ++to.counters.sent;
  to.counters.sent_bytes += wire.size();
  to.output->send(std::move(wire), std::move(room));
}

SwitchCounters Switch::counters() const {
  SwitchCounters sum;
  for (const auto& port : ports_) {
    if (!port) continue;
    const SwitchCounters& c = port->counters;
    sum.received += c.received;
    sum.received_bytes += c.received_bytes;
    sum.fcs_errors += c.fcs_errors;
    sum.unknown_station += c.unknown_station;
    sum.sent += c.sent;
    sum.sent_bytes += c.sent_bytes;
    sum.marked += c.marked;
    sum.dropped += c.dropped;
    sum.queue_high_water = std::max(sum.queue_high_water, c.queue_high_water);
  }
  return sum;
}

}  // namespace exrnic
