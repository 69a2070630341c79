// SPDX-License-Identifier: BSD-2-Clause
// Answers RDMA Read Requests of the peer by Read Responses, segment by segment, and executes its
// Atomic Requests.
#pragma once

#include "rtl-model/ref/efe_tx.h"
#include "rtl-model/ref/scatter_gather.h"
#include "rtl-model/ref/turn.h"

namespace exrnic::ref {

class ReadServer {
 public:
  ReadServer(State& state, Turn& turn, Xlate& xlate, DmaRead& dma_read, DmaWrite& dma_write,
             EfeTx& efe_tx)
      : state_(state),
        turn_(turn),
        dma_write_(dma_write),
        efe_tx_(efe_tx),
        gather_(xlate, dma_read),
        scatter_(xlate, dma_write) {}

  // Of the response to the oldest request.
  void next_segment();

 private:
  void gathered(const Gather::Result& result);
  void submit(const Bytes& payload);
  void begin_atomic();
  void execute(const Gather::Result& found);
  void submit_atomic(uint64_t old);
  void lose();
  void refuse(exrnic_term_code code);
  Segment addressed() const;

  State& state_;
  Turn& turn_;
  DmaWrite& dma_write_;
  EfeTx& efe_tx_;
  Gather gather_;
  Scatter scatter_;
};

}  // namespace exrnic::ref
