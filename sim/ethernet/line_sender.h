// SPDX-License-Identifier: BSD-2-Clause
// The near half of a line (ethernet_link.h): its lane, and what it knows of the buffer at the far
// end. A line without flow control has no credits; with it a frame leaves only when the buffer has
// room for it, and waits in front of the line until then.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

#include "rtl-model/systemc/scheduler.h"
#include "sim/ethernet/ethernet_config.h"
#include "sim/ethernet/line_ends.h"
#include "sim/time/lane.h"

namespace exrnic {

class LineSender final : public CreditReceiver {
 public:
  struct Counters {
    uint64_t frames = 0;  // accepted
    uint64_t bytes = 0;   // of wire frames
  };

  // `far` outlives it.
  LineSender(Scheduler& scheduler, const EthernetLinkConfig& config, FrameArrivals& far)
      : scheduler_(scheduler),
        config_(config),
        lane_(config.megabits_per_second / kBitsPerByte),
        free_bytes_(config.buffer_bytes),
        returns_(config.buffer_bytes == 0 ? nullptr : scheduler.entrance()),
        far_(far) {}

  // Queues a wire frame behind those before it. `held` is let go when its last bit has left.
  void send(Bytes&& wire, Room held = {});

  // CreditReceiver
  void credit_at(SimTime time, uint64_t bytes) override;

  void observe(LineObserver observer) { observer_ = std::move(observer); }

  // On top of the latency, for frames that enter from now on. No frame passes an earlier one.
  void set_extra_latency(uint64_t ns) { extra_latency_ns_ = ns; }
  uint64_t extra_latency_ns() const { return extra_latency_ns_; }

  // Wire frames, and their line bytes, that have not left yet.
  size_t queued_frames() { return waiting_.size() + lane_.queued_units(scheduler_.now()); }
  // When fewer than `frames` have not left, if none comes; 0: they have, or wait for credit.
  SimTime fewer_than(size_t frames) const {
    return waiting_.empty() ? lane_.fewer_than(frames) : 0;
  }
  uint64_t queued_bytes() { return waiting_bytes_ + lane_.queued_bytes(scheduler_.now()); }

  const Counters& counters() const { return counters_; }

 private:
  struct Waiting {
    Bytes wire;
    Room held;
  };

  bool has_room(const Waiting& frame) const {
    return config_.buffer_bytes == 0 || free_bytes_ >= line_bytes(frame.wire.size());
  }
  void start_waiting();
  void start(Waiting&& frame);

  Scheduler& scheduler_;
  const EthernetLinkConfig config_;
  Lane lane_;
  uint64_t free_bytes_;  // at the far end
  std::unique_ptr<Scheduler::Entrance> returns_;
  FrameArrivals& far_;
  std::deque<Waiting> waiting_;  // for credit
  uint64_t waiting_bytes_ = 0;
  Counters counters_;
  LineObserver observer_;
  uint64_t extra_latency_ns_ = 0;
  SimTime last_arrival_ = 0;
  const std::shared_ptr<LineSender*> self_ = std::make_shared<LineSender*>(this);
};

}  // namespace exrnic
