// SPDX-License-Identifier: BSD-2-Clause
#include "sim/vfio_user/mapped_files.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "sim/vfio_user/bus_errors.h"

namespace exrnic::vfio_user {
namespace {

uint64_t round_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

MappedFile::~MappedFile() { ::munmap(data_, size_); }

// While a mapping is held, its file lives, and nothing else has its number.
MappedFiles::Mapping MappedFiles::find(const Window& wanted) const {
  for (const Known& known : known_) {
    if (!known.window.holds(wanted)) continue;
    if (Mapping mapping = known.mapping.lock()) return mapping;
  }
  return nullptr;
}

uint64_t MappedFiles::forget_unused() {
  known_.remove_if([](const Known& known) { return known.mapping.expired(); });
  uint64_t bytes = 0;
  for (const Known& known : known_) bytes += known.window.end - known.window.first;
  return bytes;
}

std::variant<MappedFiles::Mapping, Fault> MappedFiles::map(int file, uint64_t offset, uint64_t size,
                                                           bool writable) {
  struct stat status{};
  if (::fstat(file, &status) != 0)
    return refused(errno, std::string("DMA_MAP: fstat: ") + strerror(errno));
  Window window{status.st_dev, status.st_ino, writable, offset, offset + size};
  if (Mapping mapping = find(window)) return mapping;

  // Of huge pages, too, there are only whole ones.
  const uint64_t unit = std::max<uint64_t>(kWindowBytes, static_cast<uint64_t>(status.st_blksize));
  window.first = offset / unit * unit;
  window.end = std::min(round_up(window.end, unit), static_cast<uint64_t>(status.st_size));
  const uint64_t bytes = window.end - window.first;
  const uint64_t held = forget_unused();
  if (known_.size() >= budget_.mappings) {
    return refused(ENOSPC, "DMA_MAP of more than " + std::to_string(budget_.mappings) +
                               " parts of files, this client's share");
  }
  if (bytes > budget_.mapped_bytes - std::min(held, budget_.mapped_bytes)) {
    return refused(ENOSPC, "DMA_MAP of " + std::to_string(bytes) + " bytes beside " +
                               std::to_string(held) + "; this client's share of address space is " +
                               std::to_string(budget_.mapped_bytes));
  }
  const int protection = PROT_READ | (writable ? PROT_WRITE : 0);
  void* data =
      ::mmap(nullptr, bytes, protection, MAP_SHARED, file, static_cast<off_t>(window.first));
  if (data == MAP_FAILED) return refused(errno, std::string("DMA_MAP: mmap: ") + strerror(errno));
  catch_bus_errors();
  auto mapping = std::make_shared<MappedFile>(static_cast<uint8_t*>(data), window.first, bytes);
  known_.push_back({window, mapping});
  return mapping;
}

}  // namespace exrnic::vfio_user
