// SPDX-License-Identifier: BSD-2-Clause
// Answers RDMA Read Requests of the peer by Read Responses, segment by segment.
#pragma once

#include "rtl-model/ref/efe_tx.h"
#include "rtl-model/ref/scatter_gather.h"
#include "rtl-model/ref/turn.h"

namespace exrnic::ref {

class ReadServer {
 public:
  ReadServer(State& state, Turn& turn, Xlate& xlate, DmaRead& dma_read, EfeTx& efe_tx)
      : state_(state), turn_(turn), efe_tx_(efe_tx), gather_(xlate, dma_read) {}

  // Of the response to the oldest request.
  void next_segment();

 private:
  void gathered(const Gather::Result& result);
  void submit(const Bytes& payload);
  void lose();
  void refuse(exrnic_term_code code);
  Segment addressed() const;

  State& state_;
  Turn& turn_;
  EfeTx& efe_tx_;
  Gather gather_;
};

}  // namespace exrnic::ref
