// SPDX-License-Identifier: BSD-2-Clause
#include "sim_memory.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <memory>
#include <utility>

#include "exrnic_hw.h"
#include "sim_error.h"

namespace exrnic {

namespace {

constexpr uint64_t kPage = uint64_t{1} << EXRNIC_PAGE_SHIFT;

// Beyond every user address of the processors that there are (56 bits with five levels of x86).
constexpr uint64_t kProcessEnd = uint64_t{1} << 56;
constexpr uint64_t kArenaBus = uint64_t{1} << 60;

// Address space, not memory: pages come when they are used. Room for all queues of the largest
// build, at usual sizes.
constexpr uint64_t kArenaBytes = uint64_t{1} << 30;

uint64_t WholePages(uint64_t bytes) { return (bytes + kPage - 1) & ~(kPage - 1); }

[[noreturn]] void ThrowErrno(const std::string& what) {
  const int error = errno;
  throw SimError(error, what + ": " + strerror(error));
}

// A line of /proc/self/maps.
struct Mapping {
  uint64_t begin;
  uint64_t end;
  bool readable;
  bool writable;
};

bool NextMapping(FILE* maps, Mapping* mapping) {
  unsigned long begin, end;
  char read, write;
  if (fscanf(maps, "%lx-%lx %c%c%*[^\n]", &begin, &end, &read, &write) != 4) return false;
  *mapping = {begin, end, read == 'r', write == 'w'};
  return true;
}

}  // namespace

void GrantProcessMemory(SimLink* link) {
  const UniqueFd file(open("/proc/self/mem", O_RDWR | O_CLOEXEC));
  if (!file) ThrowErrno("/proc/self/mem, through which the simulator reaches buffers");
  link->Grant(kPage, kProcessEnd - kPage, file.get(), kPage);
}

void CheckMapped(uint64_t address, uint64_t length, bool writable) {
  const uint64_t end = address + length;
  if (length == 0 || end < address || end > kProcessEnd) {
    throw SimError(EINVAL, "a region of " + std::to_string(length) + " bytes at " +
                               vfio_user::hex(address) + " is empty, or wraps");
  }
  const std::unique_ptr<FILE, int (*)(FILE*)> maps(fopen("/proc/self/maps", "re"), fclose);
  if (maps == nullptr) ThrowErrno("/proc/self/maps");
  Mapping mapping;
  while (address < end && NextMapping(maps.get(), &mapping)) {
    if (mapping.end <= address) continue;
    if (mapping.begin > address || !mapping.readable || (writable && !mapping.writable)) break;
    address = mapping.end;
  }
  if (address >= end) return;
  throw SimError(EFAULT, "the memory at " + vfio_user::hex(address) + " is not mapped" +
                             (writable ? ", or not writable" : ""));
}

SimArena::SimArena(SimLink* link)
    : file_(memfd_create("exrnic-rings", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
  // The simulator maps only files that cannot shrink.
  if (!file_ || ftruncate(file_.get(), static_cast<off_t>(kArenaBytes)) != 0 ||
      fcntl(file_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
    ThrowErrno("a file of memory for rings");
  }
  void* base = mmap(nullptr, kArenaBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                    file_.get(), 0);
  if (base == MAP_FAILED) ThrowErrno("mapping " + std::to_string(kArenaBytes) + " bytes for rings");
  base_ = static_cast<uint8_t*>(base);
  free_[0] = kArenaBytes;
  try {
    if (madvise(base, kArenaBytes, MADV_DONTFORK) != 0) ThrowErrno("madvise");
    link->Grant(kArenaBus, kArenaBytes, file_.get(), 0);
  } catch (...) {
    munmap(base, kArenaBytes);
    throw;
  }
}

SimArena::~SimArena() { munmap(base_, kArenaBytes); }

uint64_t SimArena::BusAddress(uint64_t offset) { return kArenaBus + offset; }

uint64_t SimArena::Take(size_t bytes) {
  const uint64_t wanted = WholePages(bytes);
  for (auto hole = free_.begin(); hole != free_.end(); ++hole) {
    const auto [offset, room] = *hole;
    if (room < wanted) continue;
    if (room > wanted) free_[offset + wanted] = room - wanted;
    free_.erase(offset);
    return offset;
  }
  throw SimError(ENOMEM, "no " + std::to_string(wanted) + " bytes left for rings");
}

void SimArena::Give(uint64_t offset, size_t bytes) {
  uint64_t size = WholePages(bytes);
  fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
            static_cast<off_t>(size));
  const auto behind = free_.find(offset + size);
  if (behind != free_.end()) {
    size += behind->second;
    free_.erase(behind);
  }
  const auto above = free_.lower_bound(offset);
  const auto below = above == free_.begin() ? free_.end() : std::prev(above);
  if (below != free_.end() && below->first + below->second == offset) {
    below->second += size;
  } else {
    free_[offset] = size;
  }
}

void SimArena::Overlay(void* address, uint64_t offset, size_t bytes) {
  memcpy(at(offset), address, bytes);
  void* placed = mmap(address, WholePages(bytes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                      file_.get(), static_cast<off_t>(offset));
  if (placed == MAP_FAILED || madvise(placed, WholePages(bytes), MADV_DONTFORK) != 0) {
    ThrowErrno("mapping a ring");
  }
}

void SimArena::Restore(void* address, size_t bytes) {
  // It only fails where the process is out of mappings; then the pages of the file stay, unused.
  void* copy =
      mmap(nullptr, WholePages(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy == MAP_FAILED) return;
  memcpy(copy, address, bytes);
  if (mremap(copy, WholePages(bytes), WholePages(bytes), MREMAP_MAYMOVE | MREMAP_FIXED, address) ==
      MAP_FAILED) {
    munmap(copy, WholePages(bytes));
  }
}

SimPages& SimPages::operator=(SimPages&& other) noexcept {
  std::swap(arena_, other.arena_);
  std::swap(offset_, other.offset_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

SimRing::SimRing(SimArena* arena, void* ring, size_t bytes)
    : bytes_(bytes),
      pages_(arena, bytes),
      pbl_(arena, WholePages(bytes) / kPage * EXRNIC_PBL_ENTRY_SIZE) {
  for (uint64_t i = 0; i * kPage < bytes; ++i) pbl_.words()[i] = pages_.bus() + i * kPage;
  arena->Overlay(ring, pages_.offset(), bytes);
  ring_ = ring;
}

SimRing& SimRing::operator=(SimRing&& other) noexcept {
  std::swap(ring_, other.ring_);
  std::swap(bytes_, other.bytes_);
  pages_ = std::move(other.pages_);
  pbl_ = std::move(other.pbl_);
  return *this;
}

SimRing::~SimRing() {
  if (ring_ != nullptr) SimArena::Restore(ring_, bytes_);
}

namespace {

// Bus addresses are virtual addresses, so huge pages fit everywhere, whatever the memory is made
// of.
uint32_t BestShift(uint64_t length) {
  return length < uint64_t{1} << EXRNIC_HUGE_PAGE_SHIFT ? EXRNIC_PAGE_SHIFT
                                                        : EXRNIC_HUGE_PAGE_SHIFT;
}

uint32_t CountPages(uint64_t address, uint64_t length, uint32_t shift) {
  return static_cast<uint32_t>(((address + length - 1) >> shift) - (address >> shift) + 1);
}

}  // namespace

SimPbl::SimPbl(SimArena* arena, uint64_t address, uint64_t length)
    : page_shift_(BestShift(length)),
      count_(CountPages(address, length, page_shift_)),
      pages_(arena, size_t{count_} * EXRNIC_PBL_ENTRY_SIZE) {
  const uint64_t first = address >> page_shift_;
  for (uint32_t i = 0; i < count_; ++i) pages_.words()[i] = (first + i) << page_shift_;
}

}  // namespace exrnic
