// SPDX-License-Identifier: BSD-2-Clause
// Entries of page buffer lists in host memory. Keeps every line that it has read until a flush.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "rtl-model/ref/dma_read.h"
#include "rtl-model/ref/state.h"

namespace exrnic::ref {

class PblCache {
 public:
  // `good` is false when the host refused to read the list.
  using Done = std::function<void(bool good, uint64_t page_address)>;

  PblCache(State& state, DmaRead& dma_read) : state_(state), dma_read_(dma_read) {}

  // `life`: of the region whose list it is; what was read in another one does not count.
  std::optional<uint64_t> known(uint64_t entry_address, uint32_t life);
  void read(uint64_t entry_address, uint32_t life, Done done);  // one that is not known
  void flush() { lines_.clear(); }                              // only while the core is at rest

 private:
  State& state_;
  DmaRead& dma_read_;
  std::map<std::pair<uint64_t, uint32_t>, Bytes> lines_;  // by bus address and life
};

}  // namespace exrnic::ref
