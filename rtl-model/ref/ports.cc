// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/ports.h"

#include <cstring>
#include <utility>

#include "exrnic_registers.h"
#include "rtl-model/ref/ddp_check.h"
#include "rtl-model/ref/ddp_header.h"

namespace exrnic::ref {
namespace {

constexpr uint32_t kSpadBytes = 4 * EXRNIC_PORT_SPADS;

bool is_word(const MmioAccess& access) { return access.size == 4 && access.offset % 4 == 0; }

uint32_t place_of(const MmioAccess& access) {
  return (access.offset - EXRNIC_PORT_BASE) % EXRNIC_PORT_STRIDE;
}

uint32_t number_of(const MmioAccess& access) {
  return (access.offset - EXRNIC_PORT_BASE) / EXRNIC_PORT_STRIDE;
}

bool names_port(uint32_t qpn) {
  return qpn >= EXRNIC_PORT_QPN && qpn - EXRNIC_PORT_QPN < EXRNIC_PORTS;
}

bool in_spads(uint64_t to, uint32_t first) { return to >= first && to < first + kSpadBytes; }

bool names_spad(uint64_t to) {
  return to % 4 == 0 &&
         (in_spads(to, EXRNIC_PORT_TO_SPADS) || in_spads(to, EXRNIC_PORT_TO_PEER_SPADS));
}

}  // namespace

// ---- The driver

bool Ports::has(const MmioAccess& access) {
  return access.bar == EXRNIC_BAR_REGISTERS && access.offset >= EXRNIC_PORT_BASE &&
         access.offset <= EXRNIC_REG_PORTS_PENDING;
}

void Ports::write(const MmioAccess& access) {
  if (!is_word(access) || access.offset == EXRNIC_REG_PORTS_PENDING) return;
  const uint32_t number = number_of(access);
  const uint32_t place = place_of(access);
  const auto value = static_cast<uint32_t>(access.data);
  Port& port = ports_[number];
  switch (place) {
    case EXRNIC_REG_PORT_CONTROL:
      return enable(number, value & EXRNIC_PORT_CONTROL_ENABLE);
    case EXRNIC_REG_PORT_PEER:
      return set_peer(port, value);
    case EXRNIC_REG_PORT_VECTOR:
      if (registers::takes_port_vector(value)) port.vector = value;
      return;
    case EXRNIC_REG_PORT_EVENTS:
      port.events &= ~value;
      return;
    case EXRNIC_REG_PORT_BELLS_RUNG:
      port.bells &= ~value;
      return;
    case EXRNIC_REG_PORT_BELLS_MASK:
      if (port.bells & port.mask & ~value) dma_write_.fire(port.vector);
      port.mask = value;
      return;
    case EXRNIC_REG_PORT_RING:
      say_linked(number, EXRNIC_PORT_TO_BELLS, value);
      return;
    default:
      break;
  }
  if (registers::in_port_peer_spad(place))
    set_spad(number, port.peers, (place - EXRNIC_REG_PORT_PEER_SPAD) / 4, EXRNIC_PORT_TO_SPADS,
             value);
  if (registers::in_port_spad(place))
    set_spad(number, port.own, (place - EXRNIC_REG_PORT_SPAD) / 4, EXRNIC_PORT_TO_PEER_SPADS,
             value);
}

void Ports::set_spad(uint32_t number, Spads& spads, uint32_t index, uint32_t to, uint32_t value) {
  if (say_linked(number, to + 4 * index, value)) spads[index] = value;
}

uint64_t Ports::read(const MmioAccess& access) const {
  if (!is_word(access)) return UINT64_MAX;
  if (access.offset == EXRNIC_REG_PORTS_PENDING) return pending();
  const uint32_t place = place_of(access);
  const Port& port = ports_[number_of(access)];
  const auto as_read = [](uint32_t value) { return value == UINT32_MAX ? UINT64_MAX : value; };
  switch (place) {
    case EXRNIC_REG_PORT_CONTROL:
      return port.enabled ? EXRNIC_PORT_CONTROL_ENABLE : 0;
    case EXRNIC_REG_PORT_PEER:
      return port.node << 16 | port.peer;
    case EXRNIC_REG_PORT_VECTOR:
      return port.vector;
    case EXRNIC_REG_PORT_STATUS:
      return port.linked ? EXRNIC_PORT_STATUS_LINK_UP : 0;
    case EXRNIC_REG_PORT_EVENTS:
      return port.events;
    case EXRNIC_REG_PORT_BELLS_RUNG:
      return as_read(port.bells);
    case EXRNIC_REG_PORT_BELLS_MASK:
      return as_read(port.mask);
    default:
      break;
  }
  if (registers::in_port_peer_spad(place))
    return as_read(port.peers[(place - EXRNIC_REG_PORT_PEER_SPAD) / 4]);
  if (registers::in_port_spad(place)) return as_read(port.own[(place - EXRNIC_REG_PORT_SPAD) / 4]);
  return UINT64_MAX;
}

uint32_t Ports::pending() const {
  uint32_t pending = 0;
  for (uint32_t i = 0; i < EXRNIC_PORTS; ++i) {
    const Port& port = ports_[i];
    if (port.enabled && (port.events || port.bells & ~port.mask)) pending |= 1u << i;
  }
  return pending;
}

void Ports::set_peer(Port& port, uint32_t value) {
  const uint32_t node = value >> 16;
  const uint32_t peer = value & UINT16_MAX;
  if (port.enabled || !state_.has_node(node) || node == state_.config.node_id ||
      peer >= EXRNIC_PORTS)
    return;
  port.node = node;
  port.peer = peer;
}

void Ports::enable(uint32_t number, bool enable) {
  Port& port = ports_[number];
  if (port.enabled == enable || (enable && port.node == state_.config.node_id)) return;
  port.enabled = enable;
  port.linked = false;
  port.greets = enable;
  if (enable) {
    port.events = port.bells = 0;
    ++port.life;
    ++port.link;
    port.own = port.peers = {};
  }
  say_state(number, enable ? EXRNIC_PORT_STATE_HELLO : EXRNIC_PORT_STATE_DOWN);
}

// ---- Messages

void Ports::say(uint32_t number, uint32_t to, uint32_t data) {
  if (!state_.enabled()) return;
  const Port& port = ports_[number];
  Segment message;
  message.node = port.node;
  message.dst_qpn = EXRNIC_PORT_QPN + port.peer;
  message.src_qpn = EXRNIC_PORT_QPN + number;
  message.ddp = make_header(Tagged{EXRNIC_RDMAP_OPCODE_WRITE, true, EXRNIC_PORT_STAG,
                                   uint64_t{port.peer_life} << EXRNIC_PORT_LIFE_SHIFT | to});
  for (unsigned i = 0; i < EXRNIC_PORT_MESSAGE_BYTES; ++i)
    message.ddp.push_back(static_cast<uint8_t>(data >> (8 * i)));
  message.tag.kind = Tag::Kind::kPort;
  message.tag.qpn = number;
  message.tag.wqe_index = port.link;
  efe_tx_.submit(std::move(message));
}

void Ports::say_state(uint32_t number, uint32_t state) {
  const exrnic_port_says said = {static_cast<uint8_t>(state), ports_[number].life, {}};
  uint32_t data;
  std::memcpy(&data, &said, sizeof data);
  say(number, EXRNIC_PORT_TO_STATE, data);
}

bool Ports::say_linked(uint32_t number, uint32_t to, uint32_t data) {
  const bool linked = ports_[number].linked;
  if (linked) {
    say(number, to, data);
  } else {
    state_.count(EXRNIC_COUNTER_PORT_REFUSED);
  }
  return linked;
}

bool Ports::addressed(const Received& segment) { return names_port(segment.dst_qpn); }

void Ports::arrived(const Received& segment) {
  const uint8_t* ddp = segment.ddp.data();
  const bool good = segment.ddp.size() == EXRNIC_DDP_TAGGED_BYTES + EXRNIC_PORT_MESSAGE_BYTES &&
                    is_tagged(segment.ddp) && !header_error(segment.ddp) &&
                    exrnic_ddp_tagged_opcode(ddp) == EXRNIC_RDMAP_OPCODE_WRITE &&
                    exrnic_ddp_tagged_last(ddp) &&
                    exrnic_ddp_tagged_stag(ddp) == EXRNIC_PORT_STAG && names_port(segment.src_qpn);
  const uint32_t number = segment.dst_qpn - EXRNIC_PORT_QPN;
  const Port& port = ports_[number];
  const bool expected = good && port.enabled && port.node == segment.node &&
                        port.peer == segment.src_qpn - EXRNIC_PORT_QPN;
  uint32_t data = 0;
  for (unsigned i = 0; good && i < EXRNIC_PORT_MESSAGE_BYTES; ++i)
    data |= uint32_t{ddp[EXRNIC_DDP_TAGGED_BYTES + i]} << (8 * i);
  const bool taken = expected && hear(number, exrnic_ddp_tagged_to(ddp), data);
  state_.count(taken ? EXRNIC_COUNTER_PORT_MESSAGES : EXRNIC_COUNTER_PORT_REFUSED);
}

// What is meant for another life of the port was said before it was opened, or anew. Who speaks to
// this one while its link is down holds it for up, and is told.
bool Ports::hear(uint32_t number, uint64_t to_life, uint32_t data) {
  Port& port = ports_[number];
  const uint64_t to = to_life & ((1u << EXRNIC_PORT_LIFE_SHIFT) - 1);
  const bool is_meant = to_life >> EXRNIC_PORT_LIFE_SHIFT == port.life;
  if (to_life >> EXRNIC_PORT_LIFE_SHIFT > UINT8_MAX) return false;
  if (to == EXRNIC_PORT_TO_STATE) {
    exrnic_port_says said;
    std::memcpy(&said, &data, sizeof said);
    return data >> 16 == 0 && hear_state(number, is_meant, said);
  }
  if (!is_meant || (to != EXRNIC_PORT_TO_BELLS && !names_spad(to))) return false;
  if (!port.linked) {
    say_state(number, EXRNIC_PORT_STATE_NO_LINK);
    return false;
  }
  if (to == EXRNIC_PORT_TO_BELLS) {
    if (data & ~port.mask & ~port.bells) dma_write_.fire(port.vector);
    port.bells |= data;
  } else {
    hear_spad(number, to, data);
  }
  return true;
}

// Each side follows the order in which the writes have come to who has the scratchpad.
void Ports::hear_spad(uint32_t number, uint64_t to, uint32_t data) {
  Port& port = ports_[number];
  if (in_spads(to, EXRNIC_PORT_TO_PEER_SPADS)) {
    port.peers[(to - EXRNIC_PORT_TO_PEER_SPADS) / 4] = data;
  } else {
    const uint64_t index = (to - EXRNIC_PORT_TO_SPADS) / 4;
    port.own[index] = data;
    say(number, static_cast<uint32_t>(EXRNIC_PORT_TO_PEER_SPADS + 4 * index), data);
  }
}

// HELLO of a peer that we know: it has begun anew. UP and NO_LINK say which life of ours they
// answer. UP takes up no link that was up in it: it may be late, and what was said before it would
// count.
bool Ports::hear_state(uint32_t number, bool is_meant, const exrnic_port_says& said) {
  Port& port = ports_[number];
  const bool hello = said.state == EXRNIC_PORT_STATE_HELLO;
  const bool up = said.state == EXRNIC_PORT_STATE_UP;
  if (said.state > EXRNIC_PORT_STATE_NO_LINK) return false;
  if ((up || said.state == EXRNIC_PORT_STATE_NO_LINK) && !is_meant) return false;
  if (up && !port.linked && !port.greets) {
    say_state(number, EXRNIC_PORT_STATE_NO_LINK);
    return false;
  }
  if (!up) go(port, false);
  if (up || hello) port.peer_life = said.life;
  if ((!up && !hello) || !state_.config.link_up) return true;
  go(port, true);
  if (hello) say_state(number, EXRNIC_PORT_STATE_UP);
  return true;
}

void Ports::go(Port& port, bool up) {
  if (port.linked == up) return;
  port.linked = up;
  if (up) {
    port.greets = false;
    ++port.link;
    port.own = port.peers = {};
  }
  const uint32_t event = up ? EXRNIC_PORT_EVENT_LINK_UP : EXRNIC_PORT_EVENT_LINK_DOWN;
  if (!(port.events & event)) dma_write_.fire(port.vector);
  port.events |= event;
}

// What was said before this link came up may have had another peer, or one that has begun anew.
void Ports::ended(const Ended& message) {
  Port& port = ports_[message.tag.qpn];
  if (message.status != EXRNIC_CQE_STATUS_SUCCESS && message.tag.wqe_index == port.link)
    go(port, false);
}

void Ports::run() {
  for (const uint32_t node : std::exchange(state_.restarted, {}))
    for (Port& port : ports_)
      if (port.node == node) go(port, false);
  if (state_.config.link_up) return;
  for (Port& port : ports_) go(port, false);
}

}  // namespace exrnic::ref
