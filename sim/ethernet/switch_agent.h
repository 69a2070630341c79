// SPDX-License-Identifier: BSD-2-Clause
// The management agent of a switch (FABRIC.md): a processor beside it, which takes one frame after
// the other, and changes the tables that all others are forwarded by.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "rtl-model/ref/management/agent.h"
#include "rtl-model/systemc/scheduler.h"
#include "sim/ethernet/line_ends.h"

namespace exrnic {

// What an agent sees of its switch, and changes.
class ManagedSwitch {
 public:
  virtual ~ManagedSwitch() = default;
  struct PortState {
    bool up = false;
    bool credits = false;
    uint16_t changes = 0;
    uint64_t megabits_per_second = 0;
    bool floods = false;
  };
  virtual std::optional<PortState> port_state(unsigned port) const = 0;  // none: no such port
  virtual void set_floods(unsigned port, bool floods) = 0;
  // By the number of who is there; none: nobody.
  virtual std::optional<unsigned> route(uint16_t number) const = 0;
  virtual void set_route(uint16_t number, std::optional<unsigned> port) = 0;
  // A frame without FCS. `room` is let go when it has left.
  virtual void send_by(unsigned port, Bytes&& frame, Room room) = 0;
};

struct SwitchAgentCounters {
  uint64_t served = 0;   // requests answered
  uint64_t dropped = 0;  // malformed, with a foreign key, of no use, or too many at once
};

class SwitchAgent final : private management::Agent {
 public:
  // `fixed`: its routes are, and it gets no number.
  SwitchAgent(Scheduler& scheduler, ManagedSwitch& owner, uint64_t guid, bool fixed);

  // For whoever is here, or for this switch.
  bool is_mine(const Bytes& wire) const;
  // One that has come, with its FCS, at the end of `wait`.
  void receive(unsigned from, Bytes&& wire, SimTime wait);

  void add_port(unsigned port);
  void carrier_changed(unsigned port);

  const management::Device& device() const { return Agent::device(); }
  const SwitchAgentCounters& counters() const { return counters_; }

 private:
  // A processor with a program takes as long for a frame, and keeps so many of each port: who sends
  // more takes nobody's place but his own.
  static constexpr SimTime kWorks = 1'000 * kPsPerNs;
  static constexpr unsigned kMostInHand = 8;
  // So many of its frames wait for a line. They keep no room of the line by which they came: they
  // go anywhere, up behind down, too, and would close circles of frames that wait for each other.
  static constexpr long kMostWaiting = 16;

  bool goes(bool answer, unsigned from, unsigned to) const override;
  void send(unsigned to, Bytes&& frame) override;
  void send_routed(unsigned from, Bytes&& frame) override;
  void deliver(Bytes&& frame) override;
  exrnic_management_status serve(exrnic_management_attribute attribute, uint32_t modifier,
                                 bool sets, uint8_t* data) override;
  void count(exrnic_counter which) override;

  exrnic_management_status serve_ports(uint32_t modifier, uint8_t* data) const;
  exrnic_management_status serve_route_blocks(uint32_t modifier, uint8_t* data) const;
  exrnic_management_status serve_routes(uint32_t modifier, bool sets, uint8_t* data);
  exrnic_management_status serve_floods(uint32_t modifier, bool sets, uint8_t* data);
  void put_port(unsigned port, uint8_t* data) const;
  void tell(unsigned port);
  bool has_port(unsigned port) const { return owner_.port_state(port).has_value(); }

  Scheduler& scheduler_;
  ManagedSwitch& owner_;
  std::map<unsigned, Room> waiting_;      // by port: each frame that waits has it, too
  std::map<unsigned, unsigned> in_hand_;  // by port
  SimTime works_until_ = 0;
  SwitchAgentCounters counters_;
};

}  // namespace exrnic
