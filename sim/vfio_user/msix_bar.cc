// SPDX-License-Identifier: BSD-2-Clause
#include "sim/vfio_user/msix_bar.h"

#include <linux/pci_regs.h>

#include <algorithm>
#include <cassert>

namespace exrnic::vfio_user {

MsixBar::MsixBar(const PciDescription::Msix& layout, size_t size, const Msix& msix)
    : layout_(layout), msix_(msix), bytes_(size) {
  assert(layout.table_offset + layout.vectors * PCI_MSIX_ENTRY_SIZE <= size);
  assert(layout.pba_offset + (layout.vectors + 63) / 64 * 8 <= size);
  reset();
}

void MsixBar::read(size_t offset, uint8_t* out, size_t length) const {
  assert(offset <= bytes_.size() && length <= bytes_.size() - offset);
  for (size_t i = 0; i < length; ++i) {
    const size_t at = offset + i;
    out[i] = bytes_[at];
    if (at < layout_.pba_offset) continue;
    for (size_t bit = 0; bit < 8; ++bit) {
      const size_t vector = (at - layout_.pba_offset) * 8 + bit;
      if (vector < layout_.vectors && msix_.pending(static_cast<unsigned>(vector))) {
        out[i] = static_cast<uint8_t>(out[i] | 1u << bit);
      }
    }
  }
}

void MsixBar::write(size_t offset, const uint8_t* data, size_t length) {
  assert(offset <= bytes_.size() && length <= bytes_.size() - offset);
  const size_t table_end = layout_.table_offset + layout_.vectors * PCI_MSIX_ENTRY_SIZE;
  for (size_t i = 0; i < length; ++i) {
    const size_t at = offset + i;
    if (at < layout_.table_offset || at >= table_end) continue;
    uint8_t writable = 0xff;
    const size_t field = (at - layout_.table_offset) % PCI_MSIX_ENTRY_SIZE;
    if (field == PCI_MSIX_ENTRY_LOWER_ADDR) writable = 0xfc;  // messages are dwords
    if (field >= PCI_MSIX_ENTRY_VECTOR_CTRL) {
      writable = field == PCI_MSIX_ENTRY_VECTOR_CTRL ? PCI_MSIX_ENTRY_CTRL_MASKBIT : 0;
    }
    bytes_[at] = data[i] & writable;
  }
}

void MsixBar::reset() {
  std::fill(bytes_.begin(), bytes_.end(), uint8_t{0});
  for (size_t i = 0; i < layout_.vectors; ++i) {
    bytes_[layout_.table_offset + i * PCI_MSIX_ENTRY_SIZE + PCI_MSIX_ENTRY_VECTOR_CTRL] =
        PCI_MSIX_ENTRY_CTRL_MASKBIT;
  }
}

}  // namespace exrnic::vfio_user
