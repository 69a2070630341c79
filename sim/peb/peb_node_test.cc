// SPDX-License-Identifier: BSD-2-Clause
#include "sim/peb/peb_node.h"

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <random>

#include "sim/peb/testing/bus.h"
#if EXRNIC_PEB_RTL
#include "rtl-model/peb/rtl_peb.h"
#endif

namespace exrnic::peb {
namespace {

std::unique_ptr<Core> no_core(const CoreConfig& /*config*/, CoreSink& /*sink*/) { return nullptr; }

// Hosts of one slot, and boxes; nobody's device is anywhere yet.
struct Network {
  explicit Network(unsigned hosts = 1, unsigned boxes = 1, const std::string& faults = {},
                   unsigned threads = 1)
      : devices(boxes), testbed(options(hosts, faults, threads), no_core) {
    for (unsigned host = 0; host < hosts; ++host)
      this->hosts.push_back(std::make_unique<TestHost>(testbed, host));
  }

  TestbedOptions options(unsigned hosts, const std::string& faults, unsigned threads) {
    TestbedOptions options;
    options.profile = load_profile("dc-25g");
    options.nodes = 0;
#if EXRNIC_PEB_RTL
    options.make_peb = make_rtl_peb;
#endif
    options.threads = threads;
    options.faults = parse_faults(faults);
    options.peb_hosts.assign(hosts, 1);
    for (TestDevice*& device : devices)
      options.peb_boxes.push_back([&device](Scheduler&) {
        auto made = std::make_unique<TestDevice>();
        device = made.get();
        return made;
      });
    return options;
  }

  HostSlot& slot(unsigned host = 0) { return testbed.peb_host(host).slot(0); }
  void wait_for_device(unsigned host = 0) {
    REQUIRE(testbed.run_until([&] { return slot(host).is_up(); }, kLimitNs) == RunResult::kDone);
  }
  // With a device that works.
  void begin(unsigned host = 0, unsigned box = 0) {
    testbed.assign(host, 0, box);
    wait_for_device(host);
    hosts[host]->enable();
    hosts[host]->enable_interrupts();
    hosts[host]->load(kConfigSpace, 0, 4);
  }
  void settle() {
    REQUIRE(testbed.run_until([] { return false; }, kLimitNs) == RunResult::kIdle);
  }

