// SPDX-License-Identifier: BSD-2-Clause
#include "sim/devices/nvme/io_commands.h"

#include <algorithm>
#include <vector>

#include "sim/devices/nvme/data_pointer.h"

namespace exrnic::nvme {
namespace {

constexpr uint32_t kForceUnitAccess = 1u << 30;  // dword 12 of what writes
constexpr uint32_t kDeallocate = 1u << 2;        // dword 11 of Dataset Management

struct Range {  // of Dataset Management (6.7)
  uint32_t attributes;
  uint32_t blocks;
  uint64_t first;
};
static_assert(sizeof(Range) == 16);

// Of a command that names blocks.
uint64_t first_block(const Command& command) {
  return uint64_t{command.cdw11} << 32 | command.cdw10;
}
uint64_t block_count(const Command& command) { return (command.cdw12 & 0xffff) + 1; }

bool holds(const NamespaceFile& file, uint64_t first, uint64_t count) {
  return first < file.blocks() && count <= file.blocks() - first;
}

// Of a command that carries them.
Status check_blocks(const NamespaceFile& file, const Command& command) {
  if ((block_count(command) << file.block_shift()) > kMaxTransferBytes)
    return Status::kInvalidField;
  return holds(file, first_block(command), block_count(command)) ? Status::kSuccess
                                                                 : Status::kLbaOutOfRange;
}

}  // namespace

Result IoCommands::execute(const Command& command, bool write_cache) {
  switch (static_cast<IoOpcode>(command.opcode)) {
    case IoOpcode::kFlush:
      return {flush(command)};
    case IoOpcode::kWrite:
      return {write(command, write_cache)};
    case IoOpcode::kRead:
      return {read(command)};
    case IoOpcode::kWriteZeroes:
      return {write_zeroes(command, write_cache)};
    case IoOpcode::kDatasetManagement:
      return {dataset_management(command)};
  }
  return {Status::kInvalidOpcode};
}

NamespaceFile* IoCommands::find(uint32_t nsid) {
  return nsid >= 1 && nsid <= namespaces_.size() ? &namespaces_[nsid - 1] : nullptr;
}

Status IoCommands::media_error(Status status) {
  ++traffic_.media_errors;
  return status;
}

Status IoCommands::flush_all() {
  Status status = Status::kSuccess;
  for (NamespaceFile& file : namespaces_) {
    if (!file.flush()) status = media_error(Status::kWriteFault);
  }
  return status;
}

Status IoCommands::flush(const Command& command) {
  if (command.nsid == kEveryNamespace) return flush_all();
  NamespaceFile* file = find(command.nsid);
  if (file == nullptr) return Status::kInvalidNamespace;
  return file->flush() ? Status::kSuccess : media_error(Status::kWriteFault);
}

// What was written is where the host wants it to be by now.
Status IoCommands::keep(NamespaceFile& file, const Command& command, bool write_cache) {
  if (write_cache && (command.cdw12 & kForceUnitAccess) == 0) return Status::kSuccess;
  return file.flush() ? Status::kSuccess : media_error(Status::kWriteFault);
}

Status IoCommands::read(const Command& command) {
  const NamespaceFile* file = find(command.nsid);
  if (file == nullptr) return Status::kInvalidNamespace;
  if (const Status bad = check_blocks(*file, command); bad != Status::kSuccess) return bad;
  std::vector<uint8_t> data(block_count(command) << file->block_shift());
  if (!file->read(first_block(command), block_count(command), data.data()))
    return media_error(Status::kUnrecoveredRead);
  ++traffic_.reads;
  traffic_.bytes_read += data.size();
  return copy_to_host(host_, command, data.data(), data.size());
}

Status IoCommands::write(const Command& command, bool write_cache) {
  NamespaceFile* file = find(command.nsid);
  if (file == nullptr) return Status::kInvalidNamespace;
  if (const Status bad = check_blocks(*file, command); bad != Status::kSuccess) return bad;
  std::vector<uint8_t> data(block_count(command) << file->block_shift());
  const Status copied = copy_from_host(host_, command, data.data(), data.size());
  if (copied != Status::kSuccess) return copied;  // and nothing is written
  if (!file->write(first_block(command), block_count(command), data.data()))
    return media_error(Status::kWriteFault);
  ++traffic_.writes;
  traffic_.bytes_written += data.size();
  return keep(*file, command, write_cache);
}

Status IoCommands::write_zeroes(const Command& command, bool write_cache) {
  NamespaceFile* file = find(command.nsid);
  if (file == nullptr) return Status::kInvalidNamespace;
  if (!holds(*file, first_block(command), block_count(command))) return Status::kLbaOutOfRange;
  if (!file->write_zeroes(first_block(command), block_count(command)))
    return media_error(Status::kWriteFault);
  return keep(*file, command, write_cache);
}

Status IoCommands::dataset_management(const Command& command) {
  NamespaceFile* file = find(command.nsid);
  if (file == nullptr) return Status::kInvalidNamespace;
  std::vector<Range> ranges((command.cdw10 & 0xff) + 1);
  const Status copied = copy_from_host(host_, command, reinterpret_cast<uint8_t*>(ranges.data()),
                                       ranges.size() * sizeof(Range));
  if (copied != Status::kSuccess) return copied;
  if ((command.cdw11 & kDeallocate) == 0) return Status::kSuccess;  // hints of how it will be used
  const auto fits = [&](const Range& range) {
    return range.blocks == 0 || holds(*file, range.first, range.blocks);
  };
  if (!std::all_of(ranges.begin(), ranges.end(), fits)) return Status::kLbaOutOfRange;
  for (const Range& range : ranges) {
    if (range.blocks > 0) file->deallocate(range.first, range.blocks);
  }
  return Status::kSuccess;
}

}  // namespace exrnic::nvme
