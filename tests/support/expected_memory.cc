// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/expected_memory.h"

#include <algorithm>

namespace exrnic::testing {

uint8_t* ExpectedMemory::at(unsigned node, uint32_t stag, uint64_t offset) {
  Region& region = regions_.at({node, stag});
  return region.bytes.data() + (offset - region.base);
}

Bytes ExpectedMemory::gather(unsigned node, const Operation& operation) {
  Bytes bytes = operation.inline_data;
  for (const exrnic_sge& element : operation.elements) {
    const uint8_t* first = at(node, element.stag, element.address);
    bytes.insert(bytes.end(), first, first + element.length);
  }
  return bytes;
}

void ExpectedMemory::scatter(unsigned node, const std::vector<exrnic_sge>& elements,
                             const Bytes& bytes, size_t left_free) {
  size_t done = 0;
  for (const exrnic_sge& element : elements) {
    const size_t skipped = std::min<size_t>(element.length, left_free);
    left_free -= skipped;
    const size_t part = std::min<size_t>(element.length - skipped, bytes.size() - done);
    if (part > 0)
      std::copy_n(bytes.data() + done, part, at(node, element.stag, element.address + skipped));
    done += part;
  }
}

void ExpectedMemory::apply(unsigned node, const Operation& operation) {
  const exrnic_wqe& header = operation.header;
  const unsigned peer = 1 - node;
  switch (header.opcode) {
    case EXRNIC_WQE_OPCODE_LOCAL_INVALIDATE:
      return;
    case EXRNIC_WQE_OPCODE_PULL: {
      if (header.length == 0) return;
      const uint8_t* first = at(peer, header.remote_stag, header.remote_to);
      return scatter(node, operation.elements, Bytes(first, first + header.length));
    }
    case EXRNIC_WQE_OPCODE_PUSH:
    case EXRNIC_WQE_OPCODE_PUSH_IMM: {
      const Bytes bytes = gather(node, operation);
      if (!bytes.empty())
        std::copy(bytes.begin(), bytes.end(), at(peer, header.remote_stag, header.remote_to));
      return;
    }
    default:
      return scatter(peer, *operation.receive, gather(node, operation), operation.left_free);
  }
}

}  // namespace exrnic::testing
