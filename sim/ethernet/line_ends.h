// SPDX-License-Identifier: BSD-2-Clause
// What the two halves of a line say to each other, and what they share. Either half may lie on
// another island of time than the other (scheduler.h), or in another process.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "rtl-model/systemc/core.h"
#include "rtl-model/systemc/scheduler.h"

namespace exrnic {

// Line time of a frame beside its bytes (IEEE 802.3, 3.1.1 and 4.4.2).
constexpr unsigned kPreambleBytes = 8;  // with start delimiter
constexpr unsigned kInterFrameGapBytes = 12;
constexpr unsigned kFcsBytes = 4;
constexpr uint64_t kBitsPerByte = 8;

// Bytes of line time that a wire frame takes.
constexpr uint64_t line_bytes(uint64_t wire_bytes) {
  return kPreambleBytes + wire_bytes + kInterFrameGapBytes;
}

// Room that a frame takes in a buffer, free again when the last copy is gone; empty where there is
// no flow control. It may outlive the line.
using Room = std::shared_ptr<void>;

// The far half, as the near one knows it: a frame arrives there at `time`, which lies the line's
// latency ahead or more, and never before one that was said earlier.
class FrameArrivals {
 public:
  virtual ~FrameArrivals() = default;
  virtual void arrive_at(SimTime time, Bytes&& wire) = 0;
};

// The near half, as the far one knows it: of a line with flow control so many line bytes of the
// buffer are known to be free again at `time`, which lies the line's latency ahead.
class CreditReceiver {
 public:
  virtual ~CreditReceiver() = default;
  virtual void credit_at(SimTime time, uint64_t bytes) = 0;
};

// Sees each wire frame when its first bit enters the line, at its near end, and when it is
// delivered, at its far one.
enum class LinePoint { kEnters, kLeaves };
using LineObserver = std::function<void(LinePoint point, SimTime now, const Bytes& wire)>;

}  // namespace exrnic
