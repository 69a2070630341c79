// SPDX-License-Identifier: BSD-2-Clause
#include "pio.h"

#include <cstdlib>
#include <cstring>
#include <iterator>
#include <mutex>

#include "barrier.h"

namespace exrnic {

namespace {

constexpr char kVariable[] = "VL_PIO";
constexpr size_t kBytes = sizeof(exrnic_wqe);
static_assert(sizeof(exrnic_channel_work) == kBytes, "a block is either");

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
  const uint32_t offset = EXRNIC_PIO_AREA + next_ * static_cast<uint32_t>(kBytes);
  next_ = (next_ + 1) % EXRNIC_PIO_BLOCKS;
  Store(user_page, offset, &block);
  return true;
}

bool PioBlocks::TryFirmware(const UserPage& user_page, const exrnic_channel_work& work,
                            uint32_t number, uint32_t index) {
  std::unique_lock<SpinLock> guard(lock_, std::try_to_lock);
  if (!enabled_ || !guard.owns_lock()) return false;
  exrnic_channel_work block = work;
  block.number = number;
  block.index = index;
  Store(user_page, EXRNIC_PIO_FIRMWARE, &block);
  return true;
}

void PioBlocks::Store(const UserPage& user_page, uint32_t offset, const void* block) {
  uint64_t words[kBytes / sizeof(uint64_t)];
  memcpy(words, block, kBytes);
  vl_wmb_wqe_before_doorbell();
  user_page.Store(offset, words, std::size(words));
  vl_wmb_flush_user_page();
}

}  // namespace exrnic
