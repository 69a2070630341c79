// SPDX-License-Identifier: BSD-2-Clause
// The far half of a line (ethernet_link.h): the faults of its wire, and delivery.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <set>

#include "rtl-model/systemc/scheduler.h"
#include "sim/ethernet/ethernet_config.h"
#include "sim/ethernet/faults.h"
#include "sim/ethernet/line_ends.h"
#include "sim/ethernet/loss.h"

namespace exrnic {

// Whoever stands at the end of a line: a MAC, a port of a switch.
class WireReceiver {
 public:
  virtual ~WireReceiver() = default;
  virtual void receive_wire(Bytes&& wire) = 0;

  // For who keeps the frame in the buffer that a line with flow control counts: it lies there as
  // long as `room` is held. Everybody else takes it out at once.
  virtual void receive_buffered(Bytes&& wire, Room /*room*/) { receive_wire(std::move(wire)); }
};

class LineReceiver final : public FrameArrivals {
 public:
  struct Counters {
    uint64_t dropped = 0;
    uint64_t duplicated = 0;
    uint64_t reordered = 0;
    uint64_t corrupted = 0;
    uint64_t delayed = 0;
    uint64_t lost_down = 0;         // the line was down
    uint64_t lost_partitioned = 0;  // their sender was blocked
  };

  LineReceiver(Scheduler& scheduler, const EthernetLinkConfig& config, const FaultConfig& faults,
               uint64_t seed, WireReceiver& to);
  ~LineReceiver() override;
  LineReceiver(const LineReceiver&) = delete;
  LineReceiver& operator=(const LineReceiver&) = delete;

  // Where credits go, before the first frame; it outlives this. Only of a line with flow control.
  void return_credits_to(CreditReceiver& near);

  // FrameArrivals
  void arrive_at(SimTime time, Bytes&& wire) override;

  void observe(LineObserver observer) { observer_ = std::move(observer); }
  void observe_losses(LossObserver observer) { loss_observer_ = std::move(observer); }
  void set_faults(const FaultConfig& faults, uint64_t seed) {
    faults_ = FaultInjector(faults, seed);
  }
  const FaultConfig& faults() const { return faults_.config(); }
  void set_up(bool up) { up_ = up; }
  bool up() const { return up_; }
  void block_senders(std::set<uint64_t> stations) { blocked_ = std::move(stations); }
  const Counters& counters() const { return counters_; }

 private:
  struct Buffered {
    Bytes wire;
    Room room;
  };
  struct Held {
    uint64_t id;
    unsigned frames_to_pass;
    Buffered frame;
  };
  struct CreditReturn {
    Scheduler& scheduler;
    SimTime delay;
    CreditReceiver& near;
  };

  Room room_of(const Bytes& wire);
  void arrive(Buffered&& frame);
  void deliver(Buffered&& frame);
  void hand_over(Buffered&& frame);
  bool is_blocked(const Bytes& wire) const;
  void lose(Loss loss, const Bytes& wire) const {
    if (loss_observer_) loss_observer_(loss, scheduler_.now(), wire);
  }
  void hold(Buffered&& frame);
  void release_overdue(uint64_t id);
  void release_passed();

  Scheduler& scheduler_;
  std::unique_ptr<Scheduler::Entrance> arrivals_;
  const EthernetLinkConfig config_;
  FaultInjector faults_;
  WireReceiver& to_;
  std::shared_ptr<CreditReturn> credits_;  // rooms may outlive the line
  Counters counters_;
  std::list<Held> held_;
  uint64_t next_held_id_ = 0;
  LineObserver observer_;
  LossObserver loss_observer_;
  bool up_ = true;
  std::set<uint64_t> blocked_;
};

}  // namespace exrnic
