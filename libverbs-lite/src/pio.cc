// SPDX-License-Identifier: BSD-2-Clause
#include "pio.h"

#include <cstdlib>
#include <cstring>
#include <mutex>

#include "barrier.h"

namespace exrnic {

namespace {

constexpr char kVariable[] = "VL_PIO";
constexpr size_t kWords = sizeof(exrnic_wqe) / sizeof(uint64_t);

bool Wanted() {
  const char* value = secure_getenv(kVariable);
  return value == nullptr || strcmp(value, "0") != 0;
}

}  // namespace

PioBlocks::PioBlocks() : enabled_(Wanted()) {}

bool PioBlocks::TrySend(const UserPage& user_page, const exrnic_wqe& wqe, uint32_t number,
                        uint16_t index) {
  std::unique_lock<SpinLock> guard(lock_, std::try_to_lock);
  if (!guard.owns_lock()) return false;
  exrnic_wqe block = wqe;
  block.number = number;
  block.index = index;
  uint64_t words[kWords];
  memcpy(words, &block, sizeof(block));
  const uint32_t offset = EXRNIC_PIO_AREA + next_ * static_cast<uint32_t>(sizeof(block));
  next_ = (next_ + 1) % EXRNIC_PIO_BLOCKS;
  vl_wmb_wqe_before_doorbell();
  user_page.Store(offset, words, kWords);
  vl_wmb_flush_user_page();
  return true;
}

}  // namespace exrnic
