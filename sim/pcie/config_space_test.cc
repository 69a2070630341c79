// SPDX-License-Identifier: BSD-2-Clause
#include "sim/pcie/config_space.h"

#include <linux/pci_regs.h>

#include <catch2/catch_test_macros.hpp>
#include <random>

namespace exrnic {
namespace {

PciDescription description() {
  PciDescription d;
  d.vendor_id = 0x1234;
  d.device_id = 0xabcd;
  d.revision = 7;
  d.class_code = 0x020700;
  d.subsystem_vendor_id = 0x4321;
  d.subsystem_id = 0x0042;
  d.bars = {{0, 64 * 1024, false, false}, {1, 4096, false, false}, {2, 1 << 20, true, true}};
  d.msix = {32, 1, 0, 0x800};
  d.max_payload = 512;
  d.link_generation = 3;
  d.link_width = 8;
  return d;
}

struct Fixture {
  PciConfigSpace config{description()};

  uint32_t get(size_t offset, size_t size) const {
    uint8_t bytes[4] = {};
    config.read(offset, bytes, size);
    return bytes[0] | bytes[1] << 8 | bytes[2] << 16 | static_cast<uint32_t>(bytes[3]) << 24;
  }
  PciConfigSpace::Effect put(size_t offset, size_t size, uint32_t value) {
    const uint8_t bytes[4] = {static_cast<uint8_t>(value), static_cast<uint8_t>(value >> 8),
                              static_cast<uint8_t>(value >> 16), static_cast<uint8_t>(value >> 24)};
    return config.write(offset, bytes, size);
  }
  // Follows the list as a driver does; 0 when the capability is not there.
  size_t capability(uint8_t id) const {
    size_t at = get(PCI_CAPABILITY_LIST, 1);
    for (int hops = 0; at != 0 && hops < 48; ++hops) {
      if (get(at, 1) == id) return at;
      at = get(at + PCI_CAP_LIST_NEXT, 1);
    }
    return 0;
  }
};

TEST_CASE_METHOD(Fixture, "the header names the device that was described") {
  CHECK(get(PCI_VENDOR_ID, 2) == 0x1234);
  CHECK(get(PCI_DEVICE_ID, 2) == 0xabcd);
  CHECK(get(PCI_REVISION_ID, 1) == 7);
  CHECK(get(PCI_CLASS_PROG, 1) == 0x00);
  CHECK(get(PCI_CLASS_DEVICE, 2) == 0x0207);
  CHECK(get(PCI_HEADER_TYPE, 1) == PCI_HEADER_TYPE_NORMAL);
  CHECK(get(PCI_SUBSYSTEM_VENDOR_ID, 2) == 0x4321);
  CHECK(get(PCI_SUBSYSTEM_ID, 2) == 0x0042);
  CHECK(get(PCI_INTERRUPT_PIN, 1) == 0);
}

TEST_CASE_METHOD(Fixture, "a BAR tells its size to a host that writes ones") {
  put(PCI_BASE_ADDRESS_0, 4, 0xffffffff);
  put(PCI_BASE_ADDRESS_1, 4, 0xffffffff);
  put(PCI_BASE_ADDRESS_2, 4, 0xffffffff);
  put(PCI_BASE_ADDRESS_3, 4, 0xffffffff);
  put(PCI_BASE_ADDRESS_4, 4, 0xffffffff);
  put(PCI_ROM_ADDRESS, 4, 0xffffffff);
  CHECK(get(PCI_BASE_ADDRESS_0, 4) == 0xffff0000);
  CHECK(get(PCI_BASE_ADDRESS_1, 4) == 0xfffff000);
  CHECK(get(PCI_BASE_ADDRESS_2, 4) == 0xfff0000c);
  CHECK(get(PCI_BASE_ADDRESS_3, 4) == 0xffffffff);
  CHECK(get(PCI_BASE_ADDRESS_4, 4) == 0);
  CHECK(get(PCI_ROM_ADDRESS, 4) == 0);
}

TEST_CASE_METHOD(Fixture, "a BAR keeps the address that the host gave it") {
  put(PCI_BASE_ADDRESS_0, 4, 0xfe120000);
  put(PCI_BASE_ADDRESS_2, 4, 0x00300000);
  put(PCI_BASE_ADDRESS_3, 4, 0x00000038);
  CHECK(config.bar_address(0) == 0xfe120000);
  CHECK(config.bar_address(2) == 0x3800300000);
}

TEST_CASE_METHOD(Fixture, "memory and bus mastering are off until the host turns them on") {
  CHECK_FALSE(config.memory_enabled());
  CHECK_FALSE(config.bus_master_enabled());
  put(PCI_COMMAND, 2, PCI_COMMAND_MEMORY);
  CHECK(config.memory_enabled());
  CHECK_FALSE(config.bus_master_enabled());
  put(PCI_COMMAND, 2, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
  CHECK(config.bus_master_enabled());
}

TEST_CASE_METHOD(Fixture, "I/O space cannot be enabled because there is none") {
  put(PCI_COMMAND, 2, 0xffff);
  CHECK((get(PCI_COMMAND, 2) & PCI_COMMAND_IO) == 0);
}

TEST_CASE_METHOD(Fixture, "D3hot silences the function and D1 does not exist") {
  put(PCI_COMMAND, 2, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
  const size_t pm = capability(PCI_CAP_ID_PM);
  REQUIRE(pm != 0);
  put(pm + PCI_PM_CTRL, 2, 1);
  CHECK((get(pm + PCI_PM_CTRL, 2) & PCI_PM_CTRL_STATE_MASK) == 0);
  put(pm + PCI_PM_CTRL, 2, 3);
  CHECK_FALSE(config.memory_enabled());
  CHECK_FALSE(config.bus_master_enabled());
  put(pm + PCI_PM_CTRL, 2, 0);
  CHECK(config.memory_enabled());
  CHECK((get(pm + PCI_PM_CTRL, 2) & PCI_PM_CTRL_NO_SOFT_RESET) != 0);
}

TEST_CASE_METHOD(Fixture, "the MSI-X capability gives table size and places, and can be enabled") {
  const size_t msix = capability(PCI_CAP_ID_MSIX);
  REQUIRE(msix != 0);
  CHECK(get(msix + PCI_MSIX_FLAGS, 2) == 31);
  CHECK(get(msix + PCI_MSIX_TABLE, 4) == 1);
  CHECK(get(msix + PCI_MSIX_PBA, 4) == (0x800 | 1));
  put(msix + PCI_MSIX_FLAGS, 2, 0xffff);
  CHECK(get(msix + PCI_MSIX_FLAGS, 2) == (PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL | 31));
  CHECK(config.msix_enabled());
}

TEST_CASE_METHOD(Fixture, "the PCI Express capability describes an endpoint and its link") {
  const size_t express = capability(PCI_CAP_ID_EXP);
  REQUIRE(express != 0);
  CHECK(get(express + PCI_EXP_FLAGS, 2) == 2);
  CHECK((get(express + PCI_EXP_DEVCAP, 4) & PCI_EXP_DEVCAP_PAYLOAD) == 2);
  CHECK((get(express + PCI_EXP_DEVCAP, 4) & PCI_EXP_DEVCAP_FLR) != 0);
  CHECK((get(express + PCI_EXP_LNKCAP, 4) & PCI_EXP_LNKCAP_SLS) == PCI_EXP_LNKCAP_SLS_8_0GB);
  CHECK((get(express + PCI_EXP_LNKSTA, 2) & PCI_EXP_LNKSTA_NLW) == PCI_EXP_LNKSTA_NLW_X8);
}

TEST_CASE_METHOD(Fixture, "MPS and MRRS follow Device Control and refuse what does not exist") {
  const size_t control = capability(PCI_CAP_ID_EXP) + PCI_EXP_DEVCTL;
  CHECK(config.max_payload() == 128);
  CHECK(config.max_read_request() == 512);
  put(control, 2, PCI_EXP_DEVCTL_PAYLOAD_512B | PCI_EXP_DEVCTL_READRQ_4096B);
  CHECK(config.max_payload() == 512);
  CHECK(config.max_read_request() == 4096);
  put(control, 2, PCI_EXP_DEVCTL_PAYLOAD_1024B | PCI_EXP_DEVCTL_READRQ_128B);
  CHECK(config.max_payload() == 512);
  CHECK(config.max_read_request() == 128);
  put(control, 2, PCI_EXP_DEVCTL_PAYLOAD_256B | 0x7000);
  CHECK(config.max_payload() == 256);
  CHECK(config.max_read_request() == 128);
}

TEST_CASE_METHOD(Fixture, "the FLR bit asks for a function reset and reads zero") {
  const size_t control = capability(PCI_CAP_ID_EXP) + PCI_EXP_DEVCTL;
  CHECK(put(control, 2, PCI_EXP_DEVCTL_READRQ_256B) == PciConfigSpace::Effect::kNone);
  CHECK(put(control, 2, PCI_EXP_DEVCTL_BCR_FLR) == PciConfigSpace::Effect::kFunctionReset);
  CHECK((get(control, 2) & PCI_EXP_DEVCTL_BCR_FLR) == 0);
  CHECK(put(control + 1, 1, PCI_EXP_DEVCTL_BCR_FLR >> 8) == PciConfigSpace::Effect::kFunctionReset);
}

TEST_CASE_METHOD(Fixture, "a reset puts every byte back") {
  std::array<uint8_t, PciConfigSpace::kSize> before{};
  config.read(0, before.data(), before.size());
  const std::vector<uint8_t> ones(PciConfigSpace::kSize, 0xff);
  config.write(0, ones.data(), ones.size());
  config.reset();
  std::array<uint8_t, PciConfigSpace::kSize> after{};
  config.read(0, after.data(), after.size());
  CHECK(before == after);
}

TEST_CASE_METHOD(Fixture, "random writes never change what identifies the function") {
  const uint32_t seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 20000; ++i) {
    const size_t size = 1 + random() % 4;
    put(random() % (PciConfigSpace::kSize - 3), size, random());
  }
  CHECK(get(PCI_VENDOR_ID, 4) == 0xabcd1234);
  CHECK(get(PCI_CLASS_REVISION, 4) == 0x02070007);
  CHECK(capability(PCI_CAP_ID_PM) != 0);
  CHECK(capability(PCI_CAP_ID_MSIX) != 0);
  CHECK(capability(PCI_CAP_ID_EXP) != 0);
  CHECK(config.max_payload() <= 512);
  CHECK(config.max_read_request() <= 4096);
}

}  // namespace
}  // namespace exrnic
