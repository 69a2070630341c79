// SPDX-License-Identifier: BSD-2-Clause
#include "sim/peb/discovery.h"

#include <linux/pci_regs.h>

#include <algorithm>

namespace exrnic::peb {
namespace {

constexpr size_t kDwords = PCI_CFG_SPACE_SIZE / 4;
constexpr uint64_t kLeastBar = 16;
constexpr uint64_t kMostBar = uint64_t{1} << 40;
// What a PC leaves to devices below 4 GiB, and where others have room.
constexpr uint64_t kLowBegin = 0x80000000;
constexpr uint64_t kLowEnd = 0xfe000000;
constexpr uint64_t kHighBegin = uint64_t{1} << 40;

std::vector<Discovery::Access> make_script() {
  std::vector<Discovery::Access> script;
  for (size_t i = 0; i < kDwords; ++i) script.push_back({false, static_cast<uint16_t>(4 * i), 0});
  for (const bool is_write : {true, false})
    for (unsigned bar = 0; bar < PCI_STD_NUM_BARS; ++bar)
      script.push_back({is_write, static_cast<uint16_t>(PCI_BASE_ADDRESS_0 + 4 * bar), 0xffffffff});
  return script;
}

bool is_64bit(uint32_t bar) {
  return (bar & PCI_BASE_ADDRESS_MEM_TYPE_MASK) == PCI_BASE_ADDRESS_MEM_TYPE_64;
}

bool fits(const PciDescription& description, unsigned bar, uint64_t offset, uint64_t bytes) {
  return std::any_of(description.bars.begin(), description.bars.end(), [&](const auto& each) {
    return each.index == bar && offset <= each.size && bytes <= each.size - offset;
  });
}

}  // namespace

uint64_t bar_address(const BarRegisters& registers, const PciDescription::Bar& bar) {
  uint64_t value = registers[bar.index];
  if (bar.is_64bit) value |= uint64_t{registers[bar.index + 1]} << 32;
  return value & ~(bar.size - 1);
}

const std::vector<Discovery::Access>& Discovery::script() {
  static const std::vector<Access> script = make_script();
  return script;
}

size_t Discovery::reads() { return kDwords + PCI_STD_NUM_BARS; }

void Discovery::answer(std::optional<uint32_t> value) {
  value ? answers_.push_back(*value) : void(++failed_);
}

uint8_t Discovery::byte(size_t place) const {
  return static_cast<uint8_t>(dword(place) >> (8 * (place % 4)));
}

uint16_t Discovery::word(size_t place) const {
  return static_cast<uint16_t>(byte(place) | byte(place + 1) << 8);
}

// Each place once at most, so that a list in a circle ends.
std::optional<size_t> Discovery::capability(uint8_t id) const {
  if ((word(PCI_STATUS) & PCI_STATUS_CAP_LIST) == 0) return std::nullopt;
  size_t place = byte(PCI_CAPABILITY_LIST) & ~3u;
  for (size_t i = 0; i < kDwords && place >= PCI_STD_HEADER_SIZEOF; ++i) {
    if (byte(place + PCI_CAP_LIST_ID) == id) return place;
    place = byte(place + PCI_CAP_LIST_NEXT) & ~3u;
  }
  return std::nullopt;
}

bool Discovery::find_bars(PciDescription& description) const {
  for (unsigned index = 0; index < PCI_STD_NUM_BARS; ++index) {
    const uint32_t low = answers_[kDwords + index];
    if (low == 0) continue;
    if ((low & PCI_BASE_ADDRESS_SPACE) == PCI_BASE_ADDRESS_SPACE_IO) continue;
    const bool wide = is_64bit(low);
    if (wide && index + 1 == PCI_STD_NUM_BARS) return false;
    uint64_t mask = low & static_cast<uint32_t>(PCI_BASE_ADDRESS_MEM_MASK);
    mask |= uint64_t{wide ? answers_[kDwords + index + 1] : 0xffffffff} << 32;
    const uint64_t size = ~mask + 1;
    if (size < kLeastBar || size > kMostBar || (size & (size - 1)) != 0) return false;
    description.bars.push_back({index, size, wide, (low & PCI_BASE_ADDRESS_MEM_PREFETCH) != 0});
    if (wide) ++index;
  }
  return true;
}

// One that does not fit is none.
bool Discovery::find_msix(PciDescription& description) const {
  const auto found = capability(PCI_CAP_ID_MSIX);
  if (!found || *found + PCI_CAP_MSIX_SIZEOF > PCI_CFG_SPACE_SIZE) return !found;
  const uint32_t table = dword(*found + PCI_MSIX_TABLE);
  const uint32_t pending = dword(*found + PCI_MSIX_PBA);
  PciDescription::Msix msix;
  msix.vectors = (word(*found + PCI_MSIX_FLAGS) & PCI_MSIX_FLAGS_QSIZE) + 1;
  msix.bar = table & PCI_MSIX_TABLE_BIR;
  msix.table_offset = table & PCI_MSIX_TABLE_OFFSET;
  msix.pba_offset = pending & PCI_MSIX_PBA_OFFSET;
  msix.capability = static_cast<unsigned>(*found);
  if (!fits(description, msix.bar, msix.table_offset, uint64_t{msix.vectors} * PCI_MSIX_ENTRY_SIZE))
    return false;
  description.msix = msix;
  return true;
}

std::optional<PciDescription> Discovery::result() const {
  if (failed_ != 0 || word(PCI_VENDOR_ID) == 0xffff) return std::nullopt;
  if ((byte(PCI_HEADER_TYPE) & PCI_HEADER_TYPE_MASK) != PCI_HEADER_TYPE_NORMAL) return std::nullopt;
  PciDescription description;
  description.vendor_id = word(PCI_VENDOR_ID);
  description.device_id = word(PCI_DEVICE_ID);
  description.revision = byte(PCI_CLASS_REVISION);
  description.class_code = dword(PCI_CLASS_REVISION) >> 8;
  description.subsystem_vendor_id = word(PCI_SUBSYSTEM_VENDOR_ID);
  description.subsystem_id = word(PCI_SUBSYSTEM_ID);
  description.config_bytes =
      capability(PCI_CAP_ID_EXP) ? PCI_CFG_SPACE_EXP_SIZE : PCI_CFG_SPACE_SIZE;
  if (!find_bars(description) || !find_msix(description)) return std::nullopt;
  return description;
}

// The largest first, so that all are aligned without gaps.
BarRegisters Discovery::addresses(const PciDescription& description) {
  std::vector<PciDescription::Bar> bars = description.bars;
  std::stable_sort(bars.begin(), bars.end(),
                   [](const auto& one, const auto& other) { return one.size > other.size; });
  BarRegisters registers{};
  uint64_t low = kLowBegin;
  uint64_t high = kHighBegin;
  for (const PciDescription::Bar& bar : bars) {
    uint64_t& next = bar.is_64bit ? high : low;
    if (!bar.is_64bit && bar.size > kLowEnd - next) continue;
    const uint64_t address = (next + bar.size - 1) & ~(bar.size - 1);
    next = address + bar.size;
    registers[bar.index] = static_cast<uint32_t>(address);
    if (bar.is_64bit) registers[bar.index + 1] = static_cast<uint32_t>(address >> 32);
  }
  return registers;
}

}  // namespace exrnic::peb
