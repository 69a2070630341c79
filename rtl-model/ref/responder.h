// SPDX-License-Identifier: BSD-2-Clause
// Places received segments, and answers what it refuses by a terminate message (RFC 5040, 4.8).
#pragma once

#include "rtl-model/ref/dma_write.h"
#include "rtl-model/ref/efe_rx.h"
#include "rtl-model/ref/efe_tx.h"
#include "rtl-model/ref/xlate.h"

namespace exrnic::ref {

class Responder {
 public:
  Responder(State& state, Xlate& xlate, DmaWrite& dma_write, EfeRx& efe_rx, EfeTx& efe_tx)
      : state_(state), xlate_(xlate), dma_write_(dma_write), efe_rx_(efe_rx), efe_tx_(efe_tx) {}

  void run();
  bool idle() const { return phase_ == Phase::kIdle && efe_rx_.segments().empty(); }

 private:
  enum class Phase {
    kIdle,
    kPlacing,   // waits for a PBL
    kRefusing,  // waits until all before the segment is written
  };

  void judge();
  void take_terminate();
  void place(size_t offset);
  void refuse(exrnic_term_code code);
  void answer();
  void done();

  QueuePair* addressee() const;  // whom the segment is for; nullptr if no queue pair
  Segment terminate_message() const;

  State& state_;
  Xlate& xlate_;
  DmaWrite& dma_write_;
  EfeRx& efe_rx_;
  EfeTx& efe_tx_;

  Phase phase_ = Phase::kIdle;
  Received segment_;
  exrnic_term_code code_ = EXRNIC_TERM_CODE_STREAM;
  bool was_addressed_ = false;  // there was an addressee when the segment was judged
};

}  // namespace exrnic::ref
