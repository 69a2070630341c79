// SPDX-License-Identifier: BSD-2-Clause
// A namespace: the blocks of a regular file, which this process has for itself.
//
// What is written is in the system's cache until flush(): it outlives this process, not the
// machine. False: the file could not be read or written, such as on a full disk, or when somebody
// cut it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "sim/posix/unique_fd.h"

namespace exrnic::nvme {

class NamespaceFile {
 public:
  static constexpr unsigned kLeastBlockShift = 9;  // log2 of the bytes of a block
  static constexpr unsigned kMostBlockShift = 12;

  // Throws std::runtime_error with one line if it is no regular file of whole blocks, or cannot be
  // written, or if another process has it.
  NamespaceFile(const std::string& path, unsigned block_shift);

  uint64_t blocks() const { return blocks_; }
  unsigned block_shift() const { return block_shift_; }

  // All of blocks that exist. `count` is at least 1.
  bool read(uint64_t block, uint64_t count, uint8_t* out) const;
  bool write(uint64_t block, uint64_t count, const uint8_t* data);
  bool write_zeroes(uint64_t block, uint64_t count);
  // They need no room any more, and may read as zeroes from now on.
  void deallocate(uint64_t block, uint64_t count);
  bool flush();

 private:
  bool punch(uint64_t block, uint64_t count);

  UniqueFd file_;
  unsigned block_shift_;
  uint64_t blocks_ = 0;
};

}  // namespace exrnic::nvme
