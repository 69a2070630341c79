// SPDX-License-Identifier: BSD-2-Clause
// Segments for the tests of efe_tx.
#pragma once

#include "rtl-model/tiles/wire/efe_tx/efe_tx_bench.h"

namespace exrnic::testing {

constexpr uint32_t kFirst = EXRNIC_INITIAL_SEQ;

inline Bytes pattern(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  Bytes bytes(size);
  for (auto& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

// A tagged header: RDMA Write, last segment, STag 0x00a1b2c3, offset 0x1122334455667788.
inline const Bytes kTagged = {0xc1, 0x40, 0x00, 0xa1, 0xb2, 0xc3, 0x11,
                              0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88};
// An untagged one: Terminate, last segment, queue 2, MSN 1, offset 0.
inline const Bytes kUntagged = {0x41, 0x47, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0};

constexpr unsigned kTxPayloadSlots = kTxSlots - kTxSlotsPrompt;

inline TxDesc tagged(uint8_t slot, uint8_t node, uint16_t length, uint16_t index = 0) {
  TxDesc desc;
  desc.slot = slot;
  desc.node = node;
  desc.dst_qpn = 0x000203;
  desc.src_qpn = 0x000105;
  put_bytes(desc.ddp, kTagged);
  desc.length = length;
  desc.tag.wqe_index = index;
  return desc;
}

// Allocates, loads and submits a segment; its tag carries `index`.
inline uint8_t send(EfeTx& tx, uint8_t node, const Bytes& payload, uint16_t index = 0) {
  const uint8_t slot = tx.allocate();
  tx.submit(tagged(slot, node, static_cast<uint16_t>(payload.size()), index));
  tx.load(slot, payload);
  return slot;
}

inline Bytes join(Bytes first, const Bytes& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// Of all before `ack`, and of `arrived` behind `missing`; bit 0 is the next one.
inline RxAck selective(uint8_t node, uint32_t ack, uint32_t missing, uint32_t arrived) {
  return {node, session_to(node), ack, 0, false, true, missing, arrived};
}

// Acknowledges `count` frames to a node as they leave: more than its window allows at once.
inline void acknowledge_all(EfeTx& tx, uint8_t node, uint32_t count) {
  uint32_t seen = 0;
  for (uint32_t acked = 0; acked < count;) {
    tx.wait_for("the next frames", 2000, [&] { return tx.frames.size() > seen; });
    for (; seen < tx.frames.size(); ++seen) {
      const Frame& frame = tx.frames[seen];
      if (frame.dst_node() == node && frame.seq() == kFirst + acked) ++acked;
    }
    tx.acknowledge({node, session_to(node), kFirst + acked});
  }
}

}  // namespace exrnic::testing
