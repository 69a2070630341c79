// SPDX-License-Identifier: BSD-2-Clause
#include "layout.h"

#include <string>

#include "dsm_error.h"

namespace exrnic {

DsmLayout::DsmLayout(size_t bytes, unsigned nodes)
    : nodes_(nodes), homes_(bytes / kDsmPage, kNone) {}

uint32_t DsmLayout::Take(size_t bytes, uint64_t how) {
  const size_t left = (homes_.size() - used_) * kDsmPage;
  if (bytes == 0 || bytes > left) {
    throw DsmError("size is " + std::to_string(bytes) + ": 1 to " + std::to_string(left) +
                   ", which are left of the area of " + std::to_string(homes_.size() * kDsmPage) +
                   " (JIA_AREA)");
  }
  const uint32_t first = used_;
  used_ += static_cast<uint32_t>((bytes + kDsmPage - 1) / kDsmPage);
  for (const uint64_t word : {uint64_t{bytes}, how})  // FNV-1a, of words
    digest_ = (digest_ ^ word) * 0x100000001b3 + 1;
  return first;
}

size_t DsmLayout::Allocate(size_t bytes, size_t block, unsigned first) {
  if (first >= nodes_) {
    throw DsmError("node is " + std::to_string(first) + ": 0 to " + std::to_string(nodes_ - 1));
  }
  if (block == 0) throw DsmError("block is 0: at least 1");
  const size_t most = homes_.size();
  const size_t of_block = block / kDsmPage >= most ? most : (block + kDsmPage - 1) / kDsmPage;
  const uint32_t begin = Take(bytes, of_block << 8 | first);
  for (uint32_t page = begin; page < used_; ++page)
    SetHome(page, static_cast<unsigned>((first + (page - begin) / of_block) % nodes_));
  return begin * kDsmPage;
}

size_t DsmLayout::AllocateInTurn(size_t bytes) {
  const size_t offset = Allocate(bytes, SIZE_MAX, turn_);
  turn_ = (turn_ + 1) % nodes_;
  return offset;
}

size_t DsmLayout::AllocateForFirstTouch(size_t bytes) {
  return Take(bytes, ~uint64_t{0}) * kDsmPage;
}

}  // namespace exrnic
