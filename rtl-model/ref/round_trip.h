// SPDX-License-Identifier: BSD-2-Clause
// Round trip time of a peer and what follows from it, as in RFC 6298; all in core clock cycles.
#pragma once

#include <algorithm>
#include <cstdint>

#include "exrnic_hw.h"

namespace exrnic::ref {

class RoundTrip {
 public:
  void measured(uint64_t cycles) {
    if (mean_ == 0 || cycles < least_) least_ = cycles;
    if (mean_ == 0) {
      mean_ = std::max<uint64_t>(cycles, 1);
      deviation_ = cycles / 2;
      return;
    }
    const uint64_t error = cycles > mean_ ? cycles - mean_ : mean_ - cycles;
    mean_ = std::max<uint64_t>(cycles > mean_ ? mean_ + error / 8 : mean_ - error / 8, 1);
    deviation_ = deviation_ - deviation_ / 4 + error / 4;
  }

  // `longest`: RTO_CYCLES; `retries`: time-outs without progress.
  uint64_t time_out(uint64_t longest, uint32_t retries) const {
    const uint64_t measured = std::max<uint64_t>(mean_ + 4 * deviation_, EXRNIC_RTO_CYCLES_LEAST);
    const uint64_t base = mean_ == 0 ? uint64_t{EXRNIC_RTO_CYCLES_FIRST} : measured;
    return std::min(base << std::min(retries, 7u), longest);
  }

  // A frame that is older counts as lost when one that left later has arrived.
  uint64_t patience(uint64_t longest) const {
    return mean_ + std::min<uint64_t>(longest / 4, EXRNIC_REORDER_CYCLES);
  }

  // So long that queues must be: judged before it is measured.
  bool late(uint64_t cycles) const { return mean_ != 0 && cycles > least_ + EXRNIC_DELAY_CYCLES; }

  uint64_t mean() const { return mean_; }  // 0: not measured yet

 private:
  uint64_t mean_ = 0;
  uint64_t deviation_ = 0;
  uint64_t least_ = 0;
};

}  // namespace exrnic::ref
