// SPDX-License-Identifier: BSD-2-Clause
// Where lines go from one process (rank) to another: what the near half of a line says to a far
// half that is elsewhere, and the other way round, is kept until it is fetched, and said there.
//
// A message is a line's number in the whole topology, a time, and a frame or a credit. Byte order
// is the machine's: all ranks run on machines of one kind.
//
// Threads: one half is on one island, so each line has an outbox of its own. Everything else is
// called while nothing is simulated.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "rtl-model/systemc/core.h"
#include "sim/ethernet/line_ends.h"

namespace exrnic {

class Border {
 public:
  Border();
  ~Border();
  Border(const Border&) = delete;
  Border& operator=(const Border&) = delete;

  // The other half of a line, which `rank` has. They live as long as the border.
  FrameArrivals& far_half(uint32_t line, unsigned rank);
  CreditReceiver& near_half(uint32_t line, unsigned rank);

  // Halves that are here, for what comes from elsewhere; nullptr: no longer.
  void set_far_half(uint32_t line, FrameArrivals* half) { arrivals_[line] = half; }
  void set_near_half(uint32_t line, CreditReceiver* half) { credits_[line] = half; }

  // When the first of what is kept, for any rank, happens there; kNothing if nothing is.
  SimTime first() const;
  static constexpr SimTime kNothing = ~SimTime{0};
  // What was said to halves of that rank since the last time, in the order of lines.
  Bytes take(unsigned rank);
  // What another rank has taken for this one. Throws std::runtime_error for what is none of that.
  void give(const Bytes& messages);

  bool empty() const { return outboxes_.empty(); }
  // The ranks with which a line is shared, each once, ascending.
  std::vector<unsigned> neighbours() const;

 private:
  class Outbox;
  Outbox& outbox(uint32_t line, unsigned rank);

  std::map<uint32_t, std::unique_ptr<Outbox>> outboxes_;  // by line
  std::map<uint32_t, FrameArrivals*> arrivals_;
  std::map<uint32_t, CreditReceiver*> credits_;
};

}  // namespace exrnic
