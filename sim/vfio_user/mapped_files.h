// SPDX-License-Identifier: BSD-2-Clause
// Files of a client, mapped where it has granted them. What is mapped are windows: the regions of a
// guest with an IOMMU, one a page, share those that they lie in, as this process may have some
// 65,000 mappings in all; and of a file that is large and hardly granted, hardly anything takes
// address space.
//
// Threads: those of dma_map.h.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <variant>

#include "sim/vfio_user/memory_budget.h"
#include "sim/vfio_user/protocol.h"

namespace exrnic::vfio_user {

// A shared mapping of a part of a file that cannot shrink.
class MappedFile {
 public:
  // `data` is byte `first` of the file.
  MappedFile(uint8_t* data, uint64_t first, size_t size)
      : data_(data), first_(first), size_(size) {}
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  uint8_t* at(uint64_t offset) const { return data_ + (offset - first_); }
  size_t size() const { return size_; }

 private:
  uint8_t* data_;
  uint64_t first_;
  size_t size_;
};

class MappedFiles {
 public:
  using Mapping = std::shared_ptr<MappedFile>;

  explicit MappedFiles(const MemoryBudget& budget) : budget_(budget) {}

  // A mapping that has `size` bytes from `offset` on of `file`, which is sealed against shrinking
  // and has them. It lasts as long as somebody holds it. ENOSPC: the budget's mappings are held, or
  // its bytes. Else errno of mmap.
  std::variant<Mapping, Fault> map(int file, uint64_t offset, uint64_t size, bool writable);

  // Regions that lie in one window of a file, of so many bytes, share its mapping.
  static constexpr uint64_t kWindowBytes = uint64_t{64} << 20;

 private:
  struct Window {
    dev_t device;
    ino_t inode;
    bool writable;
    uint64_t first;  // byte of the file
    uint64_t end;

    bool holds(const Window& other) const {
      return device == other.device && inode == other.inode && writable == other.writable &&
             first <= other.first && other.end <= end;
    }
  };
  struct Known {
    Window window;
    std::weak_ptr<MappedFile> mapping;
  };

  Mapping find(const Window& wanted) const;
  uint64_t forget_unused();  // bytes that are mapped

  MemoryBudget budget_;
  std::list<Known> known_;
};

}  // namespace exrnic::vfio_user
