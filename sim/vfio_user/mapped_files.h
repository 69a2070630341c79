// SPDX-License-Identifier: BSD-2-Clause
// Files of a client, each mapped as a whole and once for all of its regions: a guest with an IOMMU
// has a region for each page, and this process may have some 65,000 mappings in all.
//
// Threads: none; every call comes from the simulator's one thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <variant>

#include "sim/vfio_user/protocol.h"

namespace exrnic::vfio_user {

// A shared mapping of a file that cannot shrink, from its first byte on.
class MappedFile {
 public:
  MappedFile(uint8_t* data, size_t size) : data_(data), size_(size) {}
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  uint8_t* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  uint8_t* data_;
  size_t size_;
};

class MappedFiles {
 public:
  using Mapping = std::shared_ptr<MappedFile>;

  // A mapping of at least `end` bytes of `file`, which is sealed against shrinking and has them.
  // It lasts as long as somebody holds it. ENOSPC: kMaxMappedFiles mappings are held. Else errno of
  // mmap.
  std::variant<Mapping, Fault> map(int file, uint64_t end, bool writable);

 private:
  using Key = std::tuple<dev_t, ino_t, bool>;
  void forget_unused();

  std::multimap<Key, std::weak_ptr<MappedFile>> files_;  // more than one of a file that has grown
};

}  // namespace exrnic::vfio_user
