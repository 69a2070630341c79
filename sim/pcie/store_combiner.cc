// SPDX-License-Identifier: BSD-2-Clause
#include "sim/pcie/store_combiner.h"

#include <utility>

#include "exrnic_hw.h"

namespace exrnic {
namespace {

// Where software stores whole blocks: from that of the channel on.
bool is_of_block(unsigned bar, uint64_t offset, unsigned size) {
  static_assert(EXRNIC_PIO_FIRMWARE + DevicePort::kBlockBytes == EXRNIC_PIO_AREA);
  return bar == EXRNIC_BAR_USER && size == sizeof(uint64_t) &&
         offset % EXRNIC_USER_PAGE_SIZE >= EXRNIC_PIO_FIRMWARE;
}

}  // namespace

void StoreCombiner::mmio_write(unsigned bar, uint64_t offset, unsigned size, uint64_t value) {
  if (count_ == 0) block_ = offset;
  const bool next = is_of_block(bar, offset, size) && block_ % kBlockBytes == 0 &&
                    offset == block_ + count_ * sizeof(uint64_t);
  if (next) {
    words_[count_++] = value;
    if (count_ < kWords) return;
    count_ = 0;
    return device_.mmio_write_block(bar, block_, reinterpret_cast<const uint8_t*>(words_.data()));
  }
  if (count_ == 0) return device_.mmio_write(bar, offset, size, value);
  flush();
  mmio_write(bar, offset, size, value);
}

void StoreCombiner::flush() {
  const unsigned count = std::exchange(count_, 0);
  for (unsigned i = 0; i < count; ++i) {
    const uint64_t offset = block_ + i * sizeof(uint64_t);
    device_.mmio_write(EXRNIC_BAR_USER, offset, sizeof(uint64_t), words_[i]);
  }
}

}  // namespace exrnic
