// SPDX-License-Identifier: BSD-2-Clause
// What the MACs of a testbed saw, in the order of time.
#pragma once

#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "exrnic_hw.h"
#include "rtl-model/ref/ddp_check.h"
#include "sim/ethernet/mac.h"
#include "sim/testbed.h"

namespace exrnic::testing {

struct CapturedFrame {
  uint64_t time_ns = 0;
  unsigned node = 0;  // whose MAC
  bool sent = false;  // else received
  bool good_fcs = false;
  Bytes headers;              // Ethernet and EFE; shorter only if the frame is
  uint32_t segment = 0;       // CRC-32 of what follows them, without FCS
  bool terminate = false;     // what follows them is a terminate message, numbered or a refusal,
  bool introduction = false;  // or a queue pair's introduction
};

class Capture {
 public:
  // Sees every frame from now on. It outlives the testbed's runs.
  void attach(Testbed& testbed) {
    for (unsigned node = 0; node < testbed.nodes(); ++node) {
      testbed.node(node).mac().observe(
          [this, &testbed, node](Mac::Direction direction, const Bytes& wire) {
            add(testbed.now_ns(), node, direction == Mac::Direction::kTransmit, wire);
          });
    }
  }

  std::vector<CapturedFrame> frames;

 private:
  void add(uint64_t time_ns, unsigned node, bool sent, const Bytes& wire) {
    const size_t headers = std::min<size_t>(wire.size(), EXRNIC_ETH_BYTES + EXRNIC_EFE_BYTES);
    const size_t end = std::max(headers, wire.size() - std::min<size_t>(wire.size(), kFcsBytes));
    const auto segment = crc32(0, wire.data() + headers, static_cast<uInt>(end - headers));
    frames.push_back({time_ns, node, sent, has_good_fcs(wire),
                      Bytes(wire.begin(), wire.begin() + static_cast<ptrdiff_t>(headers)),
                      static_cast<uint32_t>(segment), is_terminate(wire), is_introduction(wire)});
  }

  static bool is_introduction(const Bytes& wire) {
    const uint8_t* efe = wire.data() + EXRNIC_ETH_BYTES;
    return wire.size() >= EXRNIC_HEADER_TAGGED_BYTES &&
           (exrnic_efe_flags(efe) & EXRNIC_EFE_FLAGS_SEQ) != 0 &&
           ref::is_introduction(efe + EXRNIC_EFE_BYTES, exrnic_efe_length(efe));
  }

  static bool is_terminate(const Bytes& wire) {
    if (wire.size() < EXRNIC_HEADER_UNTAGGED_BYTES) return false;
    const uint8_t* efe = wire.data() + EXRNIC_ETH_BYTES;
    const uint8_t* ddp = efe + EXRNIC_EFE_BYTES;
    return exrnic_efe_length(efe) != 0 && exrnic_ddp_untagged_t(ddp) == 0 &&
           exrnic_ddp_untagged_opcode(ddp) == EXRNIC_RDMAP_OPCODE_TERMINATE;
  }
};

}  // namespace exrnic::testing
