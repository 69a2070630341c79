// SPDX-License-Identifier: BSD-2-Clause
// How PCIe transfers are cut: none crosses a 4 KiB boundary or exceeds a size (PCIe 2.2.7).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace exrnic::ref {

constexpr uint64_t kCutBoundary = 4096;

// Calls piece(offset, bytes) for each part of [address, address + length), in order.
template <typename Piece>
void for_each_cut(uint64_t address, size_t length, size_t most, Piece piece) {
  for (size_t offset = 0; offset < length;) {
    const uint64_t to_boundary = kCutBoundary - (address + offset) % kCutBoundary;
    const size_t bytes = std::min<uint64_t>({to_boundary, most, length - offset});
    piece(offset, bytes);
    offset += bytes;
  }
}

}  // namespace exrnic::ref
