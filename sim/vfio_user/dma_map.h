// SPDX-License-Identifier: BSD-2-Clause
// The memory that a client granted to its device: regions of bus addresses backed by files.
//
// Nothing here is trusted. The danger is a client that truncates a file after it was mapped: an
// access would then raise SIGBUS in the simulator. So a file is mapped only when a seal
// (F_SEAL_SHRINK, which QEMU's memory-backend-memfd sets) says that it cannot shrink, and only
// around what was granted of it, within the client's budget (of holes in huge pages: bus_errors.h).
// Any other file is read and written through pread and pwrite, which fail cleanly, at the price of
// a system call per access. So is a process's own memory, given as its /proc/self/mem: what a
// driver in user space does with buffers that no other file holds. A region without a file
// (firmware ROMs of QEMU) keeps its place in the map but cannot be accessed: the protocol's
// DMA_READ and DMA_WRITE to the client would stall the simulator on the client's goodwill, and
// nothing that a driver hands to the device lies there. (A server that has one device only may use
// them: Session.) Memory behind a file system in user space
// (FUSE) can stall it all the same: clients are trusted not to do that.
//
// Threads: none of its own; one calls at a time, see "Several threads" in sim/README.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "sim/posix/unique_fd.h"
#include "sim/vfio_user/mapped_files.h"
#include "sim/vfio_user/memory_budget.h"
#include "sim/vfio_user/open_files.h"
#include "sim/vfio_user/protocol.h"

namespace exrnic::vfio_user {

class DmaMap {
 public:
  explicit DmaMap(const MemoryBudget& budget = {}) : mapped_files_(budget), open_files_(budget) {}

  // Adds a region; `file` may be empty. The request has passed decode_dma_map().
  // EEXIST: overlaps a region that is there. EINVAL: not a regular file, or shorter than the
  // region. ENOSPC: kMaxDmaMaps regions are there, or what the budget allows. Else errno of fstat
  // or mmap.
  std::optional<Fault> map(const DmaMapRequest& request, UniqueFd file);

  // Removes all regions within the range, as vfio does: where there is none, nothing is to be done
  // (a guest's IOMMU that is switched over unmaps all there could be). EINVAL: it would cut one.
  std::optional<Fault> unmap(const DmaUnmapRequest& request);

  void clear();
  size_t size() const { return regions_.size(); }

  // An access may span regions that touch. False, and nothing is written, if a byte of it is not
  // granted for this direction. (Of a process's memory only the access itself tells: what comes
  // before the first page that is not mapped is then written.)
  bool read(uint64_t address, uint8_t* out, size_t length);
  // Bytes become visible to the client in ascending order, the last one last (see store_ascending
  // in the source). With an unsealed file that order holds between pieces of 8 bytes, and a file
  // cut short in the very moment of the access can leave a write half done.
  bool write(uint64_t address, const uint8_t* data, size_t length);

  // All of the access is granted for this direction, in regions without a file.
  bool granted_without_file(uint64_t address, size_t length, bool for_write);

 private:
  class Region {
   public:
    Region(const DmaMapRequest& request, OpenFiles::File file, MappedFiles::Mapping mapping);

    uint64_t first() const { return request_.address; }
    uint64_t last() const { return request_.address + (request_.size - 1); }
    bool has_file() const { return mapping_ != nullptr || file_ != nullptr; }
    bool grants(bool for_write) const { return for_write ? request_.writable : request_.readable; }
    bool file_holds(uint64_t offset, size_t length) const;
    bool read(uint64_t offset, uint8_t* out, size_t length) const;
    bool write(uint64_t offset, const uint8_t* data, size_t length) const;

   private:
    DmaMapRequest request_;
    OpenFiles::File file_;          // only when it is not mapped
    MappedFiles::Mapping mapping_;  // only when its file cannot shrink
    bool endless_ = false;          // its file is a process's memory, which has no length
  };

  using Regions = std::map<uint64_t, Region>;  // by first address; disjoint

  // The first region that ends at or behind `address`.
  Regions::iterator lower_bound(uint64_t address);
  // The one that holds it, or end().
  Regions::iterator find(uint64_t address);
  bool granted(uint64_t address, size_t length, bool for_write);
  template <typename Access>
  bool for_each_piece(uint64_t address, size_t length, Access access);

  MappedFiles mapped_files_;
  OpenFiles open_files_;
  Regions regions_;
  Regions::iterator last_hit_ = regions_.end();
};

}  // namespace exrnic::vfio_user
