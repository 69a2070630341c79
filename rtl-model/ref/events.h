// SPDX-License-Identifier: BSD-2-Clause
// Event queues: what has happened goes into rings of host memory, and fires their vectors.
#pragma once

#include "rtl-model/ref/dma_write.h"
#include "rtl-model/ref/state.h"

namespace exrnic::ref {

class Events {
 public:
  Events(State& state, DmaWrite& dma_write) : state_(state), dma_write_(dma_write) {}

  // A doorbell of an event queue.
  void ring(uint32_t eqn, uint32_t consumer, bool arm);

  void run();
  // Nothing is left to write but what waits for room.
  bool idle() const;

 private:
  bool tell(const Event& event);

  State& state_;
  DmaWrite& dma_write_;
};

}  // namespace exrnic::ref
