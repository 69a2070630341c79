// SPDX-License-Identifier: BSD-2-Clause
// How many frames may be under way to a peer, and how far apart they leave. As with DCTCP
// (RFC 8257) the share of marked frames says by how much the window shrinks, here frame by frame:
// one that was marked, late or lost takes half a frame off it; others add a frame or two in a round
// trip.
#pragma once

#include <algorithm>
#include <cstdint>

#include "exrnic_hw.h"

namespace exrnic::ref {

class CongestionWindow {
 public:
  // May a frame leave behind so many that are under way?
  bool open(uint32_t under_way) const { return under_way == 0 || under_way < size_ / kFrame; }
  bool due(uint64_t cycle) const { return cycle >= due_; }
  uint64_t due_at() const { return due_; }

  // A frame leaves; a round trip takes `mean` cycles, 0: not measured yet. The largest window is
  // not paced.
  void sent(uint64_t cycle, uint64_t mean) {
    if (mean == 0 || size_ == kMost) {
      due_ = cycle;
      return;
    }
    const uint64_t interval = mean * kFrame * 3 / 4 / size_;
    due_ = std::max(due_ + interval, cycle);  // one frame may catch up
  }

  // An acknowledgement has ended `acked` frames, sent out of a flight of `under_way`.
  void acknowledged(uint32_t acked, uint32_t under_way, bool congested) {
    if (congested) return shrink(std::max(acked, 1u));
    if (acked == 0 || under_way < size_ / kFrame / 2) return;
    if (slow_start_) return grow(acked * kFrame);
    if (size_ < kFrame) return grow(acked * kFrame / 2);
    // One frame over the window for each, the window taken as a power of two.
    uint32_t window = kFrame;
    while (window * 2 <= size_) window *= 2;
    odd_ += acked;
    grow(odd_ * kFrame * kFrame / window);
    odd_ = window > kFrame * kFrame ? odd_ % 2 : 0;
  }
  void lost(uint32_t frames) {
    if (frames != 0) shrink(frames);
  }
  void timed_out() { set(size_ / 2); }

 private:
  static constexpr uint32_t kFrame = 16;  // the size counts sixteenths
  static constexpr uint32_t kLeast = 2;
  static constexpr uint32_t kMost = EXRNIC_WINDOW_MAX * kFrame;

  void shrink(uint32_t frames) { set(size_ - std::min(frames * kFrame / 2, size_ / 2)); }
  void set(uint32_t size) {
    size_ = std::max(size, kLeast);
    slow_start_ = false;
    odd_ = 0;
  }
  void grow(uint32_t by) { size_ = std::min(size_ + by, kMost); }

  uint32_t size_ = EXRNIC_WINDOW_INITIAL * kFrame;
  uint32_t odd_ = 0;  // a frame was acknowledged that is not worth a sixteenth by itself
  bool slow_start_ = true;
  uint64_t due_ = 0;
};

}  // namespace exrnic::ref
