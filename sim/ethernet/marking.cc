// SPDX-License-Identifier: BSD-2-Clause
#include "sim/ethernet/marking.h"

#include "exrnic_hw.h"
#include "sim/ethernet/mac.h"

namespace exrnic {

bool mark_congestion(Bytes& wire) {
  constexpr size_t kLeast = EXRNIC_ETH_BYTES + EXRNIC_EFE_BYTES + kFcsBytes;
  if (wire.size() < kLeast || exrnic_eth_ethertype(wire.data()) != EXRNIC_ETHERTYPE) return false;
  if (!has_good_fcs(wire)) return false;
  wire.resize(wire.size() - kFcsBytes);
  uint8_t* efe = wire.data() + EXRNIC_ETH_BYTES;
  exrnic_efe_set_flags(efe, exrnic_efe_flags(efe) | EXRNIC_EFE_FLAGS_CE);
  append_fcs(wire);
  return true;
}

}  // namespace exrnic
