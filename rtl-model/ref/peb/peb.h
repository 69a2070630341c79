// SPDX-License-Identifier: BSD-2-Clause
// The reference model of a PEB (PEB.md): PCIe transactions of its ports on one side, Ethernet
// frames on the other, without timing. EFE is the RNIC's.
//
// Threads: none of its own; one calls at a time.
#pragma once

#include <array>
#include <deque>
#include <vector>

#include "rtl-model/ref/peb/port.h"

namespace exrnic::peb {

class Peb {
 public:
  // Of `config` node_id, max_payload, max_read and read_timeout_shift count. `sink` must outlive
  // it.
  Peb(const CoreConfig& config, Side side, unsigned ports, PebSink& sink);

  // Who a port is joined to from now on, if anybody. No two ports have the same peer.
  void assign(unsigned port, const std::optional<Peer>& peer);
  bool is_up(unsigned port) const { return port_of(port).is_up(); }

  // From the bus of a port, which begins nothing that it has no room for; completions are taken at
  // any time. Writes of memory are posted: they are dropped while the link is down.
  bool has_room(unsigned port, Flow flow) const { return port_of(port).has_room(flow); }
  void write(unsigned port, uint64_t address, const Bytes& data);
  void request(unsigned port, BusRequest&& request);
  // How a request of the sink has ended; `data`: of a successful read what it asked for.
  void complete(unsigned port, uint64_t name, exrnic_completion_status status, const Bytes& data);

  void receive(Frame&& frame) { frames_.push_back(std::move(frame)); }

  // As those of a Core.
  void step(uint64_t time_ns);
  bool idle() const;
  uint64_t wakes_at_ns() const;

  const Counters& counters() const { return counters_; }
  uint64_t peek_counter(exrnic_counter which) const { return state_.counters.at(which); }  // of EFE

 private:
  struct State final : ref::EfeState {
    using EfeState::EfeState;
    ref::BrokenLives& broken(uint32_t port) override { return ports.at(port).broken; }
    void peer_is_dead(uint32_t /*node*/) override {}  // ports hear of what they have lost
    std::deque<Port> ports;
  };

  Port& port_of(unsigned port) { return state_.ports.at(port); }
  const Port& port_of(unsigned port) const { return state_.ports.at(port); }
  void serve(const ref::Received& segment);
  void refuse(const ref::Received& segment);

  State state_;
  Counters counters_;
  PebSink& sink_;
  ref::EfeRx efe_rx_{state_};
  ref::Loopback loopback_{state_, efe_rx_};
  ref::EfeTx efe_tx_{state_, efe_rx_, loopback_,
                     [this](const ref::Ended& ended) { port_of(ended.tag.qpn).ended(ended); }};
  std::deque<Frame> frames_;
};

}  // namespace exrnic::peb
