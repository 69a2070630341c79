// SPDX-License-Identifier: BSD-2-Clause
// A store-and-forward Ethernet switch with a fixed table of stations. A frame is whole and has a
// good FCS before it is forwarded; it reaches its output queue after the switch's latency. A full
// output queue drops its newest frame (tail drop).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "sim/ethernet/ethernet_link.h"

namespace exrnic {

struct SwitchCounters {
  uint64_t forwarded = 0;
  uint64_t fcs_errors = 0;
  uint64_t unknown_station = 0;  // no such destination, or the sender's own port
  uint64_t tail_dropped = 0;
};

class Switch {
 public:
  struct Config {
    uint32_t latency_ns = 0;
    uint64_t queue_bytes = 0;  // of each output, counted with preamble and gap
  };

  Switch(Scheduler& scheduler, const Config& config);

  // Adds a port with the station that is reached through it, a 48-bit MAC address. Returns where
  // the station's outgoing line ends; it lives as long as the switch.
  WireReceiver& add_port(uint64_t station, EthernetLink& output);

  const SwitchCounters& counters() const { return counters_; }

 private:
  struct Port final : WireReceiver {
    Port(Switch& owner, EthernetLink& output) : owner(owner), output(output) {}
    void receive_wire(Bytes&& wire) override { owner.receive(*this, std::move(wire)); }
    Switch& owner;
    EthernetLink& output;
  };

  void receive(const Port& from, Bytes&& wire);
  void enqueue(EthernetLink& output, Bytes&& wire);

  Scheduler& scheduler_;
  Config config_;
  std::vector<std::unique_ptr<Port>> ports_;
  std::map<uint64_t, Port*> stations_;
  SwitchCounters counters_;
};

}  // namespace exrnic
