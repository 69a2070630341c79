// SPDX-License-Identifier: BSD-2-Clause
#include "sim/ethernet/ethernet_link.h"

#include <algorithm>
#include <utility>

#include "exrnic_hw.h"

namespace exrnic {
namespace {

constexpr uint64_t kBitsPerByte = 8;

}  // namespace

EthernetLink::EthernetLink(Scheduler& near, Scheduler& far, const Config& config,
                           const FaultConfig& faults, uint64_t seed, WireReceiver& to)
    : near_(near),
      far_(far),
      arrivals_(far.entrance()),
      config_(config),
      lane_(config.megabits_per_second / kBitsPerByte),
      faults_(faults, seed),
      to_(to),
      credits_(near, far, config.buffer_bytes, config.latency_ns * kPsPerNs,
               [this] { start_waiting(); }) {}

void EthernetLink::send(Bytes&& wire, Room held) {
  ++counters_.frames;
  counters_.bytes += wire.size();
  waiting_bytes_ += line_bytes(wire.size());
  waiting_.push_back({std::move(wire), std::move(held)});
  start_waiting();
}

// Credit is taken when a frame gets its place on the line, not when its first bit leaves: as frames
// leave in order, that delays none of them.
void EthernetLink::start_waiting() {
  while (!waiting_.empty() && credits_.suffice(line_bytes(waiting_.front().wire.size()))) {
    Buffered frame = std::move(waiting_.front());
    waiting_.pop_front();
    waiting_bytes_ -= line_bytes(frame.wire.size());
    start(std::move(frame));
  }
}

void EthernetLink::start(Buffered&& frame) {
  const uint64_t size = frame.wire.size();
  const uint64_t head =
      config_.head_bytes == 0 ? size : std::min<uint64_t>(config_.head_bytes, size);
  const SimTime start = lane_.send(near_.now(), line_bytes(size));
  if (frame.room) {
    near_.at(start + lane_.duration(kPreambleBytes + size), [held = std::move(frame.room)] {});
  }
  frame.room = credits_.take(line_bytes(size));
  if (observer_) show_entry(start, frame.wire);
  const SimTime latency = (config_.latency_ns + extra_latency_ns_) * kPsPerNs;
  const SimTime arrival = start + lane_.duration(kPreambleBytes + head) + latency;
  last_arrival_ = std::max(last_arrival_, arrival);
  arrivals_->at(last_arrival_,
                [this, frame = std::move(frame)]() mutable { arrive(std::move(frame)); });
}

void EthernetLink::arrive(Buffered&& frame) {
  switch (faults_.next()) {
    case Fault::kNone:
      return deliver(std::move(frame));
    case Fault::kDrop:
      ++counters_.dropped;
      return;
    case Fault::kDuplicate:
      ++counters_.duplicated;
      deliver(Buffered(frame));
      return deliver(std::move(frame));
    case Fault::kReorder:
      ++counters_.reordered;
      return hold(std::move(frame));
    case Fault::kCorrupt:
      ++counters_.corrupted;
      faults_.corrupt(frame.wire);
      return deliver(std::move(frame));
    case Fault::kDelay:
      ++counters_.delayed;
      far_.after(faults_.config().delay_ns * kPsPerNs,
                 [this, frame = std::move(frame)]() mutable { deliver(std::move(frame)); });
      return;
  }
}

void EthernetLink::show_entry(SimTime start, const Bytes& wire) {
  near_.at(start, [this, wire] { observer_(Point::kEnters, near_.now(), wire); });
}

bool EthernetLink::is_blocked(const Bytes& wire) const {
  return !blocked_.empty() && wire.size() >= EXRNIC_ETH_BYTES &&
         blocked_.count(exrnic_eth_src(wire.data())) != 0;
}

void EthernetLink::hand_over(Buffered&& frame) {
  if (!up_) {
    ++counters_.lost_down;
    return;
  }
  if (is_blocked(frame.wire)) {
    ++counters_.lost_partitioned;
    return;
  }
  if (observer_) observer_(Point::kLeaves, far_.now(), frame.wire);
  to_.receive_buffered(std::move(frame.wire), std::move(frame.room));
}

void EthernetLink::deliver(Buffered&& frame) {
  hand_over(std::move(frame));
  release_passed();
}

void EthernetLink::hold(Buffered&& frame) {
  const uint64_t id = next_held_id_++;
  held_.push_back({id, faults_.config().reorder_frames, std::move(frame)});
  far_.after(faults_.config().hold_ns * kPsPerNs, [this, id] { release_overdue(id); });
}

void EthernetLink::release_overdue(uint64_t id) {
  for (auto held = held_.begin(); held != held_.end(); ++held) {
    if (held->id != id) continue;
    Buffered frame = std::move(held->frame);
    held_.erase(held);
    return hand_over(std::move(frame));
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
  for (Held& held : passed) hand_over(std::move(held.frame));
}

}  // namespace exrnic
