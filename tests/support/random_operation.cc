// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/random_operation.h"

#include <fmt/core.h>

namespace exrnic::testing {

Place place_of(Memory memory, unsigned pair_or_domain) {
  const auto kind = static_cast<uint32_t>(memory);
  const uint32_t index = 100 * (kind + 1) + pair_or_domain;
  const bool at_the_end = memory == Memory::kSink && pair_or_domain == 0;
  return {index << EXRNIC_STAG_INDEX_SHIFT | 0x5a,
          at_the_end ? ~uint64_t{0} - kRegionBytes - 9
                     : 0x5500'0000'0ab1 + kind * 0x1'0000'0000 + pair_or_domain * 0x1000'0123ull};
}

unsigned slot_count(const Operation& operation) {
  const unsigned said = operation.header.num_slots;
  return said >= 1 && said <= EXRNIC_WQE_SLOTS_MAX ? said : 1;
}

std::string to_string(const Operation& operation) {
  const exrnic_wqe& header = operation.header;
  std::string text = fmt::format(
      "{}: opcode {} flags {:#x} sges {} slots {} length {} imm {:#x} remote {:#x} {:#x}",
      operation.number, unsigned{header.opcode}, unsigned{header.flags}, unsigned{header.num_sge},
      unsigned{header.num_slots}, uint32_t{header.length}, uint32_t{header.imm_data},
      uint32_t{header.remote_stag}, uint64_t{header.remote_to});
  for (const exrnic_sge& element : operation.elements)
    text += fmt::format(" [{:#x} {:#x} {}]", uint32_t{element.stag}, uint64_t{element.address},
                        uint32_t{element.length});
  if (operation.by_pio) text += " by its block";
  if (operation.receive) text += fmt::format(" receive of {} elements", operation.receive->size());
  return text;
}

}  // namespace exrnic::testing
