// SPDX-License-Identifier: BSD-2-Clause
// A server whose device is somewhere else: who may connect, what a client finds, and how its
// accesses reach the device.
#include <catch2/generators/catch_generators.hpp>
#include <cerrno>
#include <iterator>
#include <optional>
#include <utility>

#include "sim/vfio_user/passed_on_fixture.h"

namespace exrnic::vfio_user {
namespace {

constexpr uint32_t kConfig = VFIO_PCI_CONFIG_REGION_INDEX;
constexpr uint32_t kBar0 = VFIO_PCI_BAR0_REGION_INDEX;
constexpr uint32_t kBar2 = VFIO_PCI_BAR2_REGION_INDEX;

// In ascending order, without a gap, each natural, none that could have been one with its
// neighbour.
void check_parts(const std::vector<FakeDevice::Access>& parts, unsigned bar, uint64_t offset,
                 size_t length, unsigned most) {
  uint64_t at = offset;
  for (const FakeDevice::Access& part : parts) {
    REQUIRE(part.bar == bar);
    REQUIRE(part.offset == at);
    REQUIRE((part.size & (part.size - 1)) == 0);
    REQUIRE(part.size <= most);
    REQUIRE(part.offset % part.size == 0);
    const unsigned twice = 2 * part.size;
    REQUIRE((twice > most || at % twice != 0 || at + twice > offset + length));
    at += part.size;
  }
  REQUIRE(at == offset + length);
}

}  // namespace

TEST_CASE_METHOD(PassedOn, "a client of no device is refused with one line, until there is one") {
  if (GENERATE(false, true)) {
    server->describe(a_device());
    server->describe(std::nullopt);
  }
  CHECK(new_client()->negotiate() == -ECONNRESET);
  CHECK(log.size() == 1);
  CHECK(lines_with("there is no device") == 1);
  CHECK(server->counters().clients_refused == 1);
  CHECK(server->counters().clients == 0);
  CHECK_FALSE(server->connected());
  server->describe(a_device());
  CHECK(new_client()->negotiate() == 0);
}

TEST_CASE_METHOD(PassedOn,
                 "a client that waits for the former one is refused when its device is gone") {
  connect();
  const UniqueFd next = connect_unix(path);
  server->service();
  server->describe(std::nullopt);
  client.reset();
  serve();
  CHECK_FALSE(server->connected());
  CHECK(lines_with("there is no device") == 1);
}

TEST_CASE_METHOD(PassedOn, "regions and vectors are those of the description") {
  const size_t config_bytes = GENERATE(256, 4096);
  PciDescription description = a_device(config_bytes);
  description.msix.vectors = GENERATE(0u, 1u, 2048u);
  connect(description);
  const uint64_t sizes[] = {kBar0Bytes, 0, kBar2Bytes, 0, 0, 0, 0, config_bytes, 0};
  for (uint32_t region = 0; region < std::size(sizes); ++region) {
    VfioUserClient::RegionInfo info;
    REQUIRE(client->get_region_info(region, &info) == 0);
    CHECK(info.size == sizes[region]);
  }
  for (uint32_t index = 0; index < VFIO_PCI_NUM_IRQS; ++index) {
    VfioUserClient::IrqInfo info;
    REQUIRE(client->get_irq_info(index, &info) == 0);
    CHECK(info.count == (index == VFIO_PCI_MSIX_IRQ_INDEX ? description.msix.vectors : 0));
  }
}

TEST_CASE_METHOD(PassedOn, "loads of any length reach the device in natural parts, in order") {
  connect();
  const uint32_t region = GENERATE(kConfig, kBar0, kBar2);
  for (uint64_t offset = 0; offset < 16; ++offset) {
    for (size_t length = 1; length <= 40; ++length) {
      distant.reads.clear();
      distant.answered = 0;
      Bytes data(length);
      REQUIRE(client->read(region, offset, data.data(), length) == 0);
      check_parts(distant.reads, region, offset, length, region == kConfig ? 4 : 8);
      REQUIRE(std::equal(data.begin(), data.end(),
                         distant.memory.at(region).begin() + static_cast<std::ptrdiff_t>(offset)));
    }
  }
  Bytes whole(4096);
  REQUIRE(client->read(region, 0, whole.data(), whole.size()) == 0);
  CHECK(std::equal(whole.begin(), whole.end(), distant.memory.at(region).begin()));
}

TEST_CASE_METHOD(PassedOn, "stores of any length reach the device in natural parts, in order") {
  connect();
  const uint32_t region = GENERATE(kConfig, kBar0, kBar2);
  Bytes data(kMaxDataTransfer);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<uint8_t>(i * 13 + 5);
  const auto check = [&](uint64_t offset, size_t length) {
    distant.writes.clear();
    REQUIRE(client->write(region, offset, data.data(), length) == 0);
    check_parts(distant.writes, region, offset, length, region == kConfig ? 4 : 8);
    REQUIRE(std::equal(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(length),
                       distant.memory.at(region).begin() + static_cast<std::ptrdiff_t>(offset)));
  };
  for (uint64_t offset = 0; offset < 16; ++offset) {
    for (size_t length = 1; length <= 40; ++length) check(offset, length);
  }
  check(0, 4096);
  check(1, 4095);
}

TEST_CASE_METHOD(PassedOn, "stores in one message are split likewise, all or none") {
  connect();
  const uint8_t data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  REQUIRE(client->post_many({{{1, kBar2, 3}, data}, {{4, kConfig, 8}, data}}) == 0);
  serve();
  CHECK(distant.writes == std::vector<FakeDevice::Access>{{2, 1, 1, 0x01},
                                                          {2, 2, 2, 0x0302},
                                                          {kConfigSpace, 4, 4, 0x04030201},
                                                          {kConfigSpace, 8, 4, 0x08070605}});
  REQUIRE(client->post_many({{{0, kBar2, 8}, data}, {{kBar2Bytes - 7, kBar2, 8}, data}}) == 0);
  serve();
  CHECK(distant.writes.size() == 4);
  CHECK(server->counters().posted_writes_refused == 1);
}

TEST_CASE_METHOD(PassedOn, "an access over the edge of its region is refused whole") {
  const size_t config_bytes = GENERATE(256, 4096);
  connect(a_device(config_bytes));
  Bytes data(kMaxDataTransfer);
  for (const auto& [region, size] :
       std::vector<std::pair<uint32_t, uint64_t>>{{kConfig, config_bytes},
                                                  {kBar0, kBar0Bytes},
                                                  {kBar2, kBar2Bytes},
                                                  {1, 0},
                                                  {3, 0},
                                                  {8, 0}}) {
    INFO("region " << region);
    for (const auto& [offset, length] :
         std::vector<std::pair<uint64_t, size_t>>{{size, 1},
                                                  {size, 4096},
                                                  {size + 1, 1},
                                                  {~uint64_t{0}, 1},
                                                  {~uint64_t{0}, 4096},
                                                  {uint64_t{1} << 32, 4}}) {
      CHECK(client->read(region, offset, data.data(), length) == -EINVAL);
      CHECK(client->write(region, offset, data.data(), length) == -EINVAL);
    }
    for (size_t length = 2; size > 0 && length <= 16; ++length) {
      CHECK(client->read(region, size - length + 1, data.data(), length) == -EINVAL);
      CHECK(client->write(region, size - length + 1, data.data(), length) == -EINVAL);
    }
  }
  CHECK(client->read(9, 0, data.data(), 4) == -EINVAL);
  CHECK(client->read(kBar0, 0, data.data(), 0) == -EINVAL);
  CHECK(distant.reads.empty());
  CHECK(distant.writes.empty());
  uint8_t last = 0;
  CHECK(client->read(kConfig, config_bytes - 1, &last, 1) == 0);
  CHECK(last == distant.memory.at(kConfigSpace).at(config_bytes - 1));
}

TEST_CASE_METHOD(PassedOn, "a load is answered when its last part is, and not before") {
  connect();
  ask_to_read(kBar2, 4, 16);
  serve();
  REQUIRE(distant.reads.size() == 3);
  distant.answer_one();
  distant.answer_one();
  CHECK_FALSE(has_reply());
  distant.answer_one();
  CHECK(has_reply());
}

TEST_CASE_METHOD(PassedOn, "what the host has enabled the device checks itself") {
  connect();
  const Memory memory(kDmaPageSize, Memory::Kind::kSealed);
  Eventfd event;
  REQUIRE(client->dma_map({true, true, 0, 0x10000, kDmaPageSize}, memory.fd()) == 0);
  REQUIRE(set_up(3, {event.fd()}) == 0);
  uint8_t byte = 9;
  CHECK(server->dma_write(0x10000, &byte, 1));
  CHECK(memory.bytes()[0] == 9);
  CHECK(server->dma_read(0x10000, &byte, 1));
  CHECK_FALSE(server->dma_read(0x20000, &byte, 1));
  server->fire_msix(3);
  CHECK(event.take() == 1);
}

TEST_CASE_METHOD(PassedOn, "what a client leaves behind does no harm") {
  const size_t before = open_fds();
  connect();
  ask_to_read(kConfig, 0, 128);
  ask_to_read(kBar2, 0, 4096);
  serve();
  REQUIRE(distant.pending.size() == 32 + 512);
  const auto answer = [&] {
    while (!distant.pending.empty()) distant.answer_one();
  };
  SECTION("answered by the reset, when it has left") {
    client.reset();
    serve();
    CHECK(distant.resets == 1);
    CHECK(distant.pending.empty());
  }
  SECTION("answered while it leaves") {
    client.reset();
    answer();
    serve();
  }
  SECTION("never answered") {
    distant.keeps_silent = true;
    client.reset();
    serve();
    distant.pending.clear();
  }
  SECTION("answered when another is there") {
    distant.keeps_silent = true;
    client.reset();
    serve();
    connect();
    answer();
    CHECK_FALSE(has_reply());
    uint8_t byte = 0;
    CHECK(client->read(kBar0, 5, &byte, 1) == 0);
    CHECK(byte == distant.memory.at(0).at(5));
    client.reset();
    serve();
  }
  CHECK_FALSE(server->connected());
  CHECK(open_fds() == before);
}

TEST_CASE_METHOD(PassedOn, "long loads without end do not fill the memory") {
  connect();
  for (int i = 0; i < 200; ++i) ask_to_read(kConfig, 0, 4096);
  for (int i = 0; i < 10; ++i) server->service();
  CHECK(distant.pending.size() == 1024);
  size_t replies = 0;
  while (!distant.pending.empty()) {
    distant.answer_one();
    server->service();
    CHECK(distant.pending.size() < 64 + 1024);
    replies += has_reply();
  }
  while (has_reply()) ++replies;
  CHECK(replies == 200);
}

TEST_CASE_METHOD(PassedOn, "long stores without end do not stop the simulation") {
  connect();
  const Bytes data(4096);
  for (int i = 0; i < 20; ++i) REQUIRE(client->post(kConfig, 0, data.data(), data.size()) == 0);
  for (size_t services = 1; services <= 20; ++services) {
    server->service();
    CHECK(distant.writes.size() == 1024 * services);
  }
  distant.waiting = 1024;
  REQUIRE(client->post(kConfig, 0, data.data(), 1) == 0);
  CHECK_FALSE(server->service());
}

}  // namespace exrnic::vfio_user
