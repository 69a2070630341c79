// SPDX-License-Identifier: BSD-2-Clause
#include "sim/vfio_user/mapped_files.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <iterator>

namespace exrnic::vfio_user {

MappedFile::~MappedFile() { ::munmap(data_, size_); }

void MappedFiles::forget_unused() {
  for (auto file = files_.begin(); file != files_.end();) {
    file = file->second.expired() ? files_.erase(file) : std::next(file);
  }
}

std::variant<MappedFiles::Mapping, Fault> MappedFiles::map(int file, uint64_t end, bool writable) {
  struct stat status{};
  if (::fstat(file, &status) != 0)
    return refused(errno, std::string("DMA_MAP: fstat: ") + strerror(errno));
  // While a mapping is held, its file lives, and nothing else has its number.
  const Key key{status.st_dev, status.st_ino, writable};
  const auto [begin, behind] = files_.equal_range(key);
  for (auto known = begin; known != behind; ++known) {
    Mapping mapping = known->second.lock();
    if (mapping && mapping->size() >= end) return mapping;
  }
  forget_unused();
  if (files_.size() >= kMaxMappedFiles) {
    return refused(ENOSPC, "DMA_MAP of more than " + std::to_string(kMaxMappedFiles) + " files");
  }
  const auto size = static_cast<size_t>(status.st_size);
  const int protection = PROT_READ | (writable ? PROT_WRITE : 0);
  void* data = ::mmap(nullptr, size, protection, MAP_SHARED, file, 0);
  if (data == MAP_FAILED) return refused(errno, std::string("DMA_MAP: mmap: ") + strerror(errno));
  auto mapping = std::make_shared<MappedFile>(static_cast<uint8_t*>(data), size);
  files_.emplace(key, mapping);
  return mapping;
}

}  // namespace exrnic::vfio_user
