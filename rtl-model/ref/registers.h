// SPDX-License-Identifier: BSD-2-Clause
// BAR 0: identification, configuration, the mailbox's registers, interrupt causes, counters.
#pragma once

#include "rtl-model/ref/dma_write.h"
#include "rtl-model/ref/events.h"
#include "rtl-model/ref/mailbox.h"
#include "rtl-model/ref/state.h"

namespace exrnic::ref {

class Registers {
 public:
  Registers(State& state, Mailbox& mailbox, Events& events, DmaWrite& dma_write)
      : state_(state), mailbox_(mailbox), events_(events), dma_write_(dma_write) {}

  void write(const MmioAccess& access);
  uint64_t read(const MmioAccess& access);  // all ones where there is no register

  void run();  // takes the causes that came, and fires

 private:
  uint32_t value_of(uint32_t offset);
  uint32_t counter_word(uint32_t offset);

  State& state_;
  Mailbox& mailbox_;
  Events& events_;
  DmaWrite& dma_write_;
  uint32_t int_cause_ = 0;
  uint32_t time_high_ = 0;
  uint32_t counter_high_ = 0;
};

}  // namespace exrnic::ref
