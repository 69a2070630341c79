// SPDX-License-Identifier: BSD-2-Clause
// A server whose device is somewhere else: its interrupts and resets, and how it goes, comes and
// changes under its client.
#include <catch2/generators/catch_generators.hpp>
#include <cerrno>
#include <optional>

#include "sim/pcie/msi.h"
#include "sim/vfio_user/passed_on_fixture.h"

namespace exrnic::vfio_user {
namespace {

constexpr uint32_t kConfig = VFIO_PCI_CONFIG_REGION_INDEX;
constexpr uint32_t kBar0 = VFIO_PCI_BAR0_REGION_INDEX;
constexpr uint32_t kBar2 = VFIO_PCI_BAR2_REGION_INDEX;
constexpr uint32_t kMsixIrq = VFIO_PCI_MSIX_IRQ_INDEX;

using Writes = std::vector<FakeDevice::Access>;

Writes table_entry(unsigned vector) {
  const uint64_t at = kTable + 16 * vector;
  return {
      {0, at, 4, kInterruptAddress}, {0, at + 4, 4, 0}, {0, at + 8, 4, vector}, {0, at + 12, 4, 0}};
}

FakeDevice::Access flags(uint16_t value) {
  return {kConfigSpace, kCapability + PCI_MSIX_FLAGS, 2, value};
}

Writes set_up_of(unsigned first, unsigned count) {
  Writes writes;
  for (unsigned vector = first; vector < first + count; ++vector) {
    for (const FakeDevice::Access& write : table_entry(vector)) writes.push_back(write);
  }
  writes.push_back(flags(PCI_MSIX_FLAGS_ENABLE));
  return writes;
}

}  // namespace

TEST_CASE_METHOD(PassedOn,
                 "vectors that are set up are written to the device's table, and enabled") {
  connect();
  const Eventfd events[8];
  std::vector<int> fds;
  for (const Eventfd& event : events) fds.push_back(event.fd());
  const uint32_t first = GENERATE(0u, 5u, kVectors - 8);
  REQUIRE(set_up(first, fds) == 0);
  CHECK(distant.writes == set_up_of(first, 8));
  distant.writes.clear();
  REQUIRE(set_up(kVectors - 1, {events[0].fd()}) == 0);
  CHECK(distant.writes == set_up_of(kVectors - 1, 1));
  distant.writes.clear();
  REQUIRE(release() == 0);
  CHECK(distant.writes == Writes{flags(0)});
}

TEST_CASE_METHOD(PassedOn,
                 "all else that SET_IRQS does, and what it refuses, the device does not see") {
  connect();
  Eventfd event;
  const int fd = event.fd();
  CHECK(set_up(kVectors, {fd}) == -EINVAL);
  CHECK(set_up(kVectors - 1, {fd, fd}) == -EINVAL);
  CHECK(set_up(~0u, {fd}) == -EINVAL);
  const UniqueFd socket = connect_unix(path);
  CHECK(set_up(0, {socket.get()}) == -EINVAL);
  for (const IrqAction action : {IrqAction::kMask, IrqAction::kUnmask, IrqAction::kTrigger}) {
    CHECK(client->set_irqs({IrqData::kNone, action, kMsixIrq, 0, kVectors, {}}) == 0);
    CHECK(client->set_irqs({IrqData::kBool, action, kMsixIrq, 0, 2, {true, false}}) == 0);
  }
  CHECK(client->set_irqs({IrqData::kEventfd, IrqAction::kMask, kMsixIrq, 0, 1, {}}, {fd}) ==
        -ENOTSUP);
  // Vectors that are released one by one.
  CHECK(client->set_irqs({IrqData::kEventfd, IrqAction::kTrigger, kMsixIrq, 0, 2, {}}) == 0);
  // Of interrupts that the device does not have.
  CHECK(client->set_irqs({IrqData::kNone, IrqAction::kTrigger, 0, 0, 0, {}}) == 0);
  CHECK(client->set_irqs({IrqData::kEventfd, IrqAction::kTrigger, 0, 0, 1, {}}, {fd}) == -EINVAL);
  CHECK(distant.writes.empty());
  CHECK(server->connected());
}

TEST_CASE_METHOD(PassedOn, "a vector that is masked waits, in whatever order it is set up") {
  connect();
  Eventfd event;
  const auto act = [&](IrqAction action) {
    REQUIRE(client->set_irqs({IrqData::kNone, action, kMsixIrq, 7, 1, {}}) == 0);
  };
  act(IrqAction::kMask);
  server->fire_msix(7);
  CHECK(server->counters().interrupts_dropped == 1);
  REQUIRE(set_up(7, {event.fd()}) == 0);
  server->fire_msix(7);
  CHECK(event.take() == 0);
  act(IrqAction::kUnmask);
  CHECK(event.take() == 1);
  REQUIRE(release() == 0);
  server->fire_msix(7);
  CHECK(event.take() == 0);
}

TEST_CASE_METHOD(PassedOn,
                 "a device without MSI-X has no vector to set up, and nothing is written") {
  PciDescription description = a_device();
  description.msix = {};
  connect(description);
  const Eventfd event;
  CHECK(release() == 0);
  CHECK(set_up(0, {event.fd()}) == -EINVAL);
  server->fire_msix(0);
  CHECK(server->counters().interrupts_dropped == 1);
  REQUIRE(client->reset_device() == 0);
  CHECK(distant.writes.empty());
}

TEST_CASE_METHOD(PassedOn, "after a reset interrupts work again when they are set up again") {
  connect();
  Eventfd event;
  REQUIRE(set_up(2, {event.fd()}) == 0);
  REQUIRE(client->set_irqs({IrqData::kNone, IrqAction::kMask, kMsixIrq, 2, 1, {}}) == 0);
  server->fire_msix(2);
  distant.writes.clear();
  REQUIRE(client->reset_device() == 0);
  CHECK(distant.resets == 1);
  REQUIRE(client->set_irqs({IrqData::kNone, IrqAction::kUnmask, kMsixIrq, 2, 1, {}}) == 0);
  CHECK(event.take() == 0);  // what was pending the reset has forgotten
  CHECK(distant.writes.empty());
  if (GENERATE(false, true)) {
    REQUIRE(release() == 0);
    distant.writes.clear();
  }
  REQUIRE(set_up(2, {event.fd()}) == 0);
  CHECK(distant.writes == set_up_of(2, 1));
  server->fire_msix(2);
  CHECK(event.take() == 1);
}

TEST_CASE_METHOD(PassedOn, "a client that leaves resets the device, and its interrupts are gone") {
  connect();
  Eventfd event;
  REQUIRE(set_up(0, {event.fd()}) == 0);
  client.reset();
  serve();
  CHECK(distant.resets == 1);
  server->fire_msix(0);
  CHECK(event.take() == 0);
  connect();
  server->fire_msix(0);
  CHECK(event.take() == 0);
  CHECK(server->counters().interrupts_dropped == 2);
}

TEST_CASE_METHOD(PassedOn, "a device that goes is one that answers all ones by itself") {
  connect();
  server->describe(std::nullopt);
  uint8_t byte = 0;
  CHECK(client->read(kBar0, 1, &byte, 1) == 0);
  CHECK(byte == distant.memory.at(0).at(1));
  CHECK(client->write(kBar0, 1, &byte, 1) == 0);
  CHECK(distant.writes.size() == 1);
  VfioUserClient::RegionInfo info;
  CHECK(client->get_region_info(kBar0, &info) == 0);
  CHECK(info.size == kBar0Bytes);
}

// A client with memory and an interrupt, whose device has become another one.
struct Changed : PassedOn {
  Changed() {
    connect();
    REQUIRE(client->dma_map({true, true, 0, 0x10000, kDmaPageSize}, memory.fd()) == 0);
    REQUIRE(set_up(0, {event.fd()}) == 0);
    distant.writes.clear();
    distant.reads.clear();
    distant.answered = 0;
    server->describe(another());
  }
  static PciDescription another() {
    PciDescription description = a_device(256);
    description.bars[0].size = 16;
    description.msix = {};
    return description;
  }
  bool reaches_client() {
    uint8_t byte = 1;
    const bool reads = server->dma_read(0x10000, &byte, 1);
    const bool writes = server->dma_write(0x10000, &byte, 1);
    server->fire_msix(0);
    const bool interrupts = event.take() > 0;
    CHECK(reads == writes);
    CHECK(reads == interrupts);
    return reads;
  }

