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

class Peb final : public PebCore {
 public:
  // See PebFactory.
  Peb(const CoreConfig& config, Side side, unsigned ports, PebSink& sink);

  void assign(unsigned port, const std::optional<Peer>& peer) override;
  bool is_up(unsigned port) const override { return port_of(port).is_up(); }
  bool has_room(unsigned port, Flow flow) const override { return port_of(port).has_room(flow); }
  void write(unsigned port, uint64_t address, const Bytes& data) override;
  void request(unsigned port, BusRequest&& request) override;
  void complete(unsigned port, uint64_t name, exrnic_completion_status status,
                const Bytes& data) override;
  void receive(Frame&& frame) override { frames_.push_back(std::move(frame)); }
  void step(uint64_t time_ns) override;
  bool idle() const override;
  uint64_t wakes_at_ns() const override;
  const Counters& counters() const override { return counters_; }
  uint64_t peek_counter(exrnic_counter which) const override { return state_.counters.at(which); }

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

// See PebFactory.
std::unique_ptr<PebCore> make_ref_peb(const CoreConfig& config, Side side, unsigned ports,
                                      PebSink& sink);

}  // namespace exrnic::peb
