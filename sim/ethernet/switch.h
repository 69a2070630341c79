// SPDX-License-Identifier: BSD-2-Clause
// An Ethernet switch: any number of ports, a queue at each output, and an agent of fabric
// management, which may change its routes.
//
// A frame reaches its output queue after the switch's latency, counted from its last bit (store and
// forward: its FCS was checked) or from its first 64 bytes (cut-through: it goes on although its
// FCS may turn out wrong, as the end of its way will notice). A queue that has grown beyond a
// threshold marks what enters it. A full queue drops what would enter it (tail drop), unless the
// lines have credit-based flow control: then a frame stays in the buffer of the line it came from
// until it has left the switch, and queues are as long as those buffers make them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sim/ethernet/ethernet_config.h"
#include "sim/ethernet/ethernet_link.h"
#include "sim/ethernet/port_table.h"
#include "sim/ethernet/switch_agent.h"

namespace exrnic {

// Of one port, or summed over all. Bytes are those of wire frames.
struct SwitchCounters {
  uint64_t received = 0;
  uint64_t received_bytes = 0;
  uint64_t fcs_errors = 0;       // of those received, dropped: wrong FCS, or no whole header
  uint64_t unknown_station = 0;  // of those received, dropped: no route, or back to where it was
  uint64_t sent = 0;
  uint64_t sent_bytes = 0;
  uint64_t marked = 0;            // of those sent
  uint64_t dropped = 0;           // instead of sent: the output queue was full
  uint64_t queue_high_water = 0;  // most line bytes that its output queue held; no sum but the most
};

// What a cut-through switch has seen of a frame when it forwards it.
constexpr uint32_t kCutThroughBytes = 64;

class Switch final : private ManagedSwitch {
 public:
  using Config = SwitchConfig;

  // `guid`: its name to a fabric's manager. `managed`: that one may change its routes; else they
  // are those of set_routes().
  Switch(Scheduler& scheduler, const Config& config, uint64_t guid = 0, bool managed = false);

  // Adds a port and returns where its incoming line ends, which has a rate of `input_mbps`; it
  // lives as long as the switch.
  WireReceiver& add_port(unsigned port, uint64_t input_mbps);
  // Plugs in the port's outgoing line, before the first frame.
  void connect(unsigned port, EthernetLink& output) { ports_.at(port)->output = &output; }

  // By the number of the node that a frame goes to. It has all those ports.
  void set_routes(PortTable routes) { routes_ = std::move(routes); }
  // Frames to a group address leave through every such port but the one they came from. Among
  // switches these ports must form a tree.
  void flood_through(unsigned port) { ports_.at(port)->floods = true; }

  // The line of a port has its carrier again, or has lost it. (All have one in the beginning.)
  void set_carrier(unsigned port, bool up);
  const SwitchAgent& agent() const { return agent_; }

  // Sees each frame that the port's queue does not take, or that has come by it and goes nowhere.
  void observe_losses(unsigned port, LossObserver observer) {
    ports_.at(port)->loss_observer = std::move(observer);
  }

  std::vector<unsigned> ports() const;  // their numbers, sorted
  const SwitchCounters& port_counters(unsigned port) const { return ports_.at(port)->counters; }
  SwitchCounters counters() const;

 private:
  struct Port final : WireReceiver {
    Port(Switch& owner, unsigned number, uint64_t input_mbps)
        : owner(owner), number(number), input_mbps(input_mbps) {}
    void receive_wire(Bytes&& wire) override { receive_buffered(std::move(wire), {}); }
    void receive_buffered(Bytes&& wire, Room room) override {
      owner.receive(*this, std::move(wire), std::move(room));
    }
    Switch& owner;
    unsigned number;
    uint64_t input_mbps;
    EthernetLink* output = nullptr;
    bool floods = false;
    bool up = true;
    uint16_t changes = 0;  // of `up`
    SwitchCounters counters;
    LossObserver loss_observer;
  };

  std::optional<PortState> port_state(unsigned port) const override;
  void set_floods(unsigned port, bool floods) override { ports_.at(port)->floods = floods; }
  std::optional<unsigned> route(uint16_t number) const override;
  void set_route(uint16_t number, std::optional<unsigned> port) override;
  void send_by(unsigned port, Bytes&& frame, Room room) override;

  Port* port_at(unsigned number) const {  // nullptr: there is none
    return number < ports_.size() ? ports_[number].get() : nullptr;
  }
  Port* port_towards(uint64_t station) const;  // nullptr: there is no route
  void receive(Port& from, Bytes&& wire, Room room);
  void flood(const Port& from, const Bytes& wire, const Room& room);
  void forward(const Port& from, Port& to, Bytes&& wire, Room room);
  SimTime delay(const Port& from, const Port& to, uint64_t wire_bytes) const;
  SimTime rest(const Port& from, uint64_t wire_bytes) const;
  void enqueue(Port& to, Bytes&& wire, Room room);
  void lose(const Port& at, Loss loss, const Bytes& wire) const {
    if (at.loss_observer) at.loss_observer(loss, scheduler_.now(), wire);
  }

  Scheduler& scheduler_;
  Config config_;
  std::vector<std::unique_ptr<Port>> ports_;  // by number; nullptr where there is none
  PortTable routes_;
  SwitchAgent agent_;
};

}  // namespace exrnic
