// SPDX-License-Identifier: BSD-2-Clause
// The memory that the simulator reaches when it plays the device of this process.
//
// All of the process's own memory is granted by /proc/self/mem, at bus addresses that are its
// virtual addresses: any buffer can be registered, malloc'ed or on a stack or of a file, and one
// that goes away makes the access fail and nobody crash. Such an access is a system call of the
// simulator. So rings and PBLs, which the device touches most, and where the order of bytes within
// a store matters, lie in a file that the simulator maps.
#ifndef EXRNIC_LIBVERBS_SIM_MEMORY_H
#define EXRNIC_LIBVERBS_SIM_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <map>

#include "sim/posix/unique_fd.h"
#include "sim_link.h"

namespace exrnic {

// Grants the whole process. Throws SimError.
void GrantProcessMemory(SimLink* link);

// Throws EFAULT unless every byte of [address, address + length) is mapped, readable, and, if
// asked, writable; EINVAL if the range wraps or is longer than any process.
void CheckMapped(uint64_t address, uint64_t length, bool writable);

// A file of memory, granted as a whole, from which pages are lent. Not for several threads.
class SimArena {
 public:
  explicit SimArena(SimLink* link);
  ~SimArena();
  SimArena(const SimArena&) = delete;
  SimArena& operator=(const SimArena&) = delete;

  // Whole pages, zeroed; the offset in the file. Throws ENOMEM.
  uint64_t Take(size_t bytes);
  // Gives them back; they are no memory any more.
  void Give(uint64_t offset, size_t bytes);

  void* at(uint64_t offset) const { return base_ + offset; }
  static uint64_t BusAddress(uint64_t offset);

  // Puts pages of the file into the place of those at `address` (whole pages), and ordinary ones
  // back. Who reads there meanwhile finds what was there all the time.
  void Overlay(void* address, uint64_t offset, size_t bytes);
  static void Restore(void* address, size_t bytes);

 private:
  UniqueFd file_;
  uint8_t* base_ = nullptr;
  std::map<uint64_t, uint64_t> free_;  // offset: bytes; neighbours are one
};

// Pages of the arena, for as long as it lives.
class SimPages {
 public:
  SimPages() = default;
  SimPages(SimArena* arena, size_t bytes)
      : arena_(arena), offset_(arena->Take(bytes)), bytes_(bytes) {}
  SimPages(SimPages&& other) noexcept { *this = static_cast<SimPages&&>(other); }
  SimPages& operator=(SimPages&& other) noexcept;
  ~SimPages() {
    if (arena_ != nullptr) arena_->Give(offset_, bytes_);
  }

  uint64_t offset() const { return offset_; }
  uint64_t bus() const { return SimArena::BusAddress(offset_); }
  uint64_t* words() const { return static_cast<uint64_t*>(arena_->at(offset_)); }

 private:
  SimArena* arena_ = nullptr;
  uint64_t offset_ = 0;
  size_t bytes_ = 0;
};

// A ring of the library, shared with the device, and its PBL.
class SimRing {
 public:
  SimRing() = default;
  // ring: page-aligned; it keeps what it holds, now and at the end.
  SimRing(SimArena* arena, void* ring, size_t bytes);
  SimRing(SimRing&& other) noexcept { *this = static_cast<SimRing&&>(other); }
  SimRing& operator=(SimRing&& other) noexcept;
  ~SimRing();

  uint64_t pbl_bus() const { return pbl_.bus(); }

 private:
  void* ring_ = nullptr;
  size_t bytes_ = 0;
  SimPages pages_;
  SimPages pbl_;
};

// The PBL of a region of the process.
class SimPbl {
 public:
  SimPbl(SimArena* arena, uint64_t address, uint64_t length);
  uint64_t bus() const { return pages_.bus(); }
  const uint64_t* entries() const { return pages_.words(); }
  uint32_t count() const { return count_; }
  uint32_t page_shift() const { return page_shift_; }

 private:
  uint32_t page_shift_;
  uint32_t count_;
  SimPages pages_;
};

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_SIM_MEMORY_H
