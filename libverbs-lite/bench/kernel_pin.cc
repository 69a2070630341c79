// SPDX-License-Identifier: BSD-2-Clause
#include "kernel_pin.h"

#include <linux/io_uring.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "exrnic/verbs.hpp"

namespace exrnic {

namespace {

// Two calls of three: too little of io_uring for liburing.
void Register(int ring, unsigned operation, const void* argument, unsigned count) {
  if (syscall(SYS_io_uring_register, ring, operation, argument, count) != 0)
    vl::ThrowErrno("io_uring_register");
}

}  // namespace

KernelPin::KernelPin() {
  io_uring_params parameters = {};
  ring_ = static_cast<int>(syscall(SYS_io_uring_setup, 1, &parameters));
  if (ring_ < 0) vl::ThrowErrno("io_uring_setup");
}

KernelPin::~KernelPin() { close(ring_); }

void KernelPin::Pin(void* memory, size_t size) const {
  const iovec buffer = {memory, size};
  Register(ring_, IORING_REGISTER_BUFFERS, &buffer, 1);
}

void KernelPin::Unpin() const { Register(ring_, IORING_UNREGISTER_BUFFERS, nullptr, 0); }

}  // namespace exrnic
