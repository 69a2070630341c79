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
// room for it, and waits in front of the line until then.
//
// Its ends may lie on two islands of time (scheduler.h), the latency apart: the near one sends, and
// faults strike at the far one.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <set>

#include "rtl-model/systemc/scheduler.h"
#include "sim/ethernet/credits.h"
#include "sim/ethernet/ethernet_config.h"
#include "sim/ethernet/faults.h"
#include "sim/time/lane.h"

namespace exrnic {

// Line time of a frame beside its bytes (IEEE 802.3, 3.1.1 and 4.4.2).
constexpr unsigned kPreambleBytes = 8;  // with start delimiter
constexpr unsigned kInterFrameGapBytes = 12;
constexpr unsigned kFcsBytes = 4;

// Bytes of line time that a wire frame takes.
constexpr uint64_t line_bytes(uint64_t wire_bytes) {
  return kPreambleBytes + wire_bytes + kInterFrameGapBytes;
}

// Whoever stands at the end of a line: a MAC, a port of a switch.
class WireReceiver {
 public:
  virtual ~WireReceiver() = default;
  virtual void receive_wire(Bytes&& wire) = 0;

  // For who keeps the frame in the buffer that a line with flow control counts: it lies there as
  // long as `room` is held. Everybody else takes it out at once.
  virtual void receive_buffered(Bytes&& wire, Room /*room*/) { receive_wire(std::move(wire)); }
};

struct EthernetLinkCounters {
  uint64_t frames = 0;  // accepted
  uint64_t bytes = 0;   // of wire frames
  uint64_t dropped = 0;
  uint64_t duplicated = 0;
  uint64_t reordered = 0;
  uint64_t corrupted = 0;
  uint64_t delayed = 0;
  uint64_t lost_down = 0;         // the line was down
  uint64_t lost_partitioned = 0;  // their sender was blocked
};

class EthernetLink {
 public:
  using Config = EthernetLinkConfig;

  EthernetLink(Scheduler& near, Scheduler& far, const Config& config, const FaultConfig& faults,
               uint64_t seed, WireReceiver& to);

  // Queues a wire frame behind those before it. `held` is let go when its last bit has left.
  void send(Bytes&& wire, Room held = {});

  // Sees each wire frame when its first bit enters the line, at its near end, and when it is
  // delivered, at its far one.
  enum class Point { kEnters, kLeaves };
  using Observer = std::function<void(Point point, SimTime now, const Bytes& wire)>;
  void observe(Observer observer) { observer_ = std::move(observer); }

  // Other faults, for frames that arrive from now on; those of `seed` begin anew.
  void set_faults(const FaultConfig& faults, uint64_t seed) {
    faults_ = FaultInjector(faults, seed);
  }
  const FaultConfig& faults() const { return faults_.config(); }

  // What would arrive while the line is down is lost.
  void set_up(bool up) { up_ = up; }
  bool up() const { return up_; }

  // On top of the latency, for frames that enter from now on. No frame passes an earlier one.
  void set_extra_latency(uint64_t ns) { extra_latency_ns_ = ns; }
  uint64_t extra_latency_ns() const { return extra_latency_ns_; }

  // What would arrive from these stations (48-bit MAC addresses) is lost.
  void block_senders(std::set<uint64_t> stations) { blocked_ = std::move(stations); }

  // Wire frames, and their line bytes, that have not left yet.
  size_t queued_frames() { return waiting_.size() + lane_.queued_units(near_.now()); }
  // When fewer than `frames` have not left, if none comes; 0: they have, or wait for credit.
  SimTime fewer_than(size_t frames) const {
    return waiting_.empty() ? lane_.fewer_than(frames) : 0;
  }
  uint64_t queued_bytes() { return waiting_bytes_ + lane_.queued_bytes(near_.now()); }

  const Config& config() const { return config_; }
  const EthernetLinkCounters& counters() const { return counters_; }

 private:
  struct Buffered {
    Bytes wire;
    Room room;  // at the far end; of a waiting frame: what it holds at the near one
  };
  struct Held {
    uint64_t id;
    unsigned frames_to_pass;
    Buffered frame;
  };

  void start_waiting();
  void start(Buffered&& frame);
  void arrive(Buffered&& frame);
  void deliver(Buffered&& frame);
  void hand_over(Buffered&& frame);
  void show_entry(SimTime start, const Bytes& wire);
  bool is_blocked(const Bytes& wire) const;
  void hold(Buffered&& frame);
  void release_overdue(uint64_t id);
  void release_passed();

  Scheduler& near_;
  Scheduler& far_;
  std::unique_ptr<Scheduler::Entrance> arrivals_;
  Config config_;
  Lane lane_;
  FaultInjector faults_;
  WireReceiver& to_;
  Credits credits_;
  std::deque<Buffered> waiting_;  // for credit
  uint64_t waiting_bytes_ = 0;
  EthernetLinkCounters counters_;
  std::list<Held> held_;
  uint64_t next_held_id_ = 0;
  Observer observer_;
  bool up_ = true;
  uint64_t extra_latency_ns_ = 0;
  SimTime last_arrival_ = 0;
  std::set<uint64_t> blocked_;
};

}  // namespace exrnic
