// SPDX-License-Identifier: BSD-2-Clause
#include "sim_numbers.h"

#include <sys/random.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "exrnic_driver.h"
#include "sim_error.h"

namespace exrnic {

namespace {

[[noreturn]] void ThrowFull(const char* what, size_t count) {
  throw SimError(ENOSPC, std::string("all ") + std::to_string(count) + " places of the device's " +
                             what + " are taken");
}

}  // namespace

uint32_t Random32() {
  uint32_t value;
  if (getrandom(&value, sizeof(value), 0) != sizeof(value)) {
    throw SimError(errno, std::string("getrandom: ") + strerror(errno));
  }
  return value;
}

uint32_t SimNumbers::Take() {
  const uint32_t count = static_cast<uint32_t>(used_.size());
  for (uint32_t tries = first_; tries < count; ++tries) {
    const uint32_t number = next_;
    next_ = next_ + 1 < count ? next_ + 1 : first_;
    if (used_[number]) continue;
    used_[number] = true;
    return number;
  }
  ThrowFull(what_, count - first_);
}

uint32_t SimStags::Take() {
  const uint32_t indices = static_cast<uint32_t>(used_.size()) - EXRNIC_STAG_INDEX_MIN;
  const uint32_t start = Random32() % indices;
  for (uint32_t i = 0; i < indices; ++i) {
    const uint32_t index = EXRNIC_STAG_INDEX_MIN + (start + i) % indices;
    if (used_[index]) continue;
    used_[index] = true;
    const uint32_t stag = exrnic_next_stag(index, keys_[index], Random32());
    keys_[index] = static_cast<uint8_t>(stag);
    return stag;
  }
  ThrowFull("STags", indices);
}

void SimStags::Give(uint32_t stag) { used_[stag >> EXRNIC_STAG_INDEX_SHIFT] = false; }

}  // namespace exrnic
