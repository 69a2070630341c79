// SPDX-License-Identifier: BSD-2-Clause
// Finds out which of the frames that a core was given it has dropped or refused, and why: from its
// event counters, which both cores have. It knows when they count:
//
//   frames_rx and one of rx_*   when a frame is checked, one after the other as they come
//   rx_discarded, ...           of the segment that the responder has taken last
//
// A refusal says itself what it refuses, in the first frame that tells of it.
//
// Threads: none.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <optional>

#include "exrnic_hw.h"
#include "sim/trace/observer.h"

namespace exrnic::trace {

class ReceptionWatch {
 public:
  explicit ReceptionWatch(Observer& observer) : observer_(observer) {}

  void arrived(const Frame& frame);
  void looped() { arrivals_.push_back(std::nullopt); }  // the next that is checked was on no line
  // The responder takes a segment. In what was counted until now it had no part.
  void taken(const At& at, const Core& core, const exrnic_trace_args& segment);
  void transmitted(const At& at, const Frame& frame);
  // After each cycle.
  void look(const At& at, const Core& core);
  void reset();

 private:
  uint64_t news(const Core& core, unsigned counter);
  void look_at_checks(const At& at, const Core& core);
  void look_at_responder(const At& at, const Core& core);

  Observer& observer_;
  std::array<uint64_t, EXRNIC_COUNTERS> seen_ = {};
  // Not checked yet. Nothing: it cannot be lost here, or was noticed to be damaged before.
  std::deque<std::optional<Frame>> arrivals_;
  exrnic_trace_args segment_ = {};
  std::map<unsigned, unsigned> refusals_;  // by node: session and number of the last that was told
};

}  // namespace exrnic::trace
