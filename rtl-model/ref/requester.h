// SPDX-License-Identifier: BSD-2-Clause
// Gives queue pairs their turns: a work request, a part of a response to the peer, or in ERROR one
// of the things that are left to be ended.
#pragma once

#include "rtl-model/ref/read_server.h"
#include "rtl-model/ref/responder.h"
#include "rtl-model/ref/sender.h"
#include "rtl-model/ref/turn.h"

namespace exrnic::ref {

class Requester {
 public:
  Requester(State& state, Xlate& xlate, DmaRead& dma_read, DmaWrite& dma_write, EfeTx& efe_tx,
            Responder& responder)
      : state_(state),
        efe_tx_(efe_tx),
        responder_(responder),
        turn_(state),
        sender_(state, turn_, xlate, dma_read, efe_tx),
        read_server_(state, turn_, xlate, dma_read, dma_write, efe_tx) {}

  void run();
  bool idle() const { return turn_.phase == Turn::Phase::kIdle; }
  bool rests();  // does nothing until somebody gives it something to do, or room

 private:
  bool may_take_turn(uint32_t qpn);
  void take_turn(uint32_t qpn);
  void take_error_turn();
  void end_pauses();
  void look_after_pulls();
  void go_back();
  void ask();
  void introduce();
  void tell(const std::optional<Bytes>& refused);

  State& state_;
  EfeTx& efe_tx_;
  Responder& responder_;
  Turn turn_;
  Sender sender_;
  ReadServer read_server_;
  uint64_t interval_ = 0;     // of those that PULLs are looked after in
  bool serves_read_ = false;  // the turn is one of read_server_, else of sender_
};

}  // namespace exrnic::ref
