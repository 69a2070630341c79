// SPDX-License-Identifier: BSD-2-Clause
// Sends through PIO blocks: a work request of one slot is put into the ring and stored into the
// user page, in pieces that a test may cut and order as it likes.
#pragma once

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "tests/support/rnic_driver.h"

namespace exrnic::testing {

// A store into a block: 1, 2, 4 or 8 bytes from `at` on, naturally aligned.
struct PioStore {
  uint32_t at;
  uint32_t size;
};
using PioStores = std::vector<PioStore>;

inline PioStores pio_stores(uint32_t size = 8) {
  PioStores stores;
  for (uint32_t at = 0; at < sizeof(exrnic_wqe); at += size) stores.push_back({at, size});
  return stores;
}

// Any sizes, in any order.
template <typename Random>
PioStores random_pio_stores(Random& random) {
  PioStores stores;
  for (uint32_t at = 0; at < sizeof(exrnic_wqe); at += stores.back().size) {
    uint32_t size = 1u << random() % 4;
    while (at % size != 0) size /= 2;
    stores.push_back({at, size});
  }
  std::shuffle(stores.begin(), stores.end(), random);
  return stores;
}

// Block: exrnic_wqe, or exrnic_channel_work; `offset` in the page.
template <typename Block>
void store_block_at(RnicDriver& rnic, uint32_t page, uint32_t offset, const Block& block,
                    const PioStores& stores = pio_stores()) {
  static_assert(sizeof(Block) == sizeof(exrnic_wqe));
  for (const PioStore& store : stores) {
    uint64_t value = 0;
    std::memcpy(&value, reinterpret_cast<const uint8_t*>(&block) + store.at, store.size);
    rnic.host().store(EXRNIC_BAR_USER, page * EXRNIC_USER_PAGE_SIZE + offset + store.at, store.size,
                      value);
  }
}

inline void store_block(RnicDriver& rnic, uint32_t page, const exrnic_wqe& block,
                        const PioStores& stores = pio_stores(), uint32_t number = 0) {
  store_block_at(rnic, page, EXRNIC_PIO_AREA + number * static_cast<uint32_t>(sizeof block), block,
                 stores);
}

// The block that posts what was put into the ring last, which is this slot.
inline exrnic_wqe block_of(const QueuePair& qp, const Bytes& slot) {
  exrnic_wqe block = first_slot(slot);
  block.number = qp.qpn;
  block.index = qp.sq.index & 0xffff;
  return block;
}

// Puts work of one slot into the ring, without a doorbell; returns the block that would post it.
inline exrnic_wqe put_block(RnicDriver& rnic, QueuePair& qp, const Work& work) {
  rnic.put(qp, work);
  return block_of(qp, slots_of(work));
}

inline void post_by_pio(RnicDriver& rnic, QueuePair& qp, const Work& work,
                        const PioStores& stores = pio_stores(), uint32_t number = 0) {
  store_block(rnic, qp.page, put_block(rnic, qp, work), stores, number);
}

}  // namespace exrnic::testing
