// SPDX-License-Identifier: BSD-2-Clause
// Entries of page buffer lists in host memory. Keeps every line that it has read until a flush.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "rtl-model/ref/dma_read.h"
#include "rtl-model/ref/state.h"

namespace exrnic::ref {

class PblCache {
 public:
  // `good` is false when the host refused to read the list.
  using Done = std::function<void(bool good, uint64_t page_address)>;

  PblCache(State& state, DmaRead& dma_read) : state_(state), dma_read_(dma_read) {}

  // Whose list it is: a region in one of its lives, or a ring. What was read for another owner does
  // not count.
  struct Owner {
    bool ring = false;
    uint32_t index = 0;
    uint32_t life = 0;
    friend bool operator<(const Owner& a, const Owner& b) {
      return std::tie(a.ring, a.index, a.life) < std::tie(b.ring, b.index, b.life);
    }
  };

  std::optional<uint64_t> known(uint64_t entry_address, const Owner& owner);
  void read(uint64_t entry_address, const Owner& owner, Done done);  // one that is not known
  void flush() { lines_.clear(); }  // only while the core is at rest

 private:
  State& state_;
  DmaRead& dma_read_;
  std::map<std::pair<uint64_t, Owner>, Bytes> lines_;  // by bus address and owner
};

}  // namespace exrnic::ref
