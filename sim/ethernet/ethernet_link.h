// SPDX-License-Identifier: BSD-2-Clause
// One direction of an Ethernet link: rate, latency, and the faults of its wire.
//
// A wire frame is destination MAC to FCS, 64 bytes or more; preamble and inter-frame gap are time
// on the line only. It is delivered whole, when its last bit has arrived.
#pragma once

#include <cstdint>
#include <list>

#include "sim/ethernet/faults.h"
#include "sim/time/lane.h"
#include "sim/time/scheduler.h"

namespace exrnic {

// Line time of a frame beside its bytes (IEEE 802.3, 3.1.1 and 4.4.2).
constexpr unsigned kPreambleBytes = 8;  // with start delimiter
constexpr unsigned kInterFrameGapBytes = 12;
constexpr unsigned kFcsBytes = 4;

// Whoever stands at the end of a line: a MAC, a port of a switch.
class WireReceiver {
 public:
  virtual ~WireReceiver() = default;
  virtual void receive_wire(Bytes&& wire) = 0;
};

struct EthernetLinkCounters {
  uint64_t frames = 0;  // accepted
  uint64_t bytes = 0;   // of wire frames
  uint64_t dropped = 0;
  uint64_t duplicated = 0;
  uint64_t reordered = 0;
  uint64_t corrupted = 0;
  uint64_t delayed = 0;
};

class EthernetLink {
 public:
  struct Config {
    uint64_t megabits_per_second = 25'000;
    uint32_t latency_ns = 500;
  };

  EthernetLink(Scheduler& scheduler, const Config& config, const FaultConfig& faults, uint64_t seed,
               WireReceiver& to);

  // Queues a wire frame behind those before it.
  void send(Bytes&& wire);

  // Wire frames, and their bytes with preamble and gap, that have not left yet.
  size_t queued_frames() { return lane_.queued_units(scheduler_.now()); }
  uint64_t queued_bytes() { return lane_.queued_bytes(scheduler_.now()); }

  const EthernetLinkCounters& counters() const { return counters_; }

 private:
  struct Held {
    uint64_t id;
    unsigned frames_to_pass;
    Bytes wire;
  };

  void arrive(Bytes&& wire, Fault fault);
  void deliver(Bytes&& wire);
  void hold(Bytes&& wire);
  void release_overdue(uint64_t id);
  void release_passed();

  Scheduler& scheduler_;
  Config config_;
  Lane lane_;
  FaultInjector faults_;
  WireReceiver& to_;
  EthernetLinkCounters counters_;
  std::list<Held> held_;
  uint64_t next_held_id_ = 0;
};

}  // namespace exrnic
