// SPDX-License-Identifier: BSD-2-Clause
#include "verbs_objects.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <cstdlib>
#include <cstring>

namespace exrnic {

bool IsSimulatorNode(const std::string& name) {
  const char* chosen = name.empty() ? getenv("VL_DEVICE") : name.c_str();
  return chosen != nullptr && strncmp(chosen, "sim:", 4) == 0;
}

Pages::Pages(size_t bytes) : bytes_((bytes + 4095) / 4096 * 4096) {
  void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) ThrowErrno("no memory for a buffer");
  data_ = static_cast<uint8_t*>(memory);
}

Pages::~Pages() { munmap(data_, bytes_); }

void RaiseMemlockLimit() {
  const rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
  // Without the right to, registration tells whether the present limit is enough.
  (void)setrlimit(RLIMIT_MEMLOCK, &unlimited);
}

}  // namespace exrnic
