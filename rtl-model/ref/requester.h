// SPDX-License-Identifier: BSD-2-Clause
// Executes work requests: one at a time, read, judged, cut into segments of the MTU, gathered.
#pragma once

#include "rtl-model/ref/dma_read.h"
#include "rtl-model/ref/efe_tx.h"
#include "rtl-model/ref/xlate.h"

namespace exrnic::ref {

class Requester {
 public:
  Requester(State& state, Xlate& xlate, DmaRead& dma_read, EfeTx& efe_tx)
      : state_(state), xlate_(xlate), dma_read_(dma_read), efe_tx_(efe_tx) {}

  void run();
  bool idle() const { return phase_ == Phase::kIdle; }

 private:
  enum class Phase {
    kIdle,
    kReading,  // waits for host memory
    kWindow,   // waits for room to send the next segment
  };

  QueuePair& qp() { return state_.qps[qpn_]; }

  void take_turn(uint32_t qpn);
  void fetch();
  void ready(exrnic_cqe_status status);
  void next_segment();
  void gather();
  void read_piece(const exrnic_sge& piece, size_t most);
  void fail(exrnic_cqe_status status);
  void submit();
  void end_work_request();

  size_t segment_length() const;
  exrnic_sge next_piece() const;  // the rest of the element that comes next
  Bytes ddp_header(bool last) const;

  State& state_;
  Xlate& xlate_;
  DmaRead& dma_read_;
  EfeTx& efe_tx_;

  Phase phase_ = Phase::kIdle;
  uint32_t qpn_ = 0;
  uint8_t generation_ = 0;
  bool receive_ = false;  // what is flushed is a receive
  uint16_t index_ = 0;
  exrnic_wqe wqe_{};
  exrnic_cqe_status status_ = EXRNIC_CQE_STATUS_SUCCESS;
  bool unreadable_ = false;  // its payload
  uint32_t submitted_ = 0;   // bytes of the message in segments before this one
  Bytes payload_;            // of this segment, as far as it is gathered
};

}  // namespace exrnic::ref
