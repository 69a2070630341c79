// SPDX-License-Identifier: BSD-2-Clause
// Memory of a ring that the device shares.
#ifndef EXRNIC_LIBVERBS_RING_MEMORY_H
#define EXRNIC_LIBVERBS_RING_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <utility>

namespace exrnic {

// Whole pages, zeroed, not inherited by a forked child: were they, the first write after a fork
// would give the parent a copy, and the device would go on with the old page.
class RingMemory {
 public:
  // At least `bytes`. On failure data() is null, with errno.
  explicit RingMemory(size_t bytes);
  ~RingMemory();
  RingMemory(const RingMemory&) = delete;
  RingMemory& operator=(const RingMemory&) = delete;

  void* data() const { return data_; }
  void Swap(RingMemory* other) {
    std::swap(bytes_, other->bytes_);
    std::swap(data_, other->data_);
  }

 private:
  size_t bytes_;
  void* data_ = nullptr;
};

// Least power of two that is no less than `value` and `least` (itself a power of two).
constexpr uint32_t RingSize(uint32_t value, uint32_t least) {
  uint32_t size = least;
  while (size < value) size *= 2;
  return size;
}

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_RING_MEMORY_H
