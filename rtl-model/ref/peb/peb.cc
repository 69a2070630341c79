// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/peb/peb.h"

#include <algorithm>
#include <utility>

#include "rtl-model/ref/ddp_check.h"
#include "rtl-model/ref/terminate_message.h"

namespace exrnic::peb {

Peb::Peb(const CoreConfig& config, Side side, unsigned ports, PebSink& sink)
    : config_(config),
      side_(side),
      ports_(ports),
      sink_(sink),
      agent_(
          device_of(config, side, EXRNIC_MAX_NODE), config.link_up,
          [this](exrnic_counter which) { blocks_->state.count(which); }, *this) {
  check_config(config, ports);
  make_blocks();
}

void Peb::make_blocks() {
  const auto before = std::exchange(blocks_, std::make_unique<Blocks>(config_));
  State& state = blocks_->state;
  if (before != nullptr) {
    state.time_ns = before->state.time_ns;
    state.counters = before->state.counters;
  }
  for (unsigned number = 0; number < ports_; ++number)
    state.ports.emplace_back(state, blocks_->efe_tx, side_, number, sink_, counters_);
}

bool Peb::is_taken(unsigned port, const Peer& peer) const {
  const auto has_it = [&](const Port& other) { return other.peer() == peer; };
  const std::deque<Port>& ports = blocks_->state.ports;
  return !(port_of(port).peer() == peer) && std::any_of(ports.begin(), ports.end(), has_it);
}

void Peb::assign(unsigned port, const std::optional<Peer>& peer) {
  if (peer) check_peer(*peer, number(), is_taken(port, *peer));
  port_of(port).assign(peer);
}

// By a manager.
bool Peb::set_peer(unsigned port, const std::optional<Peer>& peer) {
  if (this->peer(port) == peer) return true;
  if (peer && (!agent_.has_number() || peer->node >= agent_.device().nodes ||
               peer->node == number() || is_taken(port, *peer)))
    return false;
  port_of(port).assign(peer);
  sink_.assigned(port);
  return true;
}

// Peers are those of the number that it had.
void Peb::begin_anew() {
  for (Port& port : blocks_->state.ports)
    if (port.peer()) port.assign(std::nullopt);
  config_.node_id = number();
  make_blocks();
  for (unsigned port = 0; port < ports_; ++port) sink_.assigned(port);
}

void Peb::write(unsigned port, uint64_t address, const Bytes& data) {
  port_of(port).write(address, data);
}

void Peb::request(unsigned port, BusRequest&& request) {
  port_of(port).request(std::move(request));
}

void Peb::complete(unsigned port, uint64_t name, exrnic_completion_status status,
                   const Bytes& data) {
  port_of(port).complete(name, status, data);
}

void Peb::receive_one(const Frame& frame) {
  if (management::is_management(frame.data)) {
    agent_.receive(frame);
    if (config_.node_id != number()) begin_anew();
  } else if (!agent_.is_nobody()) {
    blocks_->efe_rx.receive(frame);
  }
}

void Peb::step(uint64_t time_ns) {
  blocks_->state.time_ns = time_ns;
  for (; !frames_.empty(); frames_.pop_front()) receive_one(frames_.front());
  agent_.run(sink_);
  if (agent_.is_nobody()) return;
  State& state = blocks_->state;
  ++state.cycle;
  // Each is dealt with as it comes: for what a peer may send there is room.
  ref::EfeRx& efe_rx = blocks_->efe_rx;
  while (efe_rx.has_segment()) serve(efe_rx.take_segment());
  // A port judges by lives who has begun anew, and has credits of its own.
  state.restarted.clear();
  state.credits_heard.clear();
  for (Port& port : state.ports) port.run();
  blocks_->efe_tx.run(sink_);
}

// The group is in the number.
void Peb::serve(const ref::Received& segment) {
  if (segment.unreliable) {
    ++counters_.foreign;
    return;
  }
  ref::EfeRx& efe_rx = blocks_->efe_rx;
  if (efe_rx.is_stale(segment)) return efe_rx.placed(segment);
  const auto is_peer = [&](const Port& port) {
    return port.peer() && port.peer()->node == segment.node &&
           EXRNIC_PEB_QPN + port.peer()->group == segment.src_qpn;
  };
  std::deque<Port>& ports = blocks_->state.ports;
  const auto port = segment.src_qpn != segment.dst_qpn
                        ? ports.end()
                        : std::find_if(ports.begin(), ports.end(), is_peer);
  if (port != ports.end()) {
    if (port->take(segment)) return efe_rx.placed(segment);
    return refuse(segment);
  }
  ++counters_.foreign;
  // A refusal is heard by nobody here, and who only introduces himself waits for nothing.
  const uint8_t* ddp = segment.ddp.data();
  const bool waits =
      !ref::is_terminate(segment.ddp) && !(ref::is_introduction(ddp, segment.ddp.size()) &&
                                           exrnic_ddp_tagged_to(ddp) == EXRNIC_INTRODUCTION_PLAIN);
  return waits ? refuse(segment) : efe_rx.placed(segment);
}

void Peb::refuse(const ref::Received& segment) {
  ref::Segment message;
  message.node = segment.node;
  message.dst_qpn = segment.src_qpn;
  message.src_qpn = segment.dst_qpn;
  message.src_generation = segment.dst_generation;
  message.dst_generation = segment.src_generation;
  message.ddp = ref::terminate_message(EXRNIC_TERM_CODE_STREAM, segment.ddp);
  const auto told = blocks_->efe_rx.refuse(segment, std::move(message), std::nullopt);
  if (told != ref::EfeRx::Told::kPutOff) blocks_->efe_rx.placed(segment);
}

bool Peb::idle() const {
  return frames_.empty() && agent_.idle() && blocks_->efe_tx.idle() &&
         std::all_of(blocks_->state.ports.begin(), blocks_->state.ports.end(),
                     [](const Port& port) { return port.idle(); });
}

uint64_t Peb::wakes_at_ns() const {
  uint64_t wakes = Core::kNever;
  for (const Port& port : blocks_->state.ports) wakes = std::min(wakes, port.wakes_at_ns());
  return wakes;
}

std::unique_ptr<PebCore> make_ref_peb(const CoreConfig& config, Side side, unsigned ports,
                                      PebSink& sink) {
  return std::make_unique<Peb>(config, side, ports, sink);
}

}  // namespace exrnic::peb
