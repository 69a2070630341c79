// SPDX-License-Identifier: BSD-2-Clause
// Frames to the own node go round and are on no line. Of a datagram to a group to which a queue
// pair of this node is attached, a copy does.
#pragma once

#include <deque>

#include "rtl-model/ref/efe_rx.h"

namespace exrnic::ref {

class Loopback {
 public:
  Loopback(EfeState& state, EfeRx& efe_rx) : state_(state), efe_rx_(efe_rx) {}

  void transmit(FrameSink& sink, Frame&& frame);
  void run();  // what has gone round comes in
  bool idle() const { return frames_.empty(); }

 private:
  void go_round(FrameSink& sink, Frame&& frame);

  EfeState& state_;
  EfeRx& efe_rx_;
  std::deque<Frame> frames_;
};

}  // namespace exrnic::ref
