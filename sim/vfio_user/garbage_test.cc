// SPDX-License-Identifier: BSD-2-Clause
// Random clients: whatever they send, the server lives, serves the next one, and keeps no file
// descriptor.
#include <linux/pci_regs.h>
#include <linux/vfio.h>
#include <sys/socket.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cstring>
#include <optional>
#include <random>

#include "sim/vfio_user/server_fixture.h"

namespace exrnic::vfio_user {
namespace {

class Garbage : public ServerFixture {
 protected:
  Garbage() : seed(std::random_device{}()), random(seed) {}

  uint32_t below(uint32_t limit) { return static_cast<uint32_t>(random() % limit); }

  Bytes noise(size_t length) {
    Bytes bytes(length);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    return bytes;
  }

  // A field that is sometimes sensible, often at an edge, and sometimes anything.
  uint64_t field() {
    constexpr uint64_t kEdges[] = {0,         1,          2,       3,          4,
                                   8,         16,         20,      24,         32,
                                   0x1000,    0x2000,     0xfff,   0x7fffffff, 0xffffffff,
                                   INT64_MAX, UINT64_MAX, 0x10000, 0x8000,     0x100000000};
    return below(4) == 0 ? random() : kEdges[below(sizeof(kEdges) / sizeof(kEdges[0]))];
  }

  // Fields of random widths that happen to be where the decoders look.
  Bytes almost_payload() {
    Bytes bytes;
    const unsigned fields = below(8);
    for (unsigned i = 0; i < fields; ++i) {
      const uint64_t value = field();
      const size_t width = below(2) == 0 ? 4 : 8;
      const auto* raw = reinterpret_cast<const uint8_t*>(&value);
      bytes.insert(bytes.end(), raw, raw + width);
    }
    if (below(4) == 0) bytes.resize(bytes.size() + below(64));
    return bytes;
  }

  Bytes irqs_payload() {
    SetIrqsRequest request{static_cast<IrqData>(below(3)),
                           static_cast<IrqAction>(below(3)),
                           VFIO_PCI_MSIX_IRQ_INDEX,
                           below(33),
                           below(4),
                           {}};
    if (request.data == IrqData::kBool) request.selected.resize(request.count, true);
    return encode_set_irqs(request);
  }

  // The payload that belongs to `command`, with up to two bytes that do not.
  Bytes damaged_payload(uint16_t command) {
    static const uint8_t data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    const auto region = static_cast<uint32_t>(below(10));
    Bytes bytes;
    switch (static_cast<Command>(command)) {
      case Command::kVersion:
        bytes = encode_version({});
        break;
      case Command::kDmaMap:
        bytes = encode_dma_map(
            {true, true, below(4) * 4096ull, below(64) * 4096ull, (1 + below(4)) * 4096ull});
        break;
      case Command::kDmaUnmap:
        bytes = encode_dma_unmap({false, below(64) * 4096ull, (1 + below(4)) * 4096ull});
        break;
      case Command::kDeviceGetInfo:
        bytes = encode_device_info(0, 0, 0);
        break;
      case Command::kDeviceGetRegionInfo:
        bytes = encode_region_info(0, region, 0);
        break;
      case Command::kDeviceGetIrqInfo:
        bytes = encode_irq_info(0, below(6), 0);
        break;
      case Command::kDeviceSetIrqs:
        bytes = irqs_payload();
        break;
      case Command::kRegionRead:
        bytes = encode_region_access(
            {below(2) == 0 ? below(1024) * 4 : field(), region, 1u << below(passed_on ? 13 : 5)},
            nullptr, 0);
        break;
      case Command::kRegionWrite:
        bytes = encode_region_access({below(4096), region, 4}, data, 4);
        break;
      case Command::kRegionWriteMulti:
        bytes = encode_region_write_multi(
            {{{below(64) * 4, region, 4}, data}, {{below(4096), below(3), 1 + below(9)}, data}});
        break;
      default:
        break;
    }
    if (below(25) == 0 && !bytes.empty()) {
      bytes[below(static_cast<uint32_t>(bytes.size()))] = static_cast<uint8_t>(random());
    }
    return bytes;
  }

