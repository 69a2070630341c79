// SPDX-License-Identifier: BSD-2-Clause
#include "sim/pcie/config_space.h"

#include <linux/pci_regs.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <tuple>

namespace exrnic {
namespace {

// Where the capabilities stand; any dword-aligned place behind the header would do.
constexpr size_t kPowerManagement = 0x40;
constexpr size_t kMsix = 0x50;
constexpr size_t kExpress = 0x60;

constexpr unsigned kSmallestPayload = 128;  // bytes of encoding 0 of MPS and MRRS
constexpr unsigned kLargestReadEncoding = PCI_EXP_DEVCTL_READRQ_4096B >> 12;
constexpr unsigned kPayloadShift = 5;
constexpr unsigned kReadShift = 12;
constexpr uint32_t kPowerManagementVersion = 3;  // PCI Power Management 1.2
constexpr uint32_t kExpressVersion = 2;
constexpr uint32_t kD3hot = 3;

uint32_t payload_encoding(unsigned bytes) {
  uint32_t encoding = 0;
  while ((kSmallestPayload << encoding) < bytes) ++encoding;
  return encoding;
}

bool same_bar(const PciDescription::Bar& a, const PciDescription::Bar& b) {
  const auto fields = [](const PciDescription::Bar& bar) {
    return std::tie(bar.index, bar.size, bar.is_64bit, bar.prefetchable);
  };
  return fields(a) == fields(b);
}

}  // namespace

bool operator==(const PciDescription& a, const PciDescription& b) {
  const auto fields = [](const PciDescription& d) {
    return std::tie(d.vendor_id, d.device_id, d.revision, d.class_code, d.subsystem_vendor_id,
                    d.subsystem_id, d.msix.vectors, d.msix.bar, d.msix.table_offset,
                    d.msix.pba_offset, d.msix.capability, d.max_payload, d.link_generation,
                    d.link_width, d.config_bytes);
  };
  return fields(a) == fields(b) &&
         std::equal(a.bars.begin(), a.bars.end(), b.bars.begin(), b.bars.end(), same_bar);
}

PciConfigSpace::PciConfigSpace(const PciDescription& description)
    : max_payload_supported_(description.max_payload) {
  add_header(description);
  for (const PciDescription::Bar& bar : description.bars) add_bar(bar);
  add_power_management();
  add_msix(description.msix);
  add_express(description);
  reset();
}

void PciConfigSpace::define(size_t offset, size_t size, uint32_t value, uint32_t writable) {
  for (size_t i = 0; i < size; ++i) {
    reset_values_[offset + i] = static_cast<uint8_t>(value >> (8 * i));
    write_mask_[offset + i] = static_cast<uint8_t>(writable >> (8 * i));
  }
}

void PciConfigSpace::add_header(const PciDescription& description) {
  define(PCI_VENDOR_ID, 2, description.vendor_id);
  define(PCI_DEVICE_ID, 2, description.device_id);
  define(PCI_COMMAND, 2, 0,
         PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_PARITY | PCI_COMMAND_SERR |
             PCI_COMMAND_INTX_DISABLE);
  define(PCI_STATUS, 2, PCI_STATUS_CAP_LIST);
  define(PCI_CLASS_REVISION, 4, description.class_code << 8 | description.revision);
  define(PCI_CACHE_LINE_SIZE, 1, 0, 0xff);  // writable for old software, without effect
  define(PCI_SUBSYSTEM_VENDOR_ID, 2, description.subsystem_vendor_id);
  define(PCI_SUBSYSTEM_ID, 2, description.subsystem_id);
  define(PCI_CAPABILITY_LIST, 1, kPowerManagement);
  define(PCI_INTERRUPT_LINE, 1, 0, 0xff);  // a note of the firmware; the pin stays 0: no INTx
}

void PciConfigSpace::add_bar(const PciDescription::Bar& bar) {
  assert(bar.size >= 16 && (bar.size & (bar.size - 1)) == 0);
  const size_t offset = PCI_BASE_ADDRESS_0 + 4 * bar.index;
  // Address bits below the size are not writable: that is how a host finds the size.
  const uint64_t writable = ~(bar.size - 1);
  const uint32_t type =
      (bar.is_64bit ? PCI_BASE_ADDRESS_MEM_TYPE_64 : PCI_BASE_ADDRESS_MEM_TYPE_32) |
      (bar.prefetchable ? PCI_BASE_ADDRESS_MEM_PREFETCH : 0);
  define(offset, 4, type, static_cast<uint32_t>(writable));
  if (bar.is_64bit) define(offset + 4, 4, 0, static_cast<uint32_t>(writable >> 32));
}

void PciConfigSpace::add_power_management() {
  define(kPowerManagement + PCI_CAP_LIST_ID, 1, PCI_CAP_ID_PM);
  define(kPowerManagement + PCI_CAP_LIST_NEXT, 1, kMsix);
  define(kPowerManagement + PCI_PM_PMC, 2, kPowerManagementVersion);
  define(kPowerManagement + PCI_PM_CTRL, 2, PCI_PM_CTRL_NO_SOFT_RESET, PCI_PM_CTRL_STATE_MASK);
}

void PciConfigSpace::add_msix(const PciDescription::Msix& msix) {
  assert(msix.vectors >= 1 && msix.vectors <= PCI_MSIX_FLAGS_QSIZE + 1);
  define(kMsix + PCI_CAP_LIST_ID, 1, PCI_CAP_ID_MSIX);
  define(kMsix + PCI_CAP_LIST_NEXT, 1, kExpress);
  define(kMsix + PCI_MSIX_FLAGS, 2, msix.vectors - 1,
         PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL);
  define(kMsix + PCI_MSIX_TABLE, 4, msix.table_offset | msix.bar);
  define(kMsix + PCI_MSIX_PBA, 4, msix.pba_offset | msix.bar);
}

void PciConfigSpace::add_express(const PciDescription& description) {
  const uint32_t link = description.link_generation | description.link_width
                                                          << PCI_EXP_LNKSTA_NLW_SHIFT;
  const uint32_t speeds = ((1u << description.link_generation) - 1) << 1;
  define(kExpress + PCI_CAP_LIST_ID, 1, PCI_CAP_ID_EXP);
  define(kExpress + PCI_CAP_LIST_NEXT, 1, 0);
  define(kExpress + PCI_EXP_FLAGS, 2, kExpressVersion | PCI_EXP_TYPE_ENDPOINT << 4);
  define(kExpress + PCI_EXP_DEVCAP, 4,
         payload_encoding(max_payload_supported_) | PCI_EXP_DEVCAP_RBER | PCI_EXP_DEVCAP_FLR);
  define(kExpress + PCI_EXP_DEVCTL, 2,
         PCI_EXP_DEVCTL_RELAX_EN | PCI_EXP_DEVCTL_NOSNOOP_EN | PCI_EXP_DEVCTL_READRQ_512B,
         PCI_EXP_DEVCTL_CERE | PCI_EXP_DEVCTL_NFERE | PCI_EXP_DEVCTL_FERE | PCI_EXP_DEVCTL_URRE |
             PCI_EXP_DEVCTL_RELAX_EN | PCI_EXP_DEVCTL_PAYLOAD | PCI_EXP_DEVCTL_NOSNOOP_EN |
             PCI_EXP_DEVCTL_READRQ);
  define(kExpress + PCI_EXP_LNKCAP, 4, link);
  define(kExpress + PCI_EXP_LNKCTL, 2, 0,
         PCI_EXP_LNKCTL_RCB | PCI_EXP_LNKCTL_CCC | PCI_EXP_LNKCTL_ES);
  define(kExpress + PCI_EXP_LNKSTA, 2, link);
  define(kExpress + PCI_EXP_LNKCAP2, 4, speeds);
  define(kExpress + PCI_EXP_LNKCTL2, 2, description.link_generation);
}

void PciConfigSpace::reset() { bytes_ = reset_values_; }

void PciConfigSpace::read(size_t offset, uint8_t* out, size_t length) const {
  assert(offset <= kSize && length <= kSize - offset);
  std::memcpy(out, bytes_.data() + offset, length);
}

PciConfigSpace::Effect PciConfigSpace::write(size_t offset, const uint8_t* data, size_t length) {
  assert(offset <= kSize && length <= kSize - offset);
  const std::array<uint8_t, kSize> before = bytes_;
  bool function_reset = false;
  // The FLR bit is the top bit of Device Control; it is an order, not a state: it reads zero.
  constexpr size_t kFlrByte = kExpress + PCI_EXP_DEVCTL + 1;
  for (size_t i = 0; i < length; ++i) {
    const size_t at = offset + i;
    const uint8_t mask = write_mask_[at];
    bytes_[at] = static_cast<uint8_t>((bytes_[at] & ~mask) | (data[i] & mask));
    function_reset |= at == kFlrByte && (data[i] & (PCI_EXP_DEVCTL_BCR_FLR >> 8)) != 0;
  }
  keep_legal_encodings(before);
  return function_reset ? Effect::kFunctionReset : Effect::kNone;
}

// A write of an encoding that the function does not have is dropped, so that the accessors below
// always name a size or a power state that exists.
void PciConfigSpace::keep_legal_encodings(const std::array<uint8_t, kSize>& before) {
  const uint32_t control = get(kExpress + PCI_EXP_DEVCTL, 2);
  const uint32_t payload = (control & PCI_EXP_DEVCTL_PAYLOAD) >> kPayloadShift;
  const uint32_t read = (control & PCI_EXP_DEVCTL_READRQ) >> kReadShift;
  const auto restore = [&](size_t offset) { bytes_[offset] = before[offset]; };
  if ((kSmallestPayload << payload) > max_payload_supported_) restore(kExpress + PCI_EXP_DEVCTL);
  if (read > kLargestReadEncoding) restore(kExpress + PCI_EXP_DEVCTL + 1);

  const uint32_t power = get(kPowerManagement + PCI_PM_CTRL, 2) & PCI_PM_CTRL_STATE_MASK;
  if (power != 0 && power != kD3hot) restore(kPowerManagement + PCI_PM_CTRL);
}

uint32_t PciConfigSpace::get(size_t offset, size_t size) const {
  uint32_t value = 0;
  for (size_t i = 0; i < size; ++i) value |= static_cast<uint32_t>(bytes_[offset + i]) << (8 * i);
  return value;
}

bool PciConfigSpace::powered() const {
  return (get(kPowerManagement + PCI_PM_CTRL, 2) & PCI_PM_CTRL_STATE_MASK) == 0;
}

bool PciConfigSpace::memory_enabled() const {
  return powered() && (get(PCI_COMMAND, 2) & PCI_COMMAND_MEMORY) != 0;
}

bool PciConfigSpace::bus_master_enabled() const {
  return powered() && (get(PCI_COMMAND, 2) & PCI_COMMAND_MASTER) != 0;
}

bool PciConfigSpace::msix_enabled() const {
  return (get(kMsix + PCI_MSIX_FLAGS, 2) & PCI_MSIX_FLAGS_ENABLE) != 0;
}

uint64_t PciConfigSpace::bar_address(unsigned index) const {
  const size_t offset = PCI_BASE_ADDRESS_0 + 4 * index;
  const uint32_t low = get(offset, 4);
  const uint64_t address = low & static_cast<uint32_t>(PCI_BASE_ADDRESS_MEM_MASK);
  if ((low & PCI_BASE_ADDRESS_MEM_TYPE_MASK) != PCI_BASE_ADDRESS_MEM_TYPE_64) return address;
  return address | static_cast<uint64_t>(get(offset + 4, 4)) << 32;
}

unsigned PciConfigSpace::max_payload() const {
  const uint32_t control = get(kExpress + PCI_EXP_DEVCTL, 2);
  return kSmallestPayload << ((control & PCI_EXP_DEVCTL_PAYLOAD) >> kPayloadShift);
}

unsigned PciConfigSpace::max_read_request() const {
  const uint32_t control = get(kExpress + PCI_EXP_DEVCTL, 2);
  return kSmallestPayload << ((control & PCI_EXP_DEVCTL_READRQ) >> kReadShift);
}

}  // namespace exrnic
