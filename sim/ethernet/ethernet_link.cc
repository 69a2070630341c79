// SPDX-License-Identifier: BSD-2-Clause
#include "sim/ethernet/ethernet_link.h"

#include <utility>

namespace exrnic {
namespace {

constexpr uint64_t kBitsPerByte = 8;

}  // namespace

EthernetLink::EthernetLink(Scheduler& scheduler, const Config& config, const FaultConfig& faults,
                           uint64_t seed, WireReceiver& to)
    : scheduler_(scheduler),
      config_(config),
      lane_(config.megabits_per_second / kBitsPerByte),
      faults_(faults, seed),
      to_(to) {}

void EthernetLink::send(Bytes&& wire) {
  ++counters_.frames;
  counters_.bytes += wire.size();
  const uint64_t on_line = kPreambleBytes + wire.size();
  const SimTime start = lane_.send(scheduler_.now(), on_line + kInterFrameGapBytes);
  const SimTime arrival = start + lane_.duration(on_line) + config_.latency_ns * kPsPerNs;
  const Fault fault = faults_.next();
  scheduler_.at(
      arrival, [this, fault, wire = std::move(wire)]() mutable { arrive(std::move(wire), fault); });
}

void EthernetLink::arrive(Bytes&& wire, Fault fault) {
  switch (fault) {
    case Fault::kNone:
      return deliver(std::move(wire));
    case Fault::kDrop:
      ++counters_.dropped;
      return;
    case Fault::kDuplicate:
      ++counters_.duplicated;
      deliver(Bytes(wire));
      return deliver(std::move(wire));
    case Fault::kReorder:
      ++counters_.reordered;
      return hold(std::move(wire));
    case Fault::kCorrupt:
      ++counters_.corrupted;
      faults_.corrupt(wire);
      return deliver(std::move(wire));
    case Fault::kDelay:
      ++counters_.delayed;
      scheduler_.after(faults_.config().delay_ns * kPsPerNs,
                       [this, wire = std::move(wire)]() mutable { deliver(std::move(wire)); });
      return;
  }
}

void EthernetLink::deliver(Bytes&& wire) {
  to_.receive_wire(std::move(wire));
  release_passed();
}

void EthernetLink::hold(Bytes&& wire) {
  const uint64_t id = next_held_id_++;
  held_.push_back({id, faults_.config().reorder_frames, std::move(wire)});
  scheduler_.after(faults_.config().hold_ns * kPsPerNs, [this, id] { release_overdue(id); });
}

void EthernetLink::release_overdue(uint64_t id) {
  for (auto held = held_.begin(); held != held_.end(); ++held) {
    if (held->id != id) continue;
    Bytes wire = std::move(held->wire);
    held_.erase(held);
    return to_.receive_wire(std::move(wire));
  }
}

// A released frame does not count as a later frame for the others: they wait for new ones.
void EthernetLink::release_passed() {
  std::list<Held> passed;
  for (auto held = held_.begin(); held != held_.end();) {
    auto next = std::next(held);
    if (--held->frames_to_pass == 0) passed.splice(passed.end(), held_, held);
    held = next;
  }
  for (Held& held : passed) to_.receive_wire(std::move(held.wire));
}

}  // namespace exrnic
