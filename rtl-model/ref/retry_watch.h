// SPDX-License-Identifier: BSD-2-Clause
// Time-outs of queue pairs: looks after those whose work is under way, and finds those of which
// nothing was heard for too long. The completer ends them.
#pragma once

#include <set>
#include <utility>

#include "rtl-model/ref/state.h"

namespace exrnic::ref {

class RetryWatch {
 public:
  explicit RetryWatch(State& state) : state_(state) {}

  // An interval takes 2^timeout units, and begins when that bit of the time changes.
  void run() {
    const uint64_t tick = state_.time_ns >> EXRNIC_QP_TICK_SHIFT;
    const uint64_t changed = tick ^ std::exchange(tick_, tick);
    if (changed == 0) return;
    for (const uint32_t qpn : std::set<uint32_t>(state_.watched)) {
      QueuePair& qp = state_.qps[qpn];
      if (!qp.sends()) {
        state_.watched.erase(qpn);
      } else if (changed >> bit_of(qp.has.timeout) & 1) {
        if (!std::exchange(qp.at.heard, false))
          qp.at.timed_out |= ++qp.at.silent > qp.has.retry_count;
      }
    }
  }

 private:
  static unsigned bit_of(unsigned timeout) {
    const unsigned shift = EXRNIC_QP_TIMEOUT_SHIFT + timeout;
    return shift > EXRNIC_QP_TICK_SHIFT ? shift - EXRNIC_QP_TICK_SHIFT : 0;
  }

  State& state_;
  uint64_t tick_ = 0;
};

}  // namespace exrnic::ref