  Memory memory{kDmaPageSize, Memory::Kind::kSealed};
  Eventfd event;
};

TEST_CASE_METHOD(Changed, "another device is all ones for the client of the former one") {
  for (const uint32_t region : {kConfig, kBar0, kBar2}) {
    Bytes data(4096);
    REQUIRE(client->read(region, 0, data.data(), data.size()) == 0);
    CHECK(data == Bytes(4096, 0xff));
    CHECK(client->write(region, 0, data.data(), data.size()) == 0);
    CHECK(client->post(region, 3, data.data(), 9) == 0);
  }
  const uint8_t stored[8] = {};
  CHECK(client->post_many({{{0, kConfig, 8}, stored}, {{0, kBar2, 8}, stored}}) == 0);
  CHECK(client->reset_device() == 0);
  CHECK(set_up(1, {event.fd()}) == 0);
  CHECK(release() == 0);
  CHECK(distant.reads.empty());
  CHECK(distant.writes.empty());
  CHECK(distant.resets == 0);
  CHECK(server->connected());
  // It keeps the shape that it was told of.
  VfioUserClient::RegionInfo region;
  CHECK(client->get_region_info(kBar0, &region) == 0);
  CHECK(region.size == kBar0Bytes);
  VfioUserClient::IrqInfo irqs;
  CHECK(client->get_irq_info(kMsixIrq, &irqs) == 0);
  CHECK(irqs.count == kVectors);
}

TEST_CASE_METHOD(Changed, "another device reaches nothing of the client of the former one") {
  CHECK_FALSE(reaches_client());
  CHECK(memory.bytes()[0] == 0);
  CHECK(lines_with("another device") == 1);
  server->describe(std::nullopt);  // a device that has gone is still not the former one
  CHECK_FALSE(reaches_client());
  server->describe(another());
  CHECK(lines_with("another device") == 1);
}

TEST_CASE_METHOD(Changed, "when the former device comes back, all works again") {
  if (GENERATE(false, true)) server->describe(std::nullopt);
  server->describe(a_device());
  CHECK(reaches_client());
  uint8_t byte = 0;
  CHECK(client->read(kConfig, 3, &byte, 1) == 0);
  CHECK(byte == distant.memory.at(kConfigSpace).at(3));
  CHECK(set_up(1, {event.fd()}) == 0);
  CHECK(distant.writes == set_up_of(1, 1));
  CHECK(client->reset_device() == 0);
  CHECK(distant.resets == 1);
}

TEST_CASE_METHOD(Changed, "the next client is told of the device that is there then") {
  client.reset();
  serve();
  CHECK(distant.resets == 1);
  connect(another());
  VfioUserClient::RegionInfo info;
  CHECK(client->get_region_info(kBar0, &info) == 0);
  CHECK(info.size == 16);
  uint8_t byte = 0;
  CHECK(client->read(kBar0, 15, &byte, 1) == 0);
  CHECK(byte == distant.memory.at(0).at(15));
}

TEST_CASE_METHOD(PassedOn, "loads that are under way when the device changes are answered") {
  connect();
  ask_to_read(kBar0, 0, 16);
  ask_to_read(kBar0, 0, 16);
  serve();
  distant.answer_one();
  server->describe(Changed::another());
  while (!distant.pending.empty()) distant.answer(~uint64_t{0});
  CHECK(has_reply());
  CHECK(has_reply());
}

TEST_CASE_METHOD(PassedOn, "a device may change while it is accessed") {
  distant.when_stored = [&] { server->describe(Changed::another()); };
  connect();
  const Bytes data(64);
  CHECK(client->write(kBar2, 0, data.data(), data.size()) == 0);
  CHECK(client->write(kBar2, 0, data.data(), data.size()) == 0);
  CHECK(distant.writes.size() == 8);  // an access that has begun ends
}

TEST_CASE("descriptions are the same if nothing differs") {
  CHECK(a_device() == a_device());
  const auto differs = [](auto change) {
    PciDescription description = a_device();
    change(description);
    return description != a_device() && a_device() != description;
  };
  CHECK(differs([](PciDescription& d) { d.vendor_id = 1; }));
  CHECK(differs([](PciDescription& d) { d.device_id = 1; }));
  CHECK(differs([](PciDescription& d) { d.revision = 1; }));
  CHECK(differs([](PciDescription& d) { d.class_code = 1; }));
  CHECK(differs([](PciDescription& d) { d.subsystem_vendor_id = 1; }));
  CHECK(differs([](PciDescription& d) { d.subsystem_id = 1; }));
  CHECK(differs([](PciDescription& d) { d.bars.pop_back(); }));
  CHECK(differs([](PciDescription& d) { d.bars[1].index = 3; }));
  CHECK(differs([](PciDescription& d) { d.bars[1].size = 16; }));
  CHECK(differs([](PciDescription& d) { d.bars[1].is_64bit = false; }));
  CHECK(differs([](PciDescription& d) { d.bars[1].prefetchable = false; }));
  CHECK(differs([](PciDescription& d) { d.msix.vectors = 1; }));
  CHECK(differs([](PciDescription& d) { d.msix.bar = 2; }));
  CHECK(differs([](PciDescription& d) { d.msix.table_offset = 0; }));
  CHECK(differs([](PciDescription& d) { d.msix.pba_offset = 0; }));
  CHECK(differs([](PciDescription& d) { d.msix.capability = 0; }));
  CHECK(differs([](PciDescription& d) { d.max_payload = 128; }));
  CHECK(differs([](PciDescription& d) { d.link_generation = 1; }));
  CHECK(differs([](PciDescription& d) { d.link_width = 1; }));
  CHECK(differs([](PciDescription& d) { d.config_bytes = 256; }));
}

}  // namespace exrnic::vfio_user
