// SPDX-License-Identifier: BSD-2-Clause
#include "ring_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

namespace exrnic {

namespace {

size_t WholePages(size_t bytes) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

}  // namespace

RingMemory::RingMemory(size_t bytes) : bytes_(WholePages(bytes)) {
  void* data = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (data == MAP_FAILED) return;
  if (madvise(data, bytes_, MADV_DONTFORK) != 0) {
    const int error = errno;
    munmap(data, bytes_);
    errno = error;
    return;
  }
  data_ = data;
}

RingMemory::~RingMemory() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

}  // namespace exrnic
