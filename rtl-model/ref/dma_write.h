// SPDX-License-Identifier: BSD-2-Clause
// Writes of host memory and interrupts, in the order in which they were asked for: neither a CQE
// nor an interrupt overtakes the data that it speaks of.
#pragma once

#include <deque>
#include <functional>

#include "rtl-model/ref/state.h"

namespace exrnic::ref {

class DmaWrite {
 public:
  explicit DmaWrite(State& state) : state_(state) {}

  void write(uint64_t address, const uint8_t* data, size_t length);
  void fire(uint32_t vector);
  void then(std::function<void()> action);  // when all before it is handed to PCIe

  void run(CoreSink& sink);
  bool idle() const { return queue_.empty(); }

  // It asks whether it can write; the first of the next cycles in which it acts if nothing comes.
  bool asks() const { return !queue_.empty() && !queue_.front().action; }
  uint64_t next_act(CoreSink& sink) const {
    if (queue_.empty()) return kNever;
    return asks() ? sink.busy_cycles(CoreSink::Ready::kWrite) + 1 : 1;
  }

 private:
  struct Item {
    PostedWrite write;
    std::function<void()> action;  // instead of a write, if there is one
  };

  State& state_;
  std::deque<Item> queue_;
};

}  // namespace exrnic::ref
