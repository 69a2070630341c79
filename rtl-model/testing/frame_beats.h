// SPDX-License-Identifier: BSD-2-Clause
// Frames as beats of the data path, and the other way round.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace exrnic::testing {

// Beat: bytes of the data path.
template <size_t Beat>
class FrameSource {
 public:
  std::deque<std::vector<uint8_t>> frames;
  bool waits() const { return !frames.empty(); }
  bool first() const { return at_ == 0; }
  bool last() const { return at_ + Beat >= frames.front().size(); }
  size_t bytes() const { return std::min(Beat, frames.front().size() - at_); }
  template <typename Data>
  void put(Data& data) const {
    for (size_t i = 0; i < bytes(); ++i)
      data[i / 4] = i % 4 == 0 ? frames.front()[at_ + i]
                               : data[i / 4] | uint32_t{frames.front()[at_ + i]} << (8 * (i % 4));
  }
  void taken() {
    at_ = last() ? 0 : at_ + Beat;
    if (at_ == 0) frames.pop_front();
  }
  void clear() {
    frames.clear();
    at_ = 0;
  }

 private:
  size_t at_ = 0;
};

template <size_t Beat>
class FrameDrain {
 public:
  std::vector<std::vector<uint8_t>> frames;
  bool broken = false;
  template <typename Data>
  void take(const Data& data, size_t bytes, bool first, bool last) {
    broken |= first != at_start_ || (!last && bytes != Beat);
    for (size_t i = 0; i < bytes; ++i)
      frame_.push_back(static_cast<uint8_t>(data[i / 4] >> (8 * (i % 4))));
    at_start_ = last;
    if (last) frames.push_back(std::exchange(frame_, {}));
  }
  void clear() {
    frames.clear();
    frame_.clear();
    at_start_ = true;
  }

 private:
  std::vector<uint8_t> frame_;
  bool at_start_ = true;
};

}  // namespace exrnic::testing
