// SPDX-License-Identifier: BSD-2-Clause
// A host and a device without processes: what stands at the two ends of PEBs in tests.
#pragma once

#include <linux/pci_regs.h>

#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sim/pcie/host_port.h"
#include "sim/pcie/msi.h"
#include "sim/pcie/pcie_device.h"
#include "sim/testbed.h"

namespace exrnic::peb {

constexpr uint64_t kLimitNs = 200'000'000;

inline PciDescription test_description() {
  PciDescription description;
  description.vendor_id = 0x1234;
  description.device_id = 0x5678;
  description.class_code = 0x010802;
  description.bars = {{0, 0x4000, true, false}, {2, 0x1000, false, false}};
  description.msix = {4, 2, 0, 0x800, 0x50};
  return description;
}

// BARs are memory. DMA is begun by hand; what it came to is kept.
class TestDevice final : public PcieDevice {
 public:
  const PciDescription& description() const override { return description_; }
  void connect(PciePort& port) override { pcie = &port; }

  void mmio_write(const MmioAccess& access) override {
    if (access.bar == kConfigSpace) {
      const auto data = reinterpret_cast<const uint8_t*>(&access.data);
      config.write(access.offset, data, access.size);
    } else {
      std::memcpy(memory(access.bar, access.offset), &access.data, access.size);
      stores.push_back(access);
    }
  }
  void mmio_read(const MmioAccess& access) override {
    if (silent) return;
    uint64_t value = 0;
    if (access.bar == kConfigSpace) {
      config.read(access.offset, reinterpret_cast<uint8_t*>(&value), access.size);
    } else {
      std::memcpy(&value, memory(access.bar, access.offset), access.size);
    }
    if (before_answer) before_answer();
    pcie->mmio_read_done(value);
  }
  void read_completion(ReadCompletion&& completion) override {
    Bytes& data = reads[completion.tag];
    data.insert(data.end(), completion.data.begin(), completion.data.end());
    if (completion.error) ++refused;
    if (completion.last) ++reads_done;
  }
  void reset() override {
    ++resets;
    config.reset();
    bars.clear();
    stores.clear();
  }

  void dma_write(uint64_t address, const Bytes& data) {
    PostedWrite write;
    write.address = address;
    write.data = data;
    pcie->write(std::move(write));
  }
  void dma_read(uint8_t tag, uint64_t address, uint16_t length) {
    reads[tag].clear();
    ReadRequest request;
    request.tag = tag;
    request.address = address;
    request.length = length;
    pcie->read(request);
  }
  void interrupt(unsigned vector) {
    PostedWrite write;
    write.kind = PostedWrite::Kind::kMsix;
    write.address = vector;
    pcie->write(std::move(write));
  }

  PciePort* pcie = nullptr;
  PciConfigSpace config{test_description()};
  std::vector<MmioAccess> stores;
  std::map<uint8_t, Bytes> reads;
  unsigned reads_done = 0;
  unsigned refused = 0;
  unsigned resets = 0;
  bool silent = false;
  std::function<void()> before_answer;  // of a load

 private:
  uint8_t* memory(unsigned bar, uint64_t offset) {
    Bytes& bytes = bars[bar];
    bytes.resize(0x4000);
    return bytes.data() + offset;
  }

  const PciDescription description_ = test_description();
  std::map<unsigned, Bytes> bars;
};

// Memory from 0 on, and a CPU whose loads run the simulation until they are answered.
class TestHost final : public HostPort {
 public:
  TestHost(Testbed& testbed, unsigned host, unsigned slot = 0)
      : memory(1 << 16), testbed_(testbed), device_(testbed.peb_host(host).device(slot)) {
    testbed.peb_host(host).connect_host(slot, this);
  }

  bool dma_read(uint64_t address, uint8_t* out, size_t length) override {
    if (address > memory.size() || length > memory.size() - address) return false;
    std::memcpy(out, memory.data() + address, length);
    return true;
  }
  bool dma_write(uint64_t address, const uint8_t* data, size_t length) override {
    if (address > memory.size() || length > memory.size() - address) return false;
    std::memcpy(memory.data() + address, data, length);
    return true;
  }
  bool can_take_write() override { return takes_writes; }
  void fire_msix(unsigned vector) override { interrupts.emplace_back(vector, memory); }

  void store(unsigned bar, uint64_t offset, unsigned size, uint64_t value) {
    device_.mmio_write(bar, offset, size, value);
  }
  uint64_t load(unsigned bar, uint64_t offset, unsigned size) {
    std::optional<uint64_t> value;
    device_.mmio_read(bar, offset, size, [&](uint64_t read) { value = read; });
    REQUIRE(testbed_.run_until([&] { return value.has_value(); }, kLimitNs) == RunResult::kDone);
    return *value;
  }
  DevicePort& device() { return device_; }
  void reset() { device_.reset(); }

  // As a driver does it.
  void enable(uint16_t command = PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER) {
    store(kConfigSpace, PCI_COMMAND, 2, command);
  }
  // All vectors, each with its number.
  void enable_interrupts() {
    const PciDescription::Msix msix = test_description().msix;
    for (unsigned vector = 0; vector < msix.vectors; ++vector) {
      const uint64_t entry = msix.table_offset + vector * PCI_MSIX_ENTRY_SIZE;
      store(msix.bar, entry + PCI_MSIX_ENTRY_LOWER_ADDR, 8, kInterruptAddress);
      store(msix.bar, entry + PCI_MSIX_ENTRY_DATA, 8, vector);  // and its mask
    }
    store(kConfigSpace, msix.capability + PCI_MSIX_FLAGS, 2, PCI_MSIX_FLAGS_ENABLE);
  }

  Bytes memory;
  bool takes_writes = true;
  std::vector<std::pair<unsigned, Bytes>> interrupts;  // and the memory when they came

 private:
  Testbed& testbed_;
  DevicePort& device_;
};

}  // namespace exrnic::peb
