// SPDX-License-Identifier: BSD-2-Clause
// How a frame ends on its way, for who wants to know of each one.
#pragma once

#include <cstdint>
#include <functional>

#include "rtl-model/systemc/core.h"
#include "rtl-model/systemc/scheduler.h"

namespace exrnic {

enum class Loss : uint8_t {
  kDropped,      // a fault of the line: it vanishes
  kCorrupted,    // a fault of the line: it goes on, and the next check of its FCS drops it
  kDown,         // the line is down
  kPartitioned,  // the partition keeps its sender from its receiver
  kQueueFull,    // of a port of a switch
  kNoRoute,      // a switch knows no way to its station
};

// The wire frame as it was before.
using LossObserver = std::function<void(Loss loss, SimTime now, const Bytes& wire)>;

}  // namespace exrnic
