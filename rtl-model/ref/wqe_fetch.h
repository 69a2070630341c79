// SPDX-License-Identifier: BSD-2-Clause
// Reads one work request, with all its slots, from a ring.
#pragma once

#include <functional>

#include "rtl-model/ref/dma_read.h"
#include "rtl-model/ref/work_request.h"
#include "rtl-model/ref/xlate.h"

namespace exrnic::ref {

struct Ring {
  uint64_t pbl = 0;
  uint32_t log_slots = 0;
  uint16_t consumer = 0;
  uint16_t producer = 0;  // not equal
};

// One at a time.
class WqeFetch {
 public:
  using Done = std::function<void(const WorkRequest& work)>;

  WqeFetch(Xlate& xlate, DmaRead& dma_read) : xlate_(xlate), dma_read_(dma_read) {}

  void fetch(const Ring& ring, Done done);

  // The same for a work request of one slot that is here already.
  void take(const Ring& ring, const exrnic_wqe& wqe, Done done);

 private:
  void begin(const Ring& ring, Done done);
  void read_slot();
  void unreadable();
  void take_slot(const Bytes& slot);
  void finish();

  Xlate& xlate_;
  DmaRead& dma_read_;
  Ring ring_;
  Done done_;
  WorkRequest work_;
  Bytes slots_;
};

}  // namespace exrnic::ref
