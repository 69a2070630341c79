// SPDX-License-Identifier: BSD-2-Clause
// Executes work requests: one at a time, read, judged, cut into segments of the MTU, gathered.
#pragma once

#include "rtl-model/ref/efe_tx.h"
#include "rtl-model/ref/scatter_gather.h"
#include "rtl-model/ref/turn.h"
#include "rtl-model/ref/wqe_fetch.h"

namespace exrnic::ref {

class Sender {
 public:
  Sender(State& state, Turn& turn, Xlate& xlate, DmaRead& dma_read, EfeTx& efe_tx)
      : state_(state),
        turn_(turn),
        xlate_(xlate),
        dma_read_(dma_read),
        efe_tx_(efe_tx),
        fetch_(xlate, dma_read),
        gather_(xlate, dma_read) {}

  // Takes the next work request, there is one: to execute it, or to end it as flushed. It need not
  // be read if it is held.
  void begin(bool flush, const std::optional<HeldWork>& held);
  void next_segment();

 private:
  exrnic_wqe_opcode_properties op() const { return work_.op(); }
  bool waits_for_peer();
  void wait_for_peer();
  bool may_begin();
  bool may_go_on();

  void forget_all_but_kind();
  void execute();
  bool takes_probe();
  bool waits_for_credit() const;
  void wait_for_credit();
  void invalidate();
  void register_fast();
  void bind();
  void end_revoked();
  void send_payload(const Bytes& payload);
  void send_immediate();

  void pull();
  void check_sinks(size_t from);
  void send_read_requests();
  Atomic atomic(uint16_t index) const;

  void fail(exrnic_cqe_status status);
  void end_unsent(exrnic_cqe_status status);
  void flush_alone(Segment& segment);
  void end_work_request();

  Segment segment(Tag::Kind kind);
  Bytes header(bool last);
  ElementList elements(uint32_t rights);

  State& state_;
  Turn& turn_;
  Xlate& xlate_;
  DmaRead& dma_read_;
  EfeTx& efe_tx_;
  WqeFetch fetch_;
  Gather gather_;

  WorkRequest work_;
  std::optional<HeldWork> held_;  // its first slot, if that came through the user page
  bool flush_ = false;
  exrnic_cqe_status status_ = EXRNIC_CQE_STATUS_SUCCESS;  // of its check
  uint32_t submitted_ = 0;  // bytes of the message in segments before this one
  bool begs_ = false;       // the segment in hand goes beyond what the peer has told of receives
  bool immediate_due_ = false;  // a PUSH_IMM whose bytes are all submitted
};

}  // namespace exrnic::ref
