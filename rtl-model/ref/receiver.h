// SPDX-License-Identifier: BSD-2-Clause
// The messages of queue SEND_QN: takes a receive for each, from the queue pair's own or its shared
// receive queue, places the bytes, and completes it.
#pragma once

#include <functional>
#include <optional>

#include "rtl-model/ref/completer.h"
#include "rtl-model/ref/scatter_gather.h"
#include "rtl-model/ref/segment.h"
#include "rtl-model/ref/wqe_fetch.h"

namespace exrnic::ref {

class Receiver {
 public:
  using Refusal = std::optional<exrnic_term_code>;  // nothing: the segment is placed
  using Done = std::function<void(Refusal refusal)>;

  Receiver(State& state, Xlate& xlate, DmaRead& dma_read, DmaWrite& dma_write, Completer& completer)
      : state_(state),
        completer_(completer),
        dma_read_(dma_read),
        fetch_(xlate, dma_read),
        scatter_(xlate, dma_write) {}

  // A segment with a good header, for this queue pair. `segment` stays until done() is called.
  void take(uint32_t qpn, const Received& segment, Done done);

  void tell_drained(uint32_t qpn);
  // Ends the message that is open, or else one receive of the queue pair's own queue, as flushed;
  // then calls done(true). With nothing to end, done(false).
  void flush(uint32_t qpn, std::function<void(bool ended)> done);

 private:
  QueuePair& qp() { return state_.qps[qpn_]; }
  Inbound& inbound() { return qp().at.inbound; }

  Refusal out_of_order();
  std::optional<Ring> ring();
  void consume(uint16_t slots);
  void take_receive(const Ring& ring);
  void place();
  void placed();
  void take_last();
  void complete();
  void fail(exrnic_cqe_status status, exrnic_term_code code);
  void tell_empty();
  void end_receive(uint16_t wqe_index, exrnic_cqe_status status);
  ReceiveEnded end_of(uint16_t wqe_index);
  Refusal invalidate();

  State& state_;
  Completer& completer_;
  DmaRead& dma_read_;
  WqeFetch fetch_;
  Scatter scatter_;
  uint32_t qpn_ = 0;
  const Received* segment_ = nullptr;
  Done done_;
};

}  // namespace exrnic::ref
