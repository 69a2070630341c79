// SPDX-License-Identifier: BSD-2-Clause
#include "sim/ethernet/line_sender.h"

#include <algorithm>
#include <utility>

namespace exrnic {

void LineSender::send(Bytes&& wire, Room held) {
  ++counters_.frames;
  counters_.bytes += wire.size();
  waiting_bytes_ += line_bytes(wire.size());
  waiting_.push_back({std::move(wire), std::move(held)});
  start_waiting();
}

void LineSender::credit_at(SimTime time, uint64_t bytes) {
  returns_->at(time, [line = std::weak_ptr<LineSender*>(self_), bytes] {
    const auto self = line.lock();
    if (!self) return;
    (*self)->free_bytes_ += bytes;
    (*self)->start_waiting();
  });
}

// Credit is taken when a frame gets its place on the line, not when its first bit leaves: as frames
// leave in order, that delays none of them.
void LineSender::start_waiting() {
  while (!waiting_.empty() && has_room(waiting_.front())) {
    Waiting frame = std::move(waiting_.front());
    waiting_.pop_front();
    waiting_bytes_ -= line_bytes(frame.wire.size());
    start(std::move(frame));
  }
}

void LineSender::start(Waiting&& frame) {
  const uint64_t size = frame.wire.size();
  const uint64_t head =
      config_.head_bytes == 0 ? size : std::min<uint64_t>(config_.head_bytes, size);
  const SimTime start = lane_.send(scheduler_.now(), line_bytes(size));
  if (frame.held) {
    scheduler_.at(start + lane_.duration(kPreambleBytes + size), [held = std::move(frame.held)] {});
  }
  if (config_.buffer_bytes != 0) free_bytes_ -= line_bytes(size);
  if (observer_) {
    scheduler_.at(start, [this, wire = frame.wire] {
      observer_(LinePoint::kEnters, scheduler_.now(), wire);
    });
  }
  const SimTime latency = (config_.latency_ns + extra_latency_ns_) * kPsPerNs;
  last_arrival_ = std::max(last_arrival_, start + lane_.duration(kPreambleBytes + head) + latency);
  far_.arrive_at(last_arrival_, std::move(frame.wire));
}

}  // namespace exrnic
