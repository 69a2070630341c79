// SPDX-License-Identifier: BSD-2-Clause
// A management frame (FABRIC.md), from its destination MAC address on and without FCS.
#pragma once

#include <cstddef>
#include <cstdint>

#include "exrnic_hw.h"
#include "rtl-model/systemc/core.h"

namespace exrnic::management {

constexpr uint64_t kAnyone = uint64_t{EXRNIC_MAC_PREFIX} << 16 | EXRNIC_NODE_NONE;

inline uint64_t mac_of(uint16_t number) { return uint64_t{EXRNIC_MAC_PREFIX} << 16 | number; }

// `bytes`: of a frame, or of one with its FCS behind it.
inline bool is_management(const Bytes& bytes) {
  return bytes.size() >= EXRNIC_ETH_BYTES &&
         exrnic_eth_ethertype(bytes.data()) == EXRNIC_MANAGEMENT_ETHERTYPE;
}

inline uint8_t* header(Bytes& frame) { return frame.data() + EXRNIC_ETH_BYTES; }
inline const uint8_t* header(const Bytes& frame) { return frame.data() + EXRNIC_ETH_BYTES; }
inline uint8_t* data(Bytes& frame) { return frame.data() + EXRNIC_MANAGEMENT_DATA_AT; }

// Bytes of the path and of the data: a number of 16 bits at `at`.
inline uint16_t number_at(const uint8_t* at) { return static_cast<uint16_t>(at[0] << 8 | at[1]); }
inline void put_number(uint8_t* at, unsigned number) {
  at[0] = static_cast<uint8_t>(number >> 8);
  at[1] = static_cast<uint8_t>(number);
}

inline uint8_t* hop_of(Bytes& frame, unsigned hop) {
  return &frame[EXRNIC_MANAGEMENT_PATH_AT + size_t{2} * hop];
}

}  // namespace exrnic::management
