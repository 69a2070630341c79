// SPDX-License-Identifier: BSD-2-Clause
// The reference model of a PEB (PEB.md): PCIe transactions of its ports on one side, Ethernet
// frames on the other, without timing. EFE is the RNIC's.
//
// Threads: none of its own; one calls at a time.
#pragma once

#include <array>
#include <deque>
#include <memory>

#include "rtl-model/ref/peb/peb_agent.h"
#include "rtl-model/ref/peb/port.h"

namespace exrnic::peb {

class Peb final : public PebCore, private PebAgent::Ports {
 public:
  // See PebFactory.
  Peb(const CoreConfig& config, Side side, unsigned ports, PebSink& sink);

  void assign(unsigned port, const std::optional<Peer>& peer) override;
  std::optional<Peer> peer(unsigned port) const override { return port_of(port).peer(); }
  bool is_up(unsigned port) const override { return port_of(port).is_up(); }
  bool has_room(unsigned port, Flow flow) const override { return port_of(port).has_room(flow); }
  void write(unsigned port, uint64_t address, const Bytes& data) override;
  void request(unsigned port, BusRequest&& request) override;
  void complete(unsigned port, uint64_t name, exrnic_completion_status status,
                const Bytes& data) override;
  void receive(Frame&& frame) override { frames_.push_back(std::move(frame)); }
  void set_link(bool up) override { agent_.set_carrier(up); }
  uint16_t number() const override { return agent_.device().number; }
  void step(uint64_t time_ns) override;
  bool idle() const override;
  uint64_t wakes_at_ns() const override;
  const Counters& counters() const override { return counters_; }
  uint64_t peek_counter(exrnic_counter which) const override {
    return blocks_->state.counters.at(which);
  }

 private:
  struct State final : ref::EfeState {
    using EfeState::EfeState;
    ref::BrokenLives& broken(uint32_t port) override { return ports.at(port).broken; }
    void peer_is_dead(uint32_t /*node*/) override {}  // ports hear of what they have lost
    std::deque<Port> ports;
  };
  // All but the agent. Another number makes them anew.
  struct Blocks {
    explicit Blocks(const CoreConfig& config) : state(config, EXRNIC_MAX_NODE, nullptr) {
      state.settings.control = EXRNIC_DEVICE_CONTROL_ENABLE;
      efe_rx.connect(efe_tx);
    }
    State state;
    ref::EfeRx efe_rx{state};
    ref::Loopback loopback{state, efe_rx};
    ref::EfeTx efe_tx{state, efe_rx, loopback, [this](const ref::Ended& ended) {
                        state.ports.at(ended.tag.qpn).ended(ended);
                      }};
  };

  // PebAgent::Ports
  unsigned count() const override { return ports_; }
  std::optional<Peer> peer_of(unsigned port) const override { return peer(port); }
  bool set_peer(unsigned port, const std::optional<Peer>& peer) override;

  Port& port_of(unsigned port) { return blocks_->state.ports.at(port); }
  const Port& port_of(unsigned port) const { return blocks_->state.ports.at(port); }
  bool is_taken(unsigned port, const Peer& peer) const;
  void make_blocks();
  void receive_one(const Frame& frame);
  void begin_anew();
  void serve(const ref::Received& segment);
  void refuse(const ref::Received& segment);

  CoreConfig config_;
  const Side side_;
  const unsigned ports_;
  PebSink& sink_;
  Counters counters_;
  PebAgent agent_;
  std::unique_ptr<Blocks> blocks_;
  std::deque<Frame> frames_;
};

// See PebFactory.
std::unique_ptr<PebCore> make_ref_peb(const CoreConfig& config, Side side, unsigned ports,
                                      PebSink& sink);

}  // namespace exrnic::peb
