// SPDX-License-Identifier: BSD-2-Clause
// Memory pinned by the kernel alone, as it does for the registered buffers of io_uring
// (io_uring_register(2), IORING_REGISTER_BUFFERS): every page is found, held for as long as a
// device likes, counted against RLIMIT_MEMLOCK and noted in a list, as a registration does. It
// takes no RNIC, so it tells what of a registration's time is the kernel's on this host.
#ifndef EXRNIC_BENCH_KERNEL_PIN_H
#define EXRNIC_BENCH_KERNEL_PIN_H

#include <cstddef>

namespace exrnic {

class KernelPin {
 public:
  // Throws std::runtime_error if this kernel has no io_uring, or this process may not use it.
  KernelPin();
  ~KernelPin();
  KernelPin(const KernelPin&) = delete;
  KernelPin& operator=(const KernelPin&) = delete;

  // At most 1 GiB, one piece of memory at a time; throw std::runtime_error.
  void Pin(void* memory, size_t size) const;
  void Unpin() const;

 private:
  int ring_;
};

}  // namespace exrnic

#endif  // EXRNIC_BENCH_KERNEL_PIN_H
