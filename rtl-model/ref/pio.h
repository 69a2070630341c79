// SPDX-License-Identifier: BSD-2-Clause
// PIO blocks: work requests that a process stores into its user page, whole.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>

#include "exrnic_hw.h"

namespace exrnic::ref {

// What a user page has of a block that is not complete; one at most. Bytes come in any order, each
// once. A store that does not fit gives up what there was, and is the first one of its own block.
class PioAssembly {
 public:
  struct Outcome {
    bool refused = false;             // a block is given up, or the store is no good
    std::optional<exrnic_wqe> block;  // complete with this store
  };

  // `offset`: in the PIO area; `data`: the little-endian value that is stored.
  Outcome store(uint32_t offset, uint32_t size, uint64_t data);
  void drop() { there_.reset(); }

 private:
  uint32_t number_ = 0;
  std::bitset<sizeof(exrnic_wqe)> there_;  // none: no block is begun
  exrnic_wqe block_{};
};

// A work request whose block is to be executed when its queue pair has its turn.
struct HeldWork {
  uint16_t index = 0;  // of its slot
  exrnic_wqe wqe{};
};

}  // namespace exrnic::ref