  std::vector<TestDevice*> devices;
  Testbed testbed;
  std::vector<std::unique_ptr<TestHost>> hosts;
};

Bytes pattern(size_t length, uint8_t first) {
  Bytes bytes(length);
  for (size_t i = 0; i < length; ++i) bytes[i] = static_cast<uint8_t>(first + 7 * i);
  return bytes;
}

TEST_CASE("a device of another node appears in the slot as what it is") {
  Network network;
  CHECK_FALSE(network.slot().description());
  network.testbed.assign(0, 0, 0);
  network.wait_for_device();
  REQUIRE(network.slot().description());
  CHECK(network.slot().description()->vendor_id == test_description().vendor_id);
  CHECK(network.slot().description()->bars.size() == 2);
  CHECK(network.slot().description()->msix.vectors == 4);
  CHECK(network.hosts[0]->load(kConfigSpace, PCI_VENDOR_ID, 4) == 0x56781234);
  CHECK(network.hosts[0]->load(kConfigSpace, PCI_DEVICE_ID, 2) == 0x5678);
  CHECK(network.hosts[0]->load(kConfigSpace, PCI_DEVICE_ID + 1, 1) == 0x56);
}

TEST_CASE("stores and loads of each size reach the device's BARs, in order") {
  Network network;
  network.begin();
  TestHost& host = *network.hosts[0];
  for (const unsigned size : {1u, 2u, 4u, 8u}) {
    host.store(0, 0x100 + 8 * size, size, 0x8877665544332211);
    const uint64_t mask = size == 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * size) - 1;
    CHECK(host.load(0, 0x100 + 8 * size, size) == (0x8877665544332211 & mask));
  }
  network.devices[0]->stores.clear();
  for (unsigned i = 0; i < 500; ++i) host.store(0, 8 * (i % 64), 8, i);
  CHECK(host.load(0, 8 * (499 % 64), 8) == 499);
  REQUIRE(network.devices[0]->stores.size() == 500);
  for (unsigned i = 0; i < 500; ++i) CHECK(network.devices[0]->stores[i].data == i);
}

TEST_CASE("a value that was loaded is behind what the device wrote before it") {
  Network network;
  network.begin();
  TestHost& host = *network.hosts[0];
  TestDevice& device = *network.devices[0];
  uint8_t loads = 0;
  device.before_answer = [&] { device.dma_write(0x100, Bytes(64, ++loads)); };
  std::vector<uint8_t> seen;
  host.takes_writes = false;
  for (unsigned i = 0; i < 3; ++i)
    host.device().mmio_read(0, 0, 4, [&](uint64_t) { seen.push_back(host.memory[0x100]); });
  network.testbed.run_until([] { return false; }, 100'000);
  CHECK(seen.empty());
  host.takes_writes = true;
  network.settle();
  REQUIRE(seen.size() == 3);
  for (unsigned i = 0; i < 3; ++i) CHECK(seen[i] >= i + 1);
}

TEST_CASE("where the host puts a BAR the device is found, and without memory enabled nothing is") {
  Network network;
  network.begin();
  TestHost& host = *network.hosts[0];
  host.store(0, 8, 4, 1);
  host.store(kConfigSpace, PCI_BASE_ADDRESS_0, 4, 0xd0000000);
  host.store(kConfigSpace, PCI_BASE_ADDRESS_1, 4, 0x12);
  CHECK(host.load(kConfigSpace, PCI_BASE_ADDRESS_0, 4) == 0xd0000004);
  CHECK(host.load(0, 8, 4) == 1);
  host.enable(PCI_COMMAND_MASTER);
  CHECK(host.load(0, 8, 4) == 0xffffffff);
  CHECK(network.testbed.peb_box(0).slot().unsupported() == 1);
}

TEST_CASE("a device reads and writes its host's memory, and no other") {
  Network network;
  network.begin();
  TestHost& host = *network.hosts[0];
  TestDevice& device = *network.devices[0];
  host.memory = pattern(host.memory.size(), 3);
  device.dma_read(1, 0x1003, 509);
  device.dma_write(0x8001, pattern(255, 9));
  device.dma_read(2, 0x8000, 256);
  device.dma_read(3, 0x10000, 64);
  network.settle();
  CHECK(device.reads_done == 3);
  CHECK(device.reads[1] == Bytes(host.memory.begin() + 0x1003, host.memory.begin() + 0x1003 + 509));
  CHECK(Bytes(host.memory.begin() + 0x8001, host.memory.begin() + 0x8100) == pattern(255, 9));
  CHECK(device.reads[2] == Bytes(host.memory.begin() + 0x8000, host.memory.begin() + 0x8100));
  CHECK(device.refused == 1);
}

TEST_CASE("a device that its host has not made a bus master does nothing to it") {
  Network network;
  network.begin();
  network.hosts[0]->enable(PCI_COMMAND_MEMORY);
  network.settle();
  const Bytes before = network.hosts[0]->memory;
  network.devices[0]->dma_write(0, {1, 2, 3});
  network.devices[0]->dma_read(0, 0, 4);
  network.devices[0]->interrupt(0);
  network.settle();
  CHECK(network.hosts[0]->memory == before);
  CHECK(network.devices[0]->refused == 1);
  CHECK(network.hosts[0]->interrupts.empty());
}

TEST_CASE("an interrupt arrives behind the data that it speaks of") {
  Network network;
  network.begin();
  network.devices[0]->dma_write(0x40, {1, 2, 3, 4});
  network.devices[0]->interrupt(2);
  network.devices[0]->dma_write(0x40, {5, 6, 7, 8});
  network.settle();
  REQUIRE(network.hosts[0]->interrupts.size() == 1);
  const auto& [vector, memory] = network.hosts[0]->interrupts[0];
  CHECK(vector == 2);
  CHECK(Bytes(memory.begin() + 0x40, memory.begin() + 0x44) == Bytes{1, 2, 3, 4});
}

TEST_CASE("a masked interrupt comes once when its mask, or that of all, goes") {
  Network network;
  network.begin();
  TestHost& host = *network.hosts[0];
  const PciDescription::Msix msix = test_description().msix;
  host.store(msix.bar, PCI_MSIX_ENTRY_SIZE + PCI_MSIX_ENTRY_VECTOR_CTRL, 4, 1);
  network.settle();
  for (const unsigned vector : {1, 1, 0}) network.devices[0]->interrupt(vector);
  network.settle();
  CHECK(host.interrupts.size() == 1);
  host.store(kConfigSpace, msix.capability + PCI_MSIX_FLAGS, 2,
             PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL);
  host.store(msix.bar, PCI_MSIX_ENTRY_SIZE + PCI_MSIX_ENTRY_VECTOR_CTRL, 4, 0);
  network.settle();
  CHECK(host.interrupts.size() == 1);
  host.store(kConfigSpace, msix.capability + PCI_MSIX_FLAGS, 2, PCI_MSIX_FLAGS_ENABLE);
  network.settle();
  REQUIRE(host.interrupts.size() == 2);
  CHECK(host.interrupts[1].first == 1);
}

TEST_CASE("an interrupt that is pending waits for its host to let the device speak") {
  Network network;
  network.begin();
  TestHost& host = *network.hosts[0];
  const PciDescription::Msix msix = test_description().msix;
  host.store(msix.bar, PCI_MSIX_ENTRY_VECTOR_CTRL, 4, 1);
  network.settle();
  network.devices[0]->interrupt(0);
  network.settle();
  host.enable(PCI_COMMAND_MEMORY);
  host.store(msix.bar, PCI_MSIX_ENTRY_VECTOR_CTRL, 4, 0);
  network.settle();
  CHECK(host.interrupts.empty());
  host.enable();
  network.settle();
  CHECK(host.interrupts.size() == 1);
}

TEST_CASE("a slot whose device is taken away while it is reset is empty at once") {
  Network network;
  network.begin();
  network.hosts[0]->reset();
  CHECK(network.slot().description());
  network.testbed.assign(0, 0, std::nullopt);
  CHECK_FALSE(network.slot().description());
  CHECK(network.hosts[0]->load(kConfigSpace, 0, 4) == 0xffffffff);
}

TEST_CASE("a device that is taken away answers all ones, is reset, and reaches its host no more") {
  Network network(2);
  network.begin(0);
  TestHost& host = *network.hosts[0];
  host.store(0, 0, 4, 77);
  CHECK(host.load(0, 0, 4) == 77);
  const unsigned resets = network.devices[0]->resets;
  network.testbed.assign(0, 0, std::nullopt);
  CHECK(host.load(0, 0, 4) == 0xffffffff);
  CHECK(host.load(kConfigSpace, 0, 4) == 0xffffffff);
  host.store(0, 0, 4, 78);
  network.settle();
  CHECK_FALSE(network.slot().description());
  CHECK(network.devices[0]->resets > resets);
  network.devices[0]->dma_write(0, {1});
  network.devices[0]->dma_read(0, 0, 4);
  network.settle();
  CHECK(host.memory[0] == 0);
  CHECK(network.devices[0]->refused == 1);

  network.begin(1);
  CHECK(network.hosts[1]->load(0, 0, 4) == 0);
  network.devices[0]->dma_write(0, {9});
  network.settle();
  CHECK(network.hosts[1]->memory[0] == 9);
  CHECK(host.memory[0] == 0);
  network.begin(0);
  CHECK_FALSE(network.slot(1).description());
  CHECK(host.load(0, 0, 4) == 0);
}

TEST_CASE("a reset by the host resets the device, and accesses behind it find the device again") {
  Network network;
  network.begin();
  TestHost& host = *network.hosts[0];
  host.store(0, 0, 4, 77);
  host.load(0, 0, 4);
  const unsigned resets = network.devices[0]->resets;
  uint64_t late = 0;
  network.testbed.peb_host(0).device(0).mmio_read(0, 0, 4, [&](uint64_t read) { late = read; });
  host.reset();
  CHECK(late == 0xffffffff);
  const uint64_t changes = network.slot().changes();
  CHECK(host.load(kConfigSpace, 0, 4) == 0x56781234);
  CHECK(network.devices[0]->resets == resets + 1);
  CHECK(network.slot().changes() == changes + 1);
  host.enable();
  CHECK(host.load(0, 0, 4) == 0);
}

TEST_CASE("a device that does not answer a load ends it with all ones, after the time-out") {
  Network network;
  network.begin();
  network.devices[0]->silent = true;
  const uint64_t before = network.testbed.now_ns();
  CHECK(network.hosts[0]->load(0, 0, 8) == ~uint64_t{0});
  CHECK(network.testbed.now_ns() - before >= uint64_t{1} << EXRNIC_READ_TIMEOUT_SHIFT);
  network.devices[0]->silent = false;
  network.hosts[0]->store(0, 0, 8, 5);
  CHECK(network.hosts[0]->load(kConfigSpace, 0, 4) != 0);
}

TEST_CASE("a line that is cut ends accesses, and the device is there again when it is joined") {
  Network network;
  network.begin();
  TestHost& host = *network.hosts[0];
  const TopologyLink& link = network.testbed.fabric().topology().links[0];
  network.testbed.fabric().set_up(link, false);
  host.store(0, 0, 4, 1);
  CHECK(host.load(0, 0, 4) == 0xffffffff);
  network.testbed.run_for(20'000'000);
  CHECK_FALSE(network.slot().is_up());
  network.testbed.fabric().set_up(link, true);
  network.wait_for_device();
  host.enable();
  host.store(0, 0, 4, 3);
  CHECK(host.load(0, 0, 4) == 3);
}

// Everything at once over a bad network; each byte is compared.
struct Storm {
  Storm(uint64_t seed, unsigned threads)
      : network(2, 2, "drop=0.02,duplicate=0.02,reorder=0.02,corrupt=0.02", threads), random(seed) {
    for (unsigned i = 0; i < 2; ++i) network.begin(i, i);
  }

  void run(unsigned rounds) {
    std::vector<Bytes> expected = {network.hosts[0]->memory, network.hosts[1]->memory};
    for (unsigned round = 0; round < rounds; ++round) {
      for (unsigned i = 0; i < 2; ++i) {
        TestDevice& device = *network.devices[i];
        const size_t length = 1 + random() % 256;
        const uint64_t address = random() % 15 * 4096 + random() % (4096 - length);
        const Bytes data = pattern(length, static_cast<uint8_t>(random()));
        while (!device.pcie->can_write()) network.testbed.run_for(100);
        device.dma_write(address, data);
        std::copy(data.begin(), data.end(),
                  expected[i].begin() + static_cast<std::ptrdiff_t>(address));
        while (!device.pcie->can_read()) network.testbed.run_for(100);
        device.dma_read(0, address, static_cast<uint16_t>(length));
        const uint64_t value = random();
        network.hosts[i]->store(0, 8 * (round % 512), 8, value);
        CHECK(network.hosts[i]->load(0, 8 * (round % 512), 8) == value);
        REQUIRE(network.testbed.run_until([&] { return device.reads[0].size() == length; },
                                          kLimitNs) == RunResult::kDone);
        CHECK(device.reads[0] == data);
      }
    }
    network.settle();
    for (unsigned i = 0; i < 2; ++i) CHECK(network.hosts[i]->memory == expected[i]);
  }

  Network network;
  std::mt19937_64 random;
};

TEST_CASE("over a network that loses, doubles, reorders and breaks frames all arrives as it was") {
  const char* given = std::getenv("EXRNIC_SEED");
  const uint64_t seed =
      given == nullptr ? std::random_device()() : std::strtoull(given, nullptr, 0);
  INFO("EXRNIC_SEED=" << seed);
  Storm(seed, 1).run(300);
}

TEST_CASE("with two threads all comes to the same at the same times") {
  Storm one(5, 1);
  Storm two(5, 2);
  one.run(50);
  two.run(50);
  CHECK(one.network.testbed.peb_host(0).mac().counters().transmitted ==
        two.network.testbed.peb_host(0).mac().counters().transmitted);
}

}  // namespace
}  // namespace exrnic::peb
