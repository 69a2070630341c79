// SPDX-License-Identifier: BSD-2-Clause
#include "sim/peb/discovery.h"

#include <linux/pci_regs.h>

#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <random>

#include "sim/peb/testing/bus.h"

namespace exrnic::peb {
namespace {

// What a device with this configuration space says.
std::optional<PciDescription> discover(PciConfigSpace& config) {
  Discovery discovery;
  for (const Discovery::Access& access : Discovery::script()) {
    uint8_t bytes[4];
    std::memcpy(bytes, &access.value, 4);
    if (access.is_write) {
      config.write(access.place, bytes, 4);
      continue;
    }
    config.read(access.place, bytes, 4);
    uint32_t value;
    std::memcpy(&value, bytes, 4);
    CHECK_FALSE(discovery.done());
    discovery.answer(value);
  }
  CHECK(discovery.done());
  return discovery.result();
}

TEST_CASE("a device is found with its identity, BARs and MSI-X table") {
  PciConfigSpace config(test_description());
  const auto found = discover(config);
  REQUIRE(found);
  CHECK(found->vendor_id == 0x1234);
  CHECK(found->device_id == 0x5678);
  CHECK(found->class_code == 0x010802);
  REQUIRE(found->bars.size() == 2);
  CHECK(found->bars[0].size == 0x4000);
  CHECK(found->bars[0].is_64bit);
  CHECK(found->bars[1].index == 2);
  CHECK(found->bars[1].size == 0x1000);
  CHECK_FALSE(found->bars[1].is_64bit);
  CHECK(found->msix.vectors == 4);
  CHECK(found->msix.bar == 2);
  CHECK(found->msix.pba_offset == 0x800);
  CHECK(found->config_bytes == PCI_CFG_SPACE_EXP_SIZE);
}

TEST_CASE("BARs get aligned addresses that do not overlap, and one without room gets none") {
  PciDescription description;
  description.bars = {{0, 0x1000, false, false},
                      {1, 0x40000000, false, false},
                      {2, 0x80000000, false, false},
                      {3, uint64_t{1} << 36, true, true}};
  const BarRegisters bars = Discovery::addresses(description);
  CHECK(bar_address(bars, description.bars[1]) == 0x80000000);
  CHECK(bar_address(bars, description.bars[0]) == 0xc0000000);
  CHECK(bar_address(bars, description.bars[2]) == 0);
  CHECK(bar_address(bars, description.bars[3]) % (uint64_t{1} << 36) == 0);
  CHECK(bar_address(bars, description.bars[3]) >= uint64_t{1} << 40);
}

TEST_CASE("an empty slot, a bridge, and a read that fails are no device") {
  const auto all = [](std::optional<uint32_t> value) {
    Discovery discovery;
    for (const Discovery::Access& access : Discovery::script())
      if (!access.is_write) discovery.answer(value);
    return discovery.result();
  };
  CHECK_FALSE(all(0xffffffff));
  CHECK_FALSE(all(std::nullopt));
  CHECK_FALSE(all(0x01010101));  // header of type 1
}

// Capability lists in circles, BARs of all sizes, tables beyond the end: whatever it is, it ends.
TEST_CASE("whatever a device says is judged without harm") {
  std::mt19937 random(1);
  for (int round = 0; round < 20'000; ++round) {
    Discovery discovery;
    const uint32_t mask = random() & random();
    for (const Discovery::Access& access : Discovery::script()) {
      if (access.is_write) continue;
      uint32_t value = random() & ((random() & 1) != 0 ? 0xffffffff : mask);
      if (access.place == PCI_COMMAND) value |= PCI_STATUS_CAP_LIST << 16;
      if (access.place == PCI_CACHE_LINE_SIZE) value &= 0xff80ffff;
      discovery.answer(value);
    }
    const auto found = discovery.result();
    if (!found) continue;
    for (const auto& bar : found->bars) CHECK((bar.size & (bar.size - 1)) == 0);
    if (found->msix.vectors > 0) CHECK_FALSE(found->bars.empty());
    Discovery::addresses(*found);
  }
}

}  // namespace
}  // namespace exrnic::peb
