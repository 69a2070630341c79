// SPDX-License-Identifier: BSD-2-Clause
// C++ objects in the shared memory of exrnic/jia.h: a heap, of which each node has a part, and an
// allocator over it for the containers of the standard library. Addresses are the same on all
// nodes; so a node can read what another one has built, once both have synchronised.
//
//   vl::SharedHeap heap(1 << 20);  // by all nodes together
//   vl::SharedVector<double> mine(1000, 0.0, vl::SharedAllocator<double>(heap));
#ifndef EXRNIC_SHARED_HPP
#define EXRNIC_SHARED_HPP

#include <cstddef>
#include <cstdint>
#include <map>
#include <new>
#include <vector>

#include "exrnic/jia.h"

namespace vl {

// `bytes` of each node. All nodes make it, in the same order as what else they allocate; from then
// on each takes from its own part alone, whose home it is. Memory that another node gives back
// stays unused. Lives as long as what was taken from it. Not for several threads at once.
class SharedHeap {
 public:
  explicit SharedHeap(size_t bytes) : bytes_((bytes + kAlignment - 1) / kAlignment * kAlignment) {
    for (int node = 0; node < jiahosts; ++node) {
      const unsigned long part = jia_alloc2p(bytes_, node);
      if (node == jiapid) begin_ = next_ = reinterpret_cast<char*>(part);
    }
  }
  SharedHeap(const SharedHeap&) = delete;
  SharedHeap& operator=(const SharedHeap&) = delete;

  // Throws std::bad_alloc where the part of this node is used up.
  void* Take(size_t bytes) {
    const size_t size = Rounded(bytes);
    std::vector<void*>* const again = &free_[size];
    if (!again->empty()) {
      void* const memory = again->back();
      again->pop_back();
      return memory;
    }
    if (size > bytes_ - static_cast<size_t>(next_ - begin_)) throw std::bad_alloc();
    void* const memory = next_;
    next_ += size;
    return memory;
  }
  void Give(void* memory, size_t bytes) {
    const bool own = memory >= begin_ && memory < begin_ + bytes_;
    if (own) free_[Rounded(bytes)].push_back(memory);
  }

 private:
  static constexpr size_t kAlignment = 64;
  // What is given back serves those of its size: powers of two, so that there are few.
  static size_t Rounded(size_t bytes) {
    size_t size = kAlignment;
    while (size < bytes) {
      if (size > SIZE_MAX / 2) throw std::bad_alloc();
      size *= 2;
    }
    return size;
  }

  const size_t bytes_;
  char* begin_ = nullptr;
  char* next_ = nullptr;
  std::map<size_t, std::vector<void*>> free_;
};

template <typename T>
class SharedAllocator {
 public:
  using value_type = T;
  static_assert(alignof(T) <= 64);

  explicit SharedAllocator(SharedHeap& heap) : heap_(&heap) {}
  template <typename U>
  SharedAllocator(const SharedAllocator<U>& other) : heap_(other.heap()) {}

  T* allocate(size_t count) {
    if (count > SIZE_MAX / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(heap_->Take(count * sizeof(T)));
  }
  void deallocate(T* memory, size_t count) { heap_->Give(memory, count * sizeof(T)); }
  SharedHeap* heap() const { return heap_; }

  template <typename U>
  bool operator==(const SharedAllocator<U>& other) const {
    return heap_ == other.heap();
  }
  template <typename U>
  bool operator!=(const SharedAllocator<U>& other) const {
    return heap_ != other.heap();
  }

 private:
  SharedHeap* heap_;
};

template <typename T>
using SharedVector = std::vector<T, SharedAllocator<T>>;

}  // namespace vl

#endif  // EXRNIC_SHARED_HPP
