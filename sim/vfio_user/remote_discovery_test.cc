// SPDX-License-Identifier: BSD-2-Clause
// What a RemoteDevice finds out of a device: of a server of ours, and of servers that lie.
#include <functional>
#include <random>

#include "exrnic_hw.h"
#include "sim/pcie/msi.h"
#include "sim/vfio_user/passed_on_fixture.h"
#include "sim/vfio_user/remote_fixture.h"

namespace exrnic::vfio_user {
namespace {

constexpr uint32_t kConfig = VFIO_PCI_CONFIG_REGION_INDEX;
constexpr unsigned kPlace = 0x40;  // of MSI-X in honest_config()

// What is told of a region instead of the truth.
Liar::Lie of_region(uint32_t index, uint64_t size) {
  return [=](const Message& request) -> std::optional<std::optional<Bytes>> {
    if (request.header.command != static_cast<uint16_t>(Command::kDeviceGetRegionInfo) ||
        load<uint32_t>(request.payload.data() + 8) != index)
      return std::nullopt;
    return encode_region_info(0, index, size);
  };
}

Liar::Lie to(Command command, std::optional<Bytes> reply) {
  return [=](const Message& request) -> std::optional<std::optional<Bytes>> {
    if (request.header.command != static_cast<uint16_t>(command)) return std::nullopt;
    return reply;
  };
}

Bytes header_with(size_t offset, uint8_t value) {
  Bytes header(RemoteDevice::kHeaderBytes);
  header[offset] = value;
  return encode_region_access({0, kConfig, RemoteDevice::kHeaderBytes}, header.data(),
                              header.size());
}

// A device with another configuration space, and `irqs` vectors as its server says.
Liar::Lie of_config(const Bytes& config, uint32_t irqs = 2) {
  return [=](const Message& request) -> std::optional<std::optional<Bytes>> {
    const auto command = static_cast<Command>(request.header.command);
    if (command == Command::kDeviceGetIrqInfo) {
      return encode_irq_info(0, VFIO_PCI_MSIX_IRQ_INDEX, irqs);
    }
    if (command != Command::kRegionRead) return std::nullopt;
    const auto access = load<RegionAccessWire>(request.payload.data());
    return encode_region_access({access.offset, access.region, access.count},
                                config.data() + access.offset, access.count);
  };
}

Bytes changed(const std::function<void(Bytes& config)>& change) {
  Bytes config = honest_config();
  change(config);
  return config;
}

void put32(Bytes& config, size_t at, uint32_t value) {
  for (size_t i = 0; i < 4; ++i) config[at + i] = static_cast<uint8_t>(value >> (8 * i));
}

// The capability elsewhere, as the list says by `pointer`.
Bytes with_capability_at(unsigned place, uint8_t pointer) {
  Bytes config = honest_config();
  Bytes capability(config.begin() + kPlace, config.begin() + kPlace + PCI_CAP_MSIX_SIZEOF);
  std::fill(config.begin() + kPlace, config.end(), uint8_t{0});
  capability.resize(std::min<size_t>(capability.size(), config.size() - place));
  std::copy(capability.begin(), capability.end(), config.begin() + place);
  config[PCI_CAPABILITY_LIST] = pointer;
  return config;
}

}  // namespace

TEST_CASE_METHOD(Served, "a device is found with its identity, BARs and vectors") {
  const PciDescription rnic = rnic_pci_description({});
  CHECK(load<uint16_t>(remote->header().data() + PCI_VENDOR_ID) == rnic.vendor_id);
  CHECK(load<uint16_t>(remote->header().data() + PCI_DEVICE_ID) == rnic.device_id);
  CHECK(remote->config_bytes() == PciConfigSpace::kSize);
  CHECK(remote->vectors() == rnic.msix.vectors);
  REQUIRE(remote->bars().size() == rnic.bars.size());
  for (size_t i = 0; i < rnic.bars.size(); ++i) {
    CHECK(remote->bars()[i].index == rnic.bars[i].index);
    CHECK(remote->bars()[i].size == rnic.bars[i].size);
    CHECK(remote->bars()[i].is_64bit == rnic.bars[i].is_64bit);
    CHECK(remote->bars()[i].prefetchable == rnic.bars[i].prefetchable);
  }
}

TEST_CASE("a server that says impossible things of its device has none") {
  const auto reason = [](Liar::Lie lie) { return Liar(std::move(lie)).discovered(); };
  const auto has = [](const std::string& text, const char* part) {
    INFO(text);
    return text.find(part) != std::string::npos;
  };
  CHECK(reason(nullptr).empty());
  CHECK(has(reason(of_region(0, 24)), "BAR 0 has 24 bytes"));
  CHECK(has(reason(of_region(0, 8)), "BAR 0 has 8 bytes"));
  CHECK(has(reason(of_region(0, uint64_t{1} << 63)), "BAR 0 has 9223372036854775808 bytes"));
  CHECK(has(reason(of_region(kConfig, 255)), "configuration space has 255"));
  CHECK(has(reason(of_region(kConfig, 8192)), "configuration space has 8192"));
  CHECK(has(reason(to(Command::kDeviceGetInfo, encode_device_info(0, 9, 5))), "none of PCI"));
  CHECK(has(reason(to(Command::kDeviceGetInfo, encode_device_info(VFIO_DEVICE_FLAGS_PCI, 3, 5))),
            "3 regions"));
  CHECK(has(reason(to(Command::kDeviceGetIrqInfo, encode_irq_info(0, 2, 5000))), "5000 MSI-X"));
  CHECK(has(reason(to(Command::kRegionRead, header_with(PCI_HEADER_TYPE, 1))), "header of type 1"));
  CHECK(has(reason(to(Command::kRegionRead, header_with(PCI_BASE_ADDRESS_0, 1))), "I/O ports"));
  for (const Command command :
       {Command::kVersion, Command::kDeviceGetInfo, Command::kDeviceSetIrqs, Command::kDmaMap}) {
    CHECK(has(reason(to(command, std::optional<Bytes>())), "waited too long"));
  }
  for (const Command command : {Command::kVersion, Command::kDeviceGetInfo,
                                Command::kDeviceGetRegionInfo, Command::kRegionRead}) {
    CHECK_FALSE(reason(to(command, Bytes(3))).empty());
  }
}

TEST_CASE_METHOD(Served, "the MSI-X table is found where the configuration space says") {
  const PciDescription::Msix rnic = rnic_pci_description({}).msix;
  REQUIRE(remote->msix());
  CHECK(remote->msix()->bar == rnic.bar);
  CHECK(remote->msix()->table_offset == rnic.table_offset);
  CHECK(remote->msix()->pba_bar == rnic.bar);
  CHECK(remote->msix()->pba_offset == rnic.pba_offset);
  CHECK(remote->msix()->vectors == EXRNIC_MSIX_VECTORS);
  uint8_t id = 0;
  server->config_space().read(remote->msix()->capability, &id, 1);
  CHECK(id == PCI_CAP_ID_MSIX);
}

TEST_CASE_METHOD(PassedOn, "a device that is passed on is found, and told where to interrupt") {
  Bytes& config = distant.memory.at(kConfigSpace);
  const Bytes honest = honest_config();
  std::copy(honest.begin(), honest.end(), config.begin());
  PciDescription description = a_device();
  description.msix = {2, 0, 0x800, 0xc00, kPlace};
  server->describe(description);
  std::atomic<bool> over{false};
  std::thread serving([&] {
    while (!over) {
      server->service();
      if (!distant.pending.empty()) distant.answer_one();
    }
  });
  NotedHost host;
  RemoteDevice found(connect_unix(path), host, RemoteDevice::Limits());
  over = true;
  serving.join();
  CHECK(found.vectors() == 2);
  CHECK(load<uint32_t>(distant.memory.at(0).data() + 0x800) == kInterruptAddress);
  CHECK(load<uint32_t>(distant.memory.at(0).data() + 0x818) == 1);  // the data of vector 1
  CHECK((config[kPlace + PCI_MSIX_FLAGS + 1] & (PCI_MSIX_FLAGS_ENABLE >> 8)) != 0);
  server->fire_msix(1);
  found.service();
  CHECK(host.interrupts == std::vector<unsigned>{1});
}

TEST_CASE("there are no more vectors than table and server have") {
  const auto vectors = [](uint32_t irqs) {
    Liar liar(of_config(honest_config(), irqs));
    REQUIRE(liar.discovered().empty());
    REQUIRE(liar.remote->msix());
    CHECK(liar.remote->msix()->vectors == 2);
    return liar.remote->vectors();
  };
  CHECK(vectors(0) == 0);
  CHECK(vectors(1) == 1);
  CHECK(vectors(2) == 2);
  CHECK(vectors(2048) == 2);
}

TEST_CASE("a table that cannot be is none: with interrupts the device is refused") {
  const auto refused_if = [](const Bytes& config) {
    Liar without(of_config(config, 0));
    CHECK(without.discovered().empty());
    CHECK_FALSE(without.remote->msix());
    CHECK(without.remote->vectors() == 0);
    const std::string reason = Liar(of_config(config)).discovered();
    INFO(reason);
    return reason.find("2 MSI-X vectors, and no table") != std::string::npos;
  };
  const auto refused_with = [&](size_t at, uint32_t value) {
    return refused_if(changed([=](Bytes& config) { put32(config, kPlace + at, value); }));
  };
  CHECK(refused_if(changed([](Bytes& config) { config[PCI_STATUS] = 0; })));
  CHECK(refused_if(changed([](Bytes& config) { config[PCI_CAPABILITY_LIST] = 0; })));
  CHECK(refused_if(changed([](Bytes& config) { config[PCI_CAPABILITY_LIST] = 0x3c; })));
  CHECK(refused_if(changed([](Bytes& config) { config[kPlace] = PCI_CAP_ID_PM; })));
  for (const uint32_t bar : {1u, 5u, 6u, 7u}) {
    CHECK(refused_with(PCI_MSIX_TABLE, 0x800 | bar));
    CHECK(refused_with(PCI_MSIX_PBA, 0xc00 | bar));
  }
  for (const uint32_t offset : {4096u - 24u, 4096u, 0xfffffff8u}) {
    CHECK(refused_with(PCI_MSIX_TABLE, offset));
  }
  for (const uint32_t offset : {4096u, 0xfffffff8u}) CHECK(refused_with(PCI_MSIX_PBA, offset));
  // 2,048 vectors do not fit into 4 KiB.
  CHECK(refused_if(changed([](Bytes& config) {
    config[kPlace + PCI_MSIX_FLAGS] = 0xff;
    config[kPlace + PCI_MSIX_FLAGS + 1] = 0x07;
  })));
  // What is left of it at the end is no capability.
  CHECK(refused_if(with_capability_at(0xf8, 0xf8)));
  CHECK(refused_if(with_capability_at(0xfc, 0xff)));
}

TEST_CASE("a table at the very end of its BAR is one, and so is its capability at the end") {
  const auto found = [](const Bytes& config) {
    Liar liar(of_config(config));
    return liar.discovered().empty() && liar.remote->vectors() == 2;
  };
  CHECK(found(changed([](Bytes& config) { put32(config, kPlace + PCI_MSIX_TABLE, 4096 - 32); })));
  CHECK(found(changed([](Bytes& config) { put32(config, kPlace + PCI_MSIX_PBA, 4096 - 8); })));
  CHECK(found(with_capability_at(0xf4, 0xf4)));
  CHECK(found(with_capability_at(0xf4, 0xf7)));  // the lowest bits of a pointer are reserved
}

TEST_CASE("no list of capabilities hangs who walks it, or leads him elsewhere") {
  const uint32_t seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  CHECK_FALSE(Liar(of_config(changed([](Bytes& config) {
                config[kPlace] = PCI_CAP_ID_PM;
                config[kPlace + PCI_CAP_LIST_NEXT] = kPlace;
              })))
                  .discovered()
                  .empty());
  for (int i = 0; i < 200; ++i) {
    Bytes config = honest_config();
    config[PCI_CAPABILITY_LIST] = static_cast<uint8_t>(random());
    for (size_t at = PCI_STD_HEADER_SIZEOF; at < config.size(); ++at) {
      config[at] = static_cast<uint8_t>(random() % 8 == 0 ? PCI_CAP_ID_MSIX : random());
    }
    Liar liar(of_config(config));
    if (!liar.discovered().empty()) continue;
    CHECK(liar.remote->msix()->bar == 0);
    CHECK(liar.remote->msix()->table_offset + 16 * liar.remote->msix()->vectors <= 4096);
  }
}

}  // namespace exrnic::vfio_user
