// SPDX-License-Identifier: BSD-2-Clause
#include "sim/devices/nvme/data_pointer.h"

#include <algorithm>
#include <cassert>
#include <vector>

namespace exrnic::nvme {
namespace {

constexpr uint64_t kOffsetMask = kPageBytes - 1;
constexpr uint64_t kDwordMask = 3;
constexpr size_t kEntryBytes = sizeof(uint64_t);

using Segments = std::vector<HostPort::DmaPlace>;

size_t pages_of(size_t bytes) { return (bytes + kPageBytes - 1) / kPageBytes; }

// Adds whole pages, the last of which may be cut, until `left` bytes have a place.
Status follow_list(HostPort& host, uint64_t list, size_t left, Segments& segments) {
  if (list % kEntryBytes != 0) return Status::kInvalidPrpOffset;
  while (left > 0) {
    const size_t room = (kPageBytes - (list & kOffsetMask)) / kEntryBytes;
    const size_t wanted = pages_of(left);
    std::vector<uint64_t> entries(std::min(room, wanted));
    if (!host.dma_read(list, reinterpret_cast<uint8_t*>(entries.data()),
                       entries.size() * kEntryBytes))
      return Status::kDataTransferError;
    for (const uint64_t entry : entries) {
      if ((entry & kOffsetMask) != 0) return Status::kInvalidPrpOffset;
    }
    // The last entry of a page that does not hold the whole list is where it goes on.
    if (wanted > room) {
      list = entries.back();
      entries.pop_back();
    }
    for (const uint64_t entry : entries) {
      segments.push_back({entry, std::min<size_t>(left, kPageBytes)});
      left -= segments.back().length;
    }
  }
  return Status::kSuccess;
}

Status find_segments(HostPort& host, const Command& command, size_t length, Segments& segments) {
  assert(length > 0 && length <= kMaxTransferBytes);
  if ((command.prp1 & kDwordMask) != 0) return Status::kInvalidPrpOffset;
  const size_t first = std::min<size_t>(length, kPageBytes - (command.prp1 & kOffsetMask));
  segments.push_back({command.prp1, first});
  const size_t left = length - first;
  if (left == 0) return Status::kSuccess;
  if (left > kPageBytes) return follow_list(host, command.prp2, left, segments);
  if ((command.prp2 & kOffsetMask) != 0) return Status::kInvalidPrpOffset;
  segments.push_back({command.prp2, left});
  return Status::kSuccess;
}

}  // namespace

Status copy_from_host(HostPort& host, const Command& command, uint8_t* to, size_t length) {
  Segments segments;
  const Status status = find_segments(host, command, length, segments);
  if (status != Status::kSuccess) return status;
  return host.dma_read_all(segments, to) ? Status::kSuccess : Status::kDataTransferError;
}

Status copy_to_host(HostPort& host, const Command& command, const uint8_t* from, size_t length) {
  Segments segments;
  const Status status = find_segments(host, command, length, segments);
  if (status != Status::kSuccess) return status;
  for (const auto& segment : segments) {
    if (!host.dma_write(segment.address, from, segment.length)) return Status::kDataTransferError;
    from += segment.length;
  }
  return Status::kSuccess;
}

}  // namespace exrnic::nvme
