// SPDX-License-Identifier: BSD-2-Clause
// Credit-based flow control of one direction of a link: what its near end knows of the buffer at
// the far end. Nothing is sent that has no room there, so nothing is ever dropped for lack of it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "rtl-model/systemc/scheduler.h"

namespace exrnic {

// Room that a frame takes in a buffer, free again when the last copy is gone; empty where there is
// no flow control. It may outlive the line.
using Room = std::shared_ptr<void>;

class Credits {
 public:
  // `buffer_bytes` 0: no flow control. `return_delay`: the way of a credit back to the near end,
  // where `returned` is called with it. Room is let go at the far end.
  Credits(Scheduler& near, Scheduler& far, uint64_t buffer_bytes, SimTime return_delay,
          std::function<void()> returned)
      : state_(buffer_bytes == 0
                   ? nullptr
                   : std::make_shared<State>(State{far, near.entrance(), buffer_bytes, return_delay,
                                                   std::move(returned)})) {}

  bool suffice(uint64_t bytes) const { return !state_ || state_->free_bytes >= bytes; }

  Room take(uint64_t bytes) {
    if (!state_) return {};
    state_->free_bytes -= bytes;
    return Room(state_.get(), [line = std::weak_ptr<State>(state_), bytes](void*) {
      if (const auto state = line.lock()) give_back(state, bytes);
    });
  }

 private:
  struct State {
    Scheduler& far;
    std::unique_ptr<Scheduler::Entrance> back;
    uint64_t free_bytes;
    SimTime return_delay;
    std::function<void()> returned;
  };

  static void give_back(const std::shared_ptr<State>& state, uint64_t bytes) {
    const SimTime arrival = state->far.now() + state->return_delay;
    state->back->at(arrival, [line = std::weak_ptr<State>(state), bytes] {
      const auto state = line.lock();
      if (!state) return;
      state->free_bytes += bytes;
      state->returned();
    });
  }

  std::shared_ptr<State> state_;
};

}  // namespace exrnic
