// SPDX-License-Identifier: BSD-2-Clause
// One direction of an Ethernet link: rate, latency, and the faults of its wire.
//
// A wire frame is destination MAC to FCS, 64 bytes or more; preamble and inter-frame gap are time
// on the line only. It is delivered when its last bit has arrived, or, to who cuts through, when
// its head has.
//
// While frames are on it, the line can be cut and joined again, slowed down, given other faults,
// and made deaf to some senders.
//
// A line may have credit-based flow control: a frame leaves only when the buffer at the far end has
// room for it, and waits in front of the line until then. So nothing is ever dropped for lack of
// it.
//
// It has two halves, which may lie on two islands of time (scheduler.h), the latency apart: the
// near one sends, and faults strike at the far one. One of them may be in another process.
#pragma once

#include <cassert>
#include <cstdint>
#include <memory>
#include <set>
#include <utility>

#include "rtl-model/systemc/scheduler.h"
#include "sim/ethernet/ethernet_config.h"
#include "sim/ethernet/faults.h"
#include "sim/ethernet/line_ends.h"
#include "sim/ethernet/line_receiver.h"
#include "sim/ethernet/line_sender.h"
#include "sim/ethernet/loss.h"

namespace exrnic {

struct EthernetLinkCounters : LineSender::Counters, LineReceiver::Counters {};

class EthernetLink {
 public:
  using Config = EthernetLinkConfig;

  EthernetLink(Scheduler& near, Scheduler& far, const Config& config, const FaultConfig& faults,
               uint64_t seed, WireReceiver& to)
      : config_(config),
        receiver_(std::make_unique<LineReceiver>(far, config, faults, seed, to)),
        sender_(std::make_unique<LineSender>(near, config, *receiver_)) {
    if (config.buffer_bytes != 0) receiver_->return_credits_to(*sender_);
  }
  // The near half alone, and the far half alone; the other one outlives it.
  EthernetLink(Scheduler& near, const Config& config, FrameArrivals& far)
      : config_(config), sender_(std::make_unique<LineSender>(near, config, far)) {}
  EthernetLink(Scheduler& far, const Config& config, const FaultConfig& faults, uint64_t seed,
               WireReceiver& to, CreditReceiver& near)
      : config_(config), receiver_(std::make_unique<LineReceiver>(far, config, faults, seed, to)) {
    if (config.buffer_bytes != 0) receiver_->return_credits_to(near);
  }
  // Credits that are still to come back find no sender then.
  ~EthernetLink() { receiver_.reset(); }

  // nullptr: it is in another process.
  LineSender* sender() { return sender_.get(); }
  LineReceiver* receiver() { return receiver_.get(); }
  bool has_sender() const { return sender_ != nullptr; }
  bool has_receiver() const { return receiver_ != nullptr; }

  // ---- Of the near half, which must be here

  // Queues a wire frame behind those before it. `held` is let go when its last bit has left.
  void send(Bytes&& wire, Room held = {}) { sender_->send(std::move(wire), std::move(held)); }

  // On top of the latency, for frames that enter from now on. No frame passes an earlier one.
  void set_extra_latency(uint64_t ns) { sender_->set_extra_latency(ns); }
  uint64_t extra_latency_ns() const { return sender_->extra_latency_ns(); }

  // Wire frames, and their line bytes, that have not left yet.
  size_t queued_frames() { return sender_->queued_frames(); }
  SimTime fewer_than(size_t frames) const { return sender_->fewer_than(frames); }
  uint64_t queued_bytes() { return sender_->queued_bytes(); }

  // ---- Of the far half, which must be here

  // Other faults, for frames that arrive from now on; those of `seed` begin anew.
  void set_faults(const FaultConfig& faults, uint64_t seed) { receiver_->set_faults(faults, seed); }
  const FaultConfig& faults() const { return receiver_->faults(); }

  // What would arrive while the line is down is lost.
  void set_up(bool up) { receiver_->set_up(up); }
  bool up() const { return receiver_->up(); }

  // What would arrive from these stations (48-bit MAC addresses) is lost.
  void block_senders(std::set<uint64_t> stations) { receiver_->block_senders(std::move(stations)); }

  // Sees each frame that does not get to the far end, or not whole.
  void observe_losses(const LossObserver& observer) { receiver_->observe_losses(observer); }

  // ---- Of what is here

  using Point = LinePoint;
  using Observer = LineObserver;
  void observe(const Observer& observer) {
    if (sender_) sender_->observe(observer);
    if (receiver_) receiver_->observe(observer);
  }

  const Config& config() const { return config_; }
  EthernetLinkCounters counters() const {
    EthernetLinkCounters counters;
    if (sender_) static_cast<LineSender::Counters&>(counters) = sender_->counters();
    if (receiver_) static_cast<LineReceiver::Counters&>(counters) = receiver_->counters();
    return counters;
  }

 private:
  const Config config_;
  std::unique_ptr<LineReceiver> receiver_;
  std::unique_ptr<LineSender> sender_;
};

}  // namespace exrnic
