// SPDX-License-Identifier: BSD-2-Clause
// By which port a switch sends to whom.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace exrnic {

// A port for each node number, or none. A network has thousands of switches that know thousands of
// numbers each, and their tables are alike over long parts: a table consists of blocks, which any
// number of tables can share. So a block never changes; who sets a port has another block then.
class PortTable {
 public:
  static constexpr unsigned kNone = 0xffff;  // above every port
  static constexpr unsigned kBlockNumbers = 64;
  using Block = std::array<uint16_t, kBlockNumbers>;
  using SharedBlock = std::shared_ptr<const Block>;

  static Block empty_block() {
    Block block;
    block.fill(kNone);
    return block;
  }

  unsigned at(uint16_t number) const {
    const Block* const block = block_of(number);
    return block == nullptr ? kNone : (*block)[number % kBlockNumbers];
  }

  // Of the numbers from index * kBlockNumbers on.
  void set_block(size_t index, SharedBlock block) {
    if (index >= blocks_.size()) blocks_.resize(index + 1);
    blocks_[index] = std::move(block);
  }

  void set(uint16_t number, unsigned port) {
    const Block* const old = block_of(number);
    Block block = old == nullptr ? empty_block() : *old;
    block[number % kBlockNumbers] = static_cast<uint16_t>(port);
    set_block(number / kBlockNumbers, std::make_shared<const Block>(block));
  }

  // nullptr: no number there has a port.
  const std::vector<SharedBlock>& blocks() const { return blocks_; }

 private:
  const Block* block_of(uint16_t number) const {
    const size_t index = number / kBlockNumbers;
    return index < blocks_.size() ? blocks_[index].get() : nullptr;
  }

  std::vector<SharedBlock> blocks_;
};

}  // namespace exrnic