  void send_something(Connection& connection, const std::vector<int>& candidates) {
    auto command = static_cast<uint16_t>(below(50) == 0 ? random() : 2 + below(18));
    if (below(500) == 0) command = static_cast<uint16_t>(Command::kVersion);
    const Bytes payload = below(100) == 0 ? almost_payload() : damaged_payload(command);
    const bool takes_fds = command == static_cast<uint16_t>(Command::kDmaMap) ||
                           (command == static_cast<uint16_t>(Command::kDeviceSetIrqs) &&
                            payload.size() > 4 && (payload[4] & VFIO_IRQ_SET_DATA_EVENTFD) != 0);
    std::vector<int> fds;
    if (takes_fds ? below(4) != 0 : below(300) == 0) {
      fds.resize(1 + (below(20) == 0 ? below(kMaxMessageFds) : 0));
      for (int& fd : fds) fd = candidates[below(static_cast<uint32_t>(candidates.size()))];
    }
    const uint32_t flags = below(200) == 0 ? static_cast<uint32_t>(random()) : below(2) * 0x10;
    connection.send({static_cast<uint16_t>(random()), command, 0, flags, 0}, payload, fds);
  }

  void enable_device(VfioUserClient& client) {
    const uint16_t command = PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER;
    client.post(VFIO_PCI_CONFIG_REGION_INDEX, PCI_COMMAND, &command, sizeof(command));
  }

  // The device at work meanwhile.
  void poke_device() {
    if (!device.pending.empty() && below(2) == 0) device.answer(random());
    uint8_t bytes[64] = {};
    dma_done += server->dma_read(below(80) * 4096ull + below(4096), bytes, below(64));
    dma_done += server->dma_write(below(80) * 4096ull + below(4096), bytes, below(64));
    server->fire_msix(below(40));
  }

  // The device is somewhere else from now on.
  void pass_on() {
    passed_on = true;
    server.reset();
    server = std::make_unique<VfioUserServer>(path, nullptr);
    server->attach(device);
  }
  // The one that clients are told of, another one, or none.
  void change_device() {
    PciDescription other = rnic_pci_description({});
    other.msix.vectors = 1;
    switch (below(3)) {
      case 0:
        return server->describe(rnic_pci_description({}));
      case 1:
        return server->describe(other);
      default:
        return server->describe(std::nullopt);
    }
  }

  const uint32_t seed;
  std::mt19937_64 random;
  uint64_t dma_done = 0;
  bool passed_on = false;
};

TEST_CASE_METHOD(Garbage, "a server survives streams of noise") {
  INFO("seed " << seed);
  const size_t before = open_fds();
  for (int client = 0; client < 300; ++client) {
    UniqueFd socket = connect_unix(path);
    for (unsigned chunk = below(6); chunk > 0; --chunk) {
      const Bytes bytes = noise(1 + below(200));
      ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      server->service();
    }
    socket.reset();
    serve();
    REQUIRE_FALSE(server->connected());
  }
  CHECK(open_fds() == before);
}

TEST_CASE_METHOD(Garbage, "a server survives clients that are almost right") {
  if (GENERATE(false, true)) pass_on();
  INFO("seed " << seed << (passed_on ? ", passed on" : ""));
  const size_t before = open_fds();
  {
    const Memory sealed(4 * kDmaPageSize, Memory::Kind::kSealed);
    const Memory unsealed(4 * kDmaPageSize, Memory::Kind::kUnsealed);
    const Eventfd event;
    const UniqueFd other(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    for (int i = 0; i < 400; ++i) {
      if (passed_on) server->describe(rnic_pci_description({}));
      auto client = new_client();
      if (below(20) != 0) REQUIRE(client->negotiate() == 0);
      for (unsigned messages = below(400); messages > 0; --messages) {
        if (below(10) == 0) enable_device(*client);
        send_something(client->connection(), {sealed.fd(), unsealed.fd(), event.fd(), other.get()});
        Message reply;
        while (client->connection().receive(&reply) == Connection::Status::kMessage) {
        }
        server->service();
        poke_device();
        if (passed_on && below(20) == 0) change_device();
        // What a client of QEMU's kind never does: its memory shrinks and grows under the device.
        if (below(50) == 0 && ::ftruncate(unsealed.fd(), below(5) * 4096) != 0) FAIL("truncate");
      }
      client.reset();
      serve();
      REQUIRE_FALSE(server->connected());
    }
  }
  CHECK(open_fds() == before);
  // Else the clients were too wrong to get anywhere.
  CHECK(server->counters().connections_malformed > 20);
  CHECK(server->counters().requests_refused > 1000);
  CHECK(device.writes.size() > 50);
  CHECK(device.reads.size() > 10);
  CHECK(dma_done > 20);

  if (passed_on) server->describe(rnic_pci_description({}));
  auto client = new_client();
  REQUIRE(client->negotiate() == 0);
  VfioUserClient::DeviceInfo info;
  CHECK(client->get_device_info(&info) == 0);
}

}  // namespace
}  // namespace exrnic::vfio_user
