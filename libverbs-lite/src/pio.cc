// SPDX-License-Identifier: BSD-2-Clause
#include "pio.h"

#include <cstdlib>
#include <cstring>
#include <mutex>

namespace exrnic {

namespace {

constexpr char kVariable[] = "VL_PIO";

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
  exrnic_send_block(user_page.get(), &next_, &wqe, number, index);
  return true;
}

bool PioBlocks::TryFirmware(const UserPage& user_page, const exrnic_channel_work& work,
                            uint32_t number, uint32_t index) {
  std::unique_lock<SpinLock> guard(lock_, std::try_to_lock);
  if (!enabled_ || !guard.owns_lock()) return false;
  exrnic_send_channel_block(user_page.get(), &work, number, index);
  return true;
}

}  // namespace exrnic
