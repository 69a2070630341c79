// SPDX-License-Identifier: BSD-2-Clause
// PCIe's ordering rules (PCIe 2.4.1, table 2-40), for one direction.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <utility>

#include "rtl-model/ref/peb/tlp.h"

namespace exrnic::peb {

// `Any` is a variant in the order of enum Flow.
template <typename Any>
class OrderQueue {
 public:
  void push(Any&& tlp) {
    ++counts_[flow_of(tlp)];
    queue_.push_back(std::move(tlp));
  }
  void clear() {
    queue_.clear();
    counts_ = {};
  }
  bool empty() const { return queue_.empty(); }
  size_t count(Flow flow) const { return counts_[flow]; }

  // The first one that may go, if any: nothing passes a posted one, and nothing one of its own
  // flow. What cannot go by `may` is passed by others.
  template <typename May>
  bool take(May may, Any& taken) {
    std::array<bool, kFlows> waits{};
    for (auto at = queue_.begin(); at != queue_.end(); ++at) {
      const Flow flow = flow_of(*at);
      if (!waits[flow] && may(*at)) {
        taken = std::move(*at);
        queue_.erase(at);
        --counts_[flow];
        return true;
      }
      if (flow == kPosted) break;
      waits[flow] = true;
    }
    return false;
  }

 private:
  std::deque<Any> queue_;
  std::array<size_t, kFlows> counts_{};
};

}  // namespace exrnic::peb
