// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/peb/peb.h"

#include <algorithm>

#include "rtl-model/ref/ddp_check.h"
#include "rtl-model/ref/terminate_message.h"

namespace exrnic::peb {

Peb::Peb(const CoreConfig& config, Side side, unsigned ports, PebSink& sink)
    : state_(config, EXRNIC_MAX_NODE, nullptr), sink_(sink) {
  check_config(config, ports);
  state_.settings.control = EXRNIC_DEVICE_CONTROL_ENABLE;
  efe_rx_.connect(efe_tx_);
  for (unsigned number = 0; number < ports; ++number)
    state_.ports.emplace_back(state_, efe_tx_, side, number, sink, counters_);
}

void Peb::assign(unsigned port, const std::optional<Peer>& peer) {
  const auto has_it = [&](const Port& other) { return other.peer() == peer; };
  if (peer)
    check_peer(*peer, state_.config.node_id,
               !(port_of(port).peer() == peer) &&
                   std::any_of(state_.ports.begin(), state_.ports.end(), has_it));
  port_of(port).assign(peer);
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

void Peb::step(uint64_t time_ns) {
  state_.time_ns = time_ns;
  ++state_.cycle;
  for (; !frames_.empty(); frames_.pop_front()) efe_rx_.receive(frames_.front());
  // Each is dealt with as it comes: for what a peer may send there is room.
  while (efe_rx_.has_segment()) serve(efe_rx_.take_segment());
  // A port judges by lives who has begun anew, and has credits of its own.
  state_.restarted.clear();
  state_.credits_heard.clear();
  for (Port& port : state_.ports) port.run();
  efe_tx_.run(sink_);
}

// The group is in the number.
void Peb::serve(const ref::Received& segment) {
  if (segment.unreliable) {
    ++counters_.foreign;
    return;
  }
  if (efe_rx_.is_stale(segment)) return efe_rx_.placed(segment);
  const auto is_peer = [&](const Port& port) {
    return port.peer() && port.peer()->node == segment.node &&
           EXRNIC_PEB_QPN + port.peer()->group == segment.src_qpn;
  };
  const auto port = segment.src_qpn != segment.dst_qpn
                        ? state_.ports.end()
                        : std::find_if(state_.ports.begin(), state_.ports.end(), is_peer);
  if (port != state_.ports.end()) {
    if (port->take(segment)) return efe_rx_.placed(segment);
    return refuse(segment);
  }
  ++counters_.foreign;
  // A refusal is heard by nobody here, and who only introduces himself waits for nothing.
  const uint8_t* ddp = segment.ddp.data();
  const bool waits =
      !ref::is_terminate(segment.ddp) && !(ref::is_introduction(ddp, segment.ddp.size()) &&
                                           exrnic_ddp_tagged_to(ddp) == EXRNIC_INTRODUCTION_PLAIN);
  return waits ? refuse(segment) : efe_rx_.placed(segment);
}

void Peb::refuse(const ref::Received& segment) {
  ref::Segment message;
  message.node = segment.node;
  message.dst_qpn = segment.src_qpn;
  message.src_qpn = segment.dst_qpn;
  message.src_generation = segment.dst_generation;
  message.dst_generation = segment.src_generation;
  message.ddp = ref::terminate_message(EXRNIC_TERM_CODE_STREAM, segment.ddp);
  const auto told = efe_rx_.refuse(segment, std::move(message), std::nullopt);
  if (told != ref::EfeRx::Told::kPutOff) efe_rx_.placed(segment);
}

bool Peb::idle() const {
  return frames_.empty() && efe_tx_.idle() &&
         std::all_of(state_.ports.begin(), state_.ports.end(),
                     [](const Port& port) { return port.idle(); });
}

uint64_t Peb::wakes_at_ns() const {
  uint64_t wakes = Core::kNever;
  for (const Port& port : state_.ports) wakes = std::min(wakes, port.wakes_at_ns());
  return wakes;
}

std::unique_ptr<PebCore> make_ref_peb(const CoreConfig& config, Side side, unsigned ports,
                                      PebSink& sink) {
  return std::make_unique<Peb>(config, side, ports, sink);
}

}  // namespace exrnic::peb
