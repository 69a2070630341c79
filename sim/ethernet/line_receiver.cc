// SPDX-License-Identifier: BSD-2-Clause
#include "sim/ethernet/line_receiver.h"

#include <utility>

#include "exrnic_hw.h"

namespace exrnic {

LineReceiver::LineReceiver(Scheduler& scheduler, const EthernetLinkConfig& config,
                           const FaultConfig& faults, uint64_t seed, WireReceiver& to)
    : scheduler_(scheduler),
      arrivals_(scheduler.entrance()),
      config_(config),
      faults_(faults, seed),
      to_(to) {}

LineReceiver::~LineReceiver() = default;

void LineReceiver::return_credits_to(CreditReceiver& near) {
  credits_ =
      std::make_shared<CreditReturn>(CreditReturn{scheduler_, config_.latency_ns * kPsPerNs, near});
}

// Free again when it is let go, here; the near end knows a latency later.
Room LineReceiver::room_of(const Bytes& wire) {
  if (!credits_) return {};
  return Room(credits_.get(), [line = std::weak_ptr<CreditReturn>(credits_),
                               bytes = line_bytes(wire.size())](void*) {
    if (const auto credits = line.lock())
      credits->near.credit_at(credits->scheduler.now() + credits->delay, bytes);
  });
}

void LineReceiver::arrive_at(SimTime time, Bytes&& wire) {
  arrivals_->at(time, [this, wire = std::move(wire)]() mutable {
    Room room = room_of(wire);
    arrive({std::move(wire), std::move(room)});
  });
}

void LineReceiver::arrive(Buffered&& frame) {
  switch (faults_.next()) {
    case Fault::kNone:
      return deliver(std::move(frame));
    case Fault::kDrop:
      ++counters_.dropped;
      return lose(Loss::kDropped, frame.wire);
    case Fault::kDuplicate:
      ++counters_.duplicated;
      deliver(Buffered(frame));
      return deliver(std::move(frame));
    case Fault::kReorder:
      ++counters_.reordered;
      return hold(std::move(frame));
    case Fault::kCorrupt:
      ++counters_.corrupted;
      lose(Loss::kCorrupted, frame.wire);
      faults_.corrupt(frame.wire);
      return deliver(std::move(frame));
    case Fault::kDelay:
      ++counters_.delayed;
      scheduler_.after(faults_.config().delay_ns * kPsPerNs,
                       [this, frame = std::move(frame)]() mutable { deliver(std::move(frame)); });
      return;
  }
}

bool LineReceiver::is_blocked(const Bytes& wire) const {
  return !blocked_.empty() && wire.size() >= EXRNIC_ETH_BYTES &&
         blocked_.count(exrnic_eth_src(wire.data())) != 0;
}

void LineReceiver::hand_over(Buffered&& frame) {
  if (!up_) {
    ++counters_.lost_down;
    return lose(Loss::kDown, frame.wire);
  }
  if (is_blocked(frame.wire)) {
    ++counters_.lost_partitioned;
    return lose(Loss::kPartitioned, frame.wire);
  }
  if (observer_) observer_(LinePoint::kLeaves, scheduler_.now(), frame.wire);
  to_.receive_buffered(std::move(frame.wire), std::move(frame.room));
}

void LineReceiver::deliver(Buffered&& frame) {
  hand_over(std::move(frame));
  release_passed();
}

void LineReceiver::hold(Buffered&& frame) {
  const uint64_t id = next_held_id_++;
  held_.push_back({id, faults_.config().reorder_frames, std::move(frame)});
  scheduler_.after(faults_.config().hold_ns * kPsPerNs, [this, id] { release_overdue(id); });
}

void LineReceiver::release_overdue(uint64_t id) {
  for (auto held = held_.begin(); held != held_.end(); ++held) {
    if (held->id != id) continue;
    Buffered frame = std::move(held->frame);
    held_.erase(held);
    return hand_over(std::move(frame));
  }
}

// A released frame does not count as a later frame for the others: they wait for new ones.
void LineReceiver::release_passed() {
  std::list<Held> passed;
  for (auto held = held_.begin(); held != held_.end();) {
    auto next = std::next(held);
    if (--held->frames_to_pass == 0) passed.splice(passed.end(), held_, held);
    held = next;
  }
  for (Held& held : passed) hand_over(std::move(held.frame));
}

}  // namespace exrnic
