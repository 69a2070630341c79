// SPDX-License-Identifier: BSD-2-Clause
// The server over a real socket, with the client of this folder at the other end.
#include "sim/vfio_user/server.h"

#include <linux/pci_regs.h>
#include <linux/vfio.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cerrno>
#include <cstring>
#include <memory>

#include "exrnic_hw.h"
#include "sim/vfio_user/client.h"
#include "sim/vfio_user/server_fixture.h"

namespace exrnic::vfio_user {
namespace {

constexpr uint32_t kConfig = VFIO_PCI_CONFIG_REGION_INDEX;
constexpr uint32_t kBar0 = VFIO_PCI_BAR0_REGION_INDEX;
constexpr uint32_t kBar1 = VFIO_PCI_BAR1_REGION_INDEX;
constexpr uint32_t kBar2 = VFIO_PCI_BAR2_REGION_INDEX;
constexpr uint32_t kMsixIrq = VFIO_PCI_MSIX_IRQ_INDEX;

// Where the PCI Express capability is; found as a driver finds it.
size_t find_express(VfioUserClient& client) {
  uint8_t at = 0;
  REQUIRE(client.read(kConfig, PCI_CAPABILITY_LIST, &at, 1) == 0);
  while (at != 0) {
    uint8_t header[2] = {};
    REQUIRE(client.read(kConfig, at, header, 2) == 0);
    if (header[0] == PCI_CAP_ID_EXP) break;
    at = header[1];
  }
  return at;
}

TEST_CASE_METHOD(Connected, "the server tells its limits and takes up what was offered") {
  CHECK(client->server_capabilities().max_message_fds == kMaxMessageFds);
  CHECK(client->server_capabilities().max_data_transfer == kMaxDataTransfer);
  CHECK(client->server_capabilities().write_multiple);
}

TEST_CASE_METHOD(Connected, "a client finds a PCI device that can be reset") {
  VfioUserClient::DeviceInfo info;
  REQUIRE(client->get_device_info(&info) == 0);
  CHECK(info.flags == (VFIO_DEVICE_FLAGS_PCI | VFIO_DEVICE_FLAGS_RESET));
  CHECK(info.regions == VFIO_PCI_NUM_REGIONS);
  CHECK(info.irqs == VFIO_PCI_NUM_IRQS);
}

TEST_CASE_METHOD(Connected, "a client finds the regions of the RNIC and no others") {
  const uint64_t sizes[VFIO_PCI_NUM_REGIONS] = {
      EXRNIC_BAR0_SIZE,
      EXRNIC_BAR1_SIZE,
      EXRNIC_BAR2_SIZE,
      0,
      uint64_t{EXRNIC_MAX_WINDOWS} << EXRNIC_WINDOW_SHIFT_MIN,
      0,
      0,
      4096,
      0};
  for (uint32_t region = 0; region < VFIO_PCI_NUM_REGIONS; ++region) {
    VfioUserClient::RegionInfo info;
    REQUIRE(client->get_region_info(region, &info) == 0);
    CHECK(info.size == sizes[region]);
    CHECK(info.flags == (sizes[region] > 0 ? 3u : 0u));
  }
  VfioUserClient::RegionInfo info;
  CHECK(client->get_region_info(VFIO_PCI_NUM_REGIONS, &info) == -EINVAL);
}

TEST_CASE_METHOD(Connected, "a client finds MSI-X and no other interrupt") {
  for (uint32_t index = 0; index < VFIO_PCI_NUM_IRQS; ++index) {
    VfioUserClient::IrqInfo info;
    REQUIRE(client->get_irq_info(index, &info) == 0);
    CHECK(info.count == (index == kMsixIrq ? EXRNIC_MSIX_VECTORS : 0));
  }
}

TEST_CASE_METHOD(Connected, "configuration space can be read whole and names the RNIC") {
  Bytes config(PciConfigSpace::kSize);
  REQUIRE(client->read(kConfig, 0, config.data(), config.size()) == 0);
  CHECK((config[0] | config[1] << 8) == EXRNIC_PCI_VENDOR_ID);
  CHECK((config[2] | config[3] << 8) == EXRNIC_PCI_DEVICE_ID);
  uint8_t byte = 0;
  CHECK(client->read(kConfig, PciConfigSpace::kSize, &byte, 1) == -EINVAL);
}

TEST_CASE_METHOD(Connected, "a store reaches the device with its value, waited for or posted") {
  enable();
  const uint64_t value = 0x1122334455667788;
  for (const size_t size : {size_t{1}, size_t{2}, size_t{4}, size_t{8}}) {
    REQUIRE(client->write(kBar0, 16, &value, size) == 0);
    REQUIRE(client->post(kBar2, 4096, &value, size) == 0);
  }
  const uint64_t expected[] = {0x88, 0x7788, 0x55667788, value};
  serve();
  REQUIRE(device.writes.size() == 8);
  for (unsigned i = 0; i < 4; ++i) {
    CHECK(device.writes[2 * i] == FakeDevice::Access{0, 16, 1u << i, expected[i]});
    CHECK(device.writes[2 * i + 1] == FakeDevice::Access{2, 4096, 1u << i, expected[i]});
  }
}

TEST_CASE_METHOD(Connected, "stores that come in one message reach the device in order") {
  enable();
  const uint8_t data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  REQUIRE(client->post_many(
              {{{0, kBar2, 8}, data}, {{8, kBar2, 4}, data}, {{4, kBar0, 4}, data}}) == 0);
  serve();
  REQUIRE(device.writes.size() == 3);
  CHECK(device.writes[0] == FakeDevice::Access{2, 0, 8, 0x0807060504030201});
  CHECK(device.writes[1] == FakeDevice::Access{2, 8, 4, 0x04030201});
  CHECK(device.writes[2] == FakeDevice::Access{0, 4, 4, 0x04030201});
}

TEST_CASE_METHOD(Connected, "stores in one message of which one is not possible do nothing") {
  enable();
  const uint8_t data[8] = {};
  REQUIRE(client->post_many({{{0, kBar2, 8}, data}, {{EXRNIC_BAR2_SIZE, kBar2, 4}, data}}) == 0);
  serve();
  CHECK(device.writes.empty());
  CHECK(server->counters().posted_writes_refused == 1);
  CHECK(server->connected());
}

TEST_CASE_METHOD(Connected, "a load is answered when the device answers, and not before") {
  enable();
  Connection& raw = client->connection();
  const auto ask = [&](uint16_t id, uint64_t offset) {
    const RegionAccess access{offset, kBar0, 4};
    raw.send({id, 9, 0, 0, 0}, encode_region_access(access, nullptr, 0));
  };
  ask(1001, 0);
  ask(1002, 4);
  serve();
  REQUIRE(device.reads.size() == 2);
  Message reply;
  CHECK(raw.receive(&reply) == Connection::Status::kNothing);
  device.answer(0xaabbccdd);
  REQUIRE(raw.receive(&reply) == Connection::Status::kMessage);
  CHECK(reply.header.id == 1001);
  CHECK(Bytes(reply.payload.end() - 4, reply.payload.end()) == Bytes{0xdd, 0xcc, 0xbb, 0xaa});
  device.answer(1);
  REQUIRE(raw.receive(&reply) == Connection::Status::kMessage);
  CHECK(reply.header.id == 1002);
}

TEST_CASE_METHOD(Connected, "an access that no register access is, is refused") {
  enable();
  uint8_t data[16] = {};
  const uint32_t region = GENERATE(kBar0, kBar2);
  for (const auto& [offset, length] : std::vector<std::pair<uint64_t, size_t>>{
           {0, 3}, {0, 16}, {1, 2}, {2, 4}, {4, 8}, {0, 5}, {EXRNIC_BAR2_SIZE, 1}}) {
    INFO("offset " << offset << " length " << length);
    CHECK(client->read(region, offset, data, length) == -EINVAL);
    CHECK(client->write(region, offset, data, length) == -EINVAL);
  }
  CHECK(client->read(VFIO_PCI_BAR5_REGION_INDEX, 0, data, 4) == -EINVAL);
  CHECK(device.reads.empty());
  CHECK(device.writes.empty());
  CHECK(server->connected());
}

TEST_CASE_METHOD(Connected, "BARs answer only while the host enables memory accesses") {
  uint32_t value = 0;
  CHECK(client->read(kBar0, 0, &value, 4) == -EIO);
  CHECK(client->write(kBar2, 0, &value, 4) == -EIO);
  CHECK(client->read(kBar1, 0, &value, 4) == -EIO);
  enable();
  CHECK(client->write(kBar2, 0, &value, 4) == 0);
  CHECK(client->read(kBar1, 0, &value, 4) == 0);
}

TEST_CASE_METHOD(Connected, "the MSI-X table is served in BAR 1") {
  enable();
  uint32_t control = 0;
  REQUIRE(client->read(kBar1, PCI_MSIX_ENTRY_VECTOR_CTRL, &control, 4) == 0);
  CHECK(control == PCI_MSIX_ENTRY_CTRL_MASKBIT);
  const uint32_t address = 0xfee00000;
  REQUIRE(client->write(kBar1, 16, &address, 4) == 0);
  uint32_t back = 0;
  REQUIRE(client->read(kBar1, 16, &back, 4) == 0);
  CHECK(back == address);
}

TEST_CASE_METHOD(Connected, "the device reaches granted memory once bus mastering is enabled") {
  const Memory memory(2 * kDmaPageSize, Memory::Kind::kSealed);
  REQUIRE(client->dma_map({true, true, 0, 0x100000, 2 * kDmaPageSize}, memory.fd()) == 0);
  uint8_t data[4] = {1, 2, 3, 4};
  CHECK_FALSE(server->dma_write(0x100000, data, sizeof(data)));
  CHECK(server->counters().dma_refused_bus_master == 1);
  CHECK(memory.bytes()[0] == 0);
  enable();
  CHECK(server->dma_write(0x100ffe, data, sizeof(data)));
  CHECK(std::memcmp(memory.bytes() + 0xffe, data, sizeof(data)) == 0);
  uint8_t back[4] = {};
  CHECK(server->dma_read(0x100ffe, back, sizeof(back)));
  CHECK(std::memcmp(back, data, sizeof(data)) == 0);
  CHECK_FALSE(server->dma_read(0x90000, back, 1));
  CHECK(server->counters().dma_refused_address == 1);
  REQUIRE(client->dma_unmap({false, 0x100000, 2 * kDmaPageSize}) == 0);
  CHECK_FALSE(server->dma_read(0x100ffe, back, sizeof(back)));
}

TEST_CASE_METHOD(Connected, "faults of DMA_MAP and DMA_UNMAP come back as errors") {
  const Memory memory(kDmaPageSize, Memory::Kind::kSealed);
  REQUIRE(client->dma_map({true, true, 0, 0, kDmaPageSize}, memory.fd()) == 0);
  CHECK(client->dma_map({true, true, 0, 0, kDmaPageSize}, memory.fd()) == -EEXIST);
  CHECK(client->dma_map({true, true, 0, kDmaPageSize, 2 * kDmaPageSize}, memory.fd()) == -EINVAL);
  CHECK(client->dma_map({true, true, 0, 0x8000, kDmaPageSize}, -1) == 0);
  CHECK(client->dma_unmap({false, 0x4000, kDmaPageSize}) == 0);  // nothing is there
  CHECK(client->dma_unmap({true, 0, 0}) == 0);
  CHECK(server->connected());
}

TEST_CASE_METHOD(Connected, "an interrupt reaches the client's eventfd") {
  Eventfd event;
  REQUIRE(client->set_irqs({IrqData::kEventfd, IrqAction::kTrigger, kMsixIrq, 7, 1, {}},
                           {event.fd()}) == 0);
  server->fire_msix(7);
  CHECK(event.take() == 0);  // bus mastering is off
  enable();
  server->fire_msix(7);
  server->fire_msix(8);
  CHECK(event.take() == 1);
  CHECK(server->counters().interrupts_dropped == 2);
  REQUIRE(client->set_irqs({IrqData::kNone, IrqAction::kTrigger, kMsixIrq, 0, 0, {}}) == 0);
  server->fire_msix(7);
  CHECK(event.take() == 0);
}

TEST_CASE_METHOD(Connected, "an interrupt that the device does not have can only be disabled") {
  const uint32_t index = VFIO_PCI_INTX_IRQ_INDEX;
  CHECK(client->set_irqs({IrqData::kNone, IrqAction::kTrigger, index, 0, 0, {}}) == 0);
  CHECK(client->set_irqs({IrqData::kNone, IrqAction::kMask, index, 0, 1, {}}) == -EINVAL);
}

TEST_CASE_METHOD(Connected, "DEVICE_RESET and the FLR bit both reset the whole function") {
  const bool by_flr = GENERATE(false, true);
  enable();
  const uint32_t address = 0xfee00000;
  REQUIRE(client->write(kBar1, 16, &address, 4) == 0);
  if (by_flr) {
    const uint16_t flr = PCI_EXP_DEVCTL_BCR_FLR;
    REQUIRE(client->write(kConfig, find_express(*client) + PCI_EXP_DEVCTL, &flr, sizeof(flr)) == 0);
  } else {
    REQUIRE(client->reset_device() == 0);
  }
  CHECK(device.resets == 1);
  CHECK_FALSE(server->config_space().memory_enabled());
  CHECK_FALSE(server->config_space().bus_master_enabled());
  enable();
  uint32_t back = 1;
  REQUIRE(client->read(kBar1, 16, &back, 4) == 0);
  CHECK(back == 0);
}

TEST_CASE_METHOD(Connected, "a reset keeps memory and eventfds, which are the client's") {
  const Memory memory(kDmaPageSize, Memory::Kind::kSealed);
  Eventfd event;
  REQUIRE(client->dma_map({true, true, 0, 0, kDmaPageSize}, memory.fd()) == 0);
  REQUIRE(client->set_irqs({IrqData::kEventfd, IrqAction::kTrigger, kMsixIrq, 0, 1, {}},
                           {event.fd()}) == 0);
  REQUIRE(client->reset_device() == 0);
  enable();
  const uint8_t data = 9;
  CHECK(server->dma_write(0, &data, 1));
  server->fire_msix(0);
  CHECK(event.take() == 1);
}

TEST_CASE_METHOD(Connected, "requests that are not supported get an errno and nothing else") {
  for (const uint16_t command : {6, 11, 12, 14, 16, 17, 18, 19, 0, 0xffff}) {
    INFO("command " << command);
    CHECK(client->request(command, Bytes(16), {}, nullptr) == -ENOTSUP);
  }
  CHECK(server->connected());
  VfioUserClient::DeviceInfo info;
  CHECK(client->get_device_info(&info) == 0);
}

TEST_CASE_METHOD(Connected, "a request that wants no reply gets none") {
  Connection& raw = client->connection();
  raw.send({1, 4, 0, Header::kNoReply, 0}, encode_device_info(0, 0, 0));
  raw.send({2, 99, 0, Header::kNoReply, 0}, {});
  serve();
  Message reply;
  CHECK(raw.receive(&reply) == Connection::Status::kNothing);
}

TEST_CASE_METHOD(ServerFixture, "a client that did not offer write_multiple is not told of it") {
  auto client = new_client();
  Bytes reply;
  REQUIRE(client->request(1, Bytes{0, 0, 5, 0}, {}, &reply) == 0);
  const auto version = decode_version(reply);
  REQUIRE(std::holds_alternative<Version>(version));
  CHECK(std::get<Version>(version).minor == 0);
  CHECK_FALSE(std::get<Version>(version).capabilities.write_multiple);
}

}  // namespace
}  // namespace exrnic::vfio_user
