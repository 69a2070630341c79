// SPDX-License-Identifier: BSD-2-Clause
// What has come to a core by its PCIe link and is not taken yet, in the order of PCIe (base
// specification, 2.4.1): stores pass no store, completions of reads and loads no store that came
// before them. So a core that does not take a store gets no completion behind it: whether it takes
// one must not depend on any completion.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>

#include "core.h"

namespace exrnic {

// Completion: a ReadCompletion, and what a core notes beside it.
template <typename Completion>
class Inbound {
 public:
  void store(const MmioAccess& access) {
    stores_.push_back(access);
    ++stored_;
  }
  void completion(Completion&& completion) {
    completions_.push_back({std::move(completion), stored_});
  }
  void load(const MmioAccess& access) { loads_.push_back({access, stored_}); }

  bool empty() const { return stores_.empty() && completions_.empty() && loads_.empty(); }
  void clear() {
    stores_.clear();
    completions_.clear();
    loads_.clear();
    stored_ = taken_ = 0;
  }

  // What may go now, of each kind.
  const MmioAccess* next_store() const { return stores_.empty() ? nullptr : &stores_.front(); }
  Completion* next_completion() { return may_go(completions_); }
  const MmioAccess* next_load() { return may_go(loads_); }

  void take_store() {
    stores_.pop_front();
    ++taken_;
  }
  void take_completion() { completions_.pop_front(); }
  void take_load() { loads_.pop_front(); }

 private:
  template <typename What>
  struct Behind {
    What what;
    uint64_t stores;  // so many
  };

  template <typename What>
  What* may_go(std::deque<Behind<What>>& queue) {
    const bool goes = !queue.empty() && queue.front().stores <= taken_;
    return goes ? &queue.front().what : nullptr;
  }

  std::deque<MmioAccess> stores_;
  std::deque<Behind<Completion>> completions_;
  std::deque<Behind<MmioAccess>> loads_;
  uint64_t stored_ = 0;  // stores that have come,
  uint64_t taken_ = 0;   // and that were taken
};

}  // namespace exrnic
