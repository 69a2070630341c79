// SPDX-License-Identifier: BSD-2-Clause
// The turn of a queue pair at the requester.
#pragma once

#include "rtl-model/ref/state.h"

namespace exrnic::ref {

class Turn {
 public:
  enum class Phase {
    kIdle,
    kReading,  // waits for host memory
    kWindow,   // waits for room to send the next segment
  };

  explicit Turn(State& state) : state_(state) {}

  void begin(uint32_t qpn) {
    qpn_ = qpn;
    generation_ = qp().generation;
    segments_ = 0;
  }
  void end(bool wake) {
    phase = Phase::kIdle;
    if (wake) state_.wake(qpn_);
  }

  // Counts a segment. True when others have waited long enough.
  bool over() { return ++segments_ >= kSegments && !state_.turns.empty(); }

  uint32_t qpn() const { return qpn_; }
  uint16_t generation() const { return generation_; }
  QueuePair& qp() { return state_.qps[qpn_]; }
  bool exists() { return qp().valid && qp().generation == generation_; }

  Phase phase = Phase::kIdle;

 private:
  static constexpr unsigned kSegments = 16;

  State& state_;
  uint32_t qpn_ = 0;
  uint16_t generation_ = 0;
  unsigned segments_ = 0;
};

}  // namespace exrnic::ref
