// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/pio.h"

namespace exrnic::ref {

PioAssembly::Outcome PioAssembly::store(uint32_t offset, uint32_t size, uint64_t data) {
  const bool natural = size == 1 || size == 2 || size == 4 || size == 8;
  if (!natural || offset % size != 0) return {true, std::nullopt};
  const uint32_t at = offset % sizeof block_;
  std::bitset<sizeof block_> bytes;
  for (uint32_t i = 0; i < size; ++i) bytes.set(at + i);
  Outcome outcome;
  const bool fits = offset / sizeof block_ == number_ && (there_ & bytes).none();
  if (there_.any() && !fits) {
    outcome.refused = true;
    there_.reset();
  }
  number_ = offset / sizeof block_;
  there_ |= bytes;
  auto* to = reinterpret_cast<uint8_t*>(&block_) + at;
  for (uint32_t i = 0; i < size; ++i) to[i] = static_cast<uint8_t>(data >> 8 * i);
  if (there_.all()) {
    outcome.block = block_;
    there_.reset();
  }
  return outcome;
}

}  // namespace exrnic::ref
