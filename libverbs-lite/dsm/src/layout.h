// SPDX-License-Identifier: BSD-2-Clause
// The directory: what of the area is allocated, and which node is the home of a page. All nodes
// allocate alike, so all know it without a word; but the home of a page that goes to whom touches
// it first is known to its keeper alone, until another one asks.
#ifndef EXRNIC_DSM_LAYOUT_H
#define EXRNIC_DSM_LAYOUT_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace exrnic {

constexpr size_t kDsmPage = 4096;
constexpr unsigned kDsmNodesMax = 64;
constexpr size_t kDsmAreaMax = size_t{1} << 30;

class DsmLayout {
 public:
  DsmLayout(size_t bytes, unsigned nodes);

  // Throw DsmError. What they return is an offset, of a page.
  // Blocks, rounded up to pages, go to `first` and the nodes behind it in turn.
  size_t Allocate(size_t bytes, size_t block, unsigned first);
  // All of it to one node, the next one each time.
  size_t AllocateInTurn(size_t bytes);
  size_t AllocateForFirstTouch(size_t bytes);

  unsigned nodes() const { return nodes_; }
  uint32_t pages() const { return used_; }  // that are allocated
  bool HasHome(uint32_t page) const { return homes_[page] != kNone; }
  unsigned Home(uint32_t page) const { return homes_[page]; }
  void SetHome(uint32_t page, unsigned node) { homes_[page] = static_cast<uint8_t>(node); }
  // Who keeps the home of a page that has none at first.
  unsigned Keeper(uint32_t page) const { return page % nodes_; }
  // Of all that was allocated, to compare nodes by.
  uint64_t digest() const { return digest_; }

 private:
  static constexpr uint8_t kNone = 0xff;
  uint32_t Take(size_t bytes, uint64_t how);

  const unsigned nodes_;
  uint32_t used_ = 0;
  unsigned turn_ = 0;
  uint64_t digest_ = 0;
  std::vector<uint8_t> homes_;
};

}  // namespace exrnic

#endif  // EXRNIC_DSM_LAYOUT_H
