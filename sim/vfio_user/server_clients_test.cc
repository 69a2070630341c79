// SPDX-License-Identifier: BSD-2-Clause
// Clients that come, misbehave, leave, or ask for more than they take.
#include <linux/vfio.h>
#include <sys/resource.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cerrno>
#include <chrono>
#include <memory>
#include <new>
#include <stdexcept>

#include "sim/vfio_user/server_fixture.h"

namespace exrnic::vfio_user {
namespace {

constexpr uint32_t kConfig = VFIO_PCI_CONFIG_REGION_INDEX;
constexpr uint32_t kBar0 = VFIO_PCI_BAR0_REGION_INDEX;
constexpr uint32_t kBar2 = VFIO_PCI_BAR2_REGION_INDEX;
constexpr uint32_t kMsixIrq = VFIO_PCI_MSIX_IRQ_INDEX;

TEST_CASE_METHOD(Connected, "what is malformed closes the connection with one line that says why") {
  const Eventfd event;
  std::string reason;
  Connection& raw = client->connection();
  SECTION("a second VERSION") {
    raw.send({1, 1, 0, 0, 0}, encode_version({}));
    reason = "a second VERSION";
  }
  SECTION("a reply to nothing") {
    raw.send({1, 4, 0, Header::kTypeReply, 0}, {});
    reason = "header flags 0x1";
  }
  SECTION("a payload that is too short") {
    raw.send({1, 2, 0, 0, 0}, Bytes(31));
    reason = "DMA_MAP with a payload of 31 bytes";
  }
  SECTION("two files for one DMA region") {
    raw.send({1, 2, 0, 0, 0}, encode_dma_map({true, true, 0, 0, 4096}), {event.fd(), event.fd()});
    reason = "2 file descriptors with command 2";
  }
  SECTION("a file descriptor where none belongs") {
    raw.send({1, 13, 0, 0, 0}, {}, {event.fd()});
    reason = "1 file descriptors with command 13";
  }
  SECTION("a file descriptor with a SET_IRQS that takes none") {
    raw.send({1, 8, 0, 0, 0},
             encode_set_irqs({IrqData::kNone, IrqAction::kTrigger, kMsixIrq, 0, 1, {}}),
             {event.fd()});
    reason = "SET_IRQS that takes none";
  }
  SECTION("a reset with a payload") {
    raw.send({1, 13, 0, 0, 0}, {1});
    reason = "DEVICE_RESET with a payload";
  }
  const size_t lines = log.size();
  serve();
  CHECK_FALSE(server->connected());
  CHECK(server->counters().connections_malformed == 1);
  REQUIRE(log.size() == lines + 1);
  CHECK(log.back().find("closed the connection: ") != std::string::npos);
  CHECK(log.back().find(reason) != std::string::npos);
  VfioUserClient::DeviceInfo info;
  CHECK(client->get_device_info(&info) == -ECONNRESET);
}

TEST_CASE_METHOD(ServerFixture, "nothing is served before VERSION, nor to another version") {
  auto client = new_client();
  SECTION("no VERSION") {
    VfioUserClient::DeviceInfo info;
    CHECK(client->get_device_info(&info) == -ECONNRESET);
  }
  SECTION("version 1.0") {
    CHECK(client->request(1, Bytes{1, 0, 0, 0}, {}, nullptr) == -ECONNRESET);
    CHECK(log.back().find("version 1.0") != std::string::npos);
  }
  CHECK_FALSE(server->connected());
}

bool readable(const UniqueFd& socket) {
  pollfd fd{socket.get(), POLLIN, 0};
  return ::poll(&fd, 1, 0) == 1;
}

TEST_CASE_METHOD(Connected, "a second client is refused with a line in the log, behind the grace") {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const UniqueFd second = connect_unix(path);
  serve();
  CHECK_FALSE(readable(second));
  const UniqueFd third = connect_unix(path);  // one waits already
  serve();
  CHECK(readable(third));
  CHECK(log.back().find("refused a second client") != std::string::npos);
  // Who polls is woken when the time is over.
  std::vector<pollfd> fds;
  server->append_poll_fds(fds);
  REQUIRE(::poll(fds.data(), fds.size(), 10'000) == 1);
  CHECK(Clock::now() - start >= VfioUserServer::kGrace);
  serve();
  CHECK(readable(second));
  CHECK(server->counters().clients_refused == 2);
  fds.clear();
  server->append_poll_fds(fds);
  CHECK(fds.size() == 2);
  VfioUserClient::DeviceInfo info;
  CHECK(client->get_device_info(&info) == 0);
}

TEST_CASE_METHOD(Connected,
                 "a client that comes before the former one's socket is closed waits for that") {
  auto next = std::make_unique<VfioUserClient>(
      connect_unix(path), VfioUserClient::Options{2000, [this, turns = 0]() mutable {
                                                    server->service();
                                                    if (++turns == 10) client.reset();
                                                  }});
  CHECK(next->negotiate() == 0);
  CHECK(server->counters().clients == 2);
  CHECK(server->counters().clients_refused == 0);
  CHECK(device.resets == 1);
  VfioUserClient::DeviceInfo info;
  CHECK(next->get_device_info(&info) == 0);
  // The next one but one has a grace of its own.
  const UniqueFd third = connect_unix(path);
  serve();
  CHECK_FALSE(readable(third));
}

TEST_CASE_METHOD(Connected,
                 "when a client leaves, its memory and interrupts go and the RNIC resets") {
  const size_t before = open_fds();
  const Memory memory(kDmaPageSize, Memory::Kind::kUnsealed);
  Eventfd event;
  REQUIRE(client->dma_map({true, true, 0, 0, kDmaPageSize}, memory.fd()) == 0);
  REQUIRE(client->set_irqs({IrqData::kEventfd, IrqAction::kTrigger, kMsixIrq, 0, 1, {}},
                           {event.fd()}) == 0);
  enable();
  client.reset();
  serve();
  CHECK_FALSE(server->connected());
  CHECK(device.resets == 1);
  CHECK_FALSE(server->config_space().bus_master_enabled());
  CHECK(open_fds() == before);  // memory and event are ours; both ends of the connection are gone

  client = new_client();
  REQUIRE(client->negotiate() == 0);
  enable();
  uint8_t byte = 0;
  CHECK_FALSE(server->dma_read(0, &byte, 1));
  server->fire_msix(0);
  CHECK(event.take() == 0);
}

TEST_CASE_METHOD(Connected, "a client may leave and the next one come before anybody looks") {
  client.reset();
  client = new_client();
  CHECK(client->negotiate() == 0);
  CHECK(server->counters().clients == 2);
  CHECK(server->counters().clients_refused == 0);
}

TEST_CASE_METHOD(Connected, "what a client posted before it left is carried out") {
  enable();
  const uint32_t value = 5;
  for (int i = 0; i < 200; ++i) REQUIRE(client->post(kBar2, 0, &value, 4) == 0);
  client.reset();
  serve();
  CHECK(device.writes.size() == 200);
}

TEST_CASE_METHOD(Connected, "a load whose client has left is answered into the void") {
  enable();
  client->connection().send({1, 9, 0, 0, 0}, encode_region_access({0, kBar0, 4}, nullptr, 0));
  serve();
  REQUIRE(device.pending.size() == 1);
  const auto late = device.pending.front();
  client.reset();
  serve();
  CHECK(device.pending.empty());
  late(42);
  server.reset();
  late(43);
}

TEST_CASE_METHOD(Connected, "a client with too many loads in flight is not heard until some end") {
  enable();
  for (uint16_t i = 0; i < 200; ++i) {
    client->connection().send({i, 9, 0, 0, 0}, encode_region_access({0, kBar0, 4}, nullptr, 0));
  }
  serve();
  const size_t limit = device.pending.size();
  CHECK(limit < 200);
  CHECK_FALSE(server->service());
  std::vector<pollfd> fds;
  server->append_poll_fds(fds);
  REQUIRE(fds.size() == 2);
  CHECK((fds[1].events & POLLIN) == 0);
  for (int i = 0; i < 200; ++i) {
    REQUIRE_FALSE(device.pending.empty());
    device.answer(0);
    serve();
  }
  CHECK(device.reads.size() == 200);
}

TEST_CASE_METHOD(Connected, "a client that reads no replies is not heard, and does not block") {
  Connection& raw = client->connection();
  for (uint16_t i = 0; i < 3000; ++i) {
    raw.send({i, 9, 0, 0, 0}, encode_region_access({0, kConfig, 4096}, nullptr, 0));
  }
  serve();
  CHECK(server->connected());
  std::vector<pollfd> fds;
  server->append_poll_fds(fds);
  CHECK((fds[1].events & POLLIN) == 0);
  Message reply;
  unsigned replies = 0;
  for (int turn = 0; turn < 100000 && replies < 3000; ++turn) {
    raw.flush();
    server->service();
    while (raw.receive(&reply) == Connection::Status::kMessage) ++replies;
  }
  CHECK(replies == 3000);
}

TEST_CASE_METHOD(Connected, "nonsense in a loop fills neither the log nor the connection") {
  const size_t before = log.size();
  for (int i = 0; i < 100; ++i) CHECK(client->request(99, {}, {}, nullptr) == -ENOTSUP);
  CHECK(log.size() - before < 20);
  CHECK(server->counters().requests_refused == 100);
}

TEST_CASE_METHOD(ServerFixture, "an idle server does nothing") {
  CHECK_FALSE(server->service());
  uint8_t byte = 0;
  CHECK_FALSE(server->dma_read(0, &byte, 1));
  CHECK_FALSE(server->dma_write(0, &byte, 1));
  server->fire_msix(0);
  CHECK(server->counters().interrupts_dropped == 1);
}

TEST_CASE_METHOD(ServerFixture, "a client that waits too long says for what") {
  VfioUserClient lonely(connect_unix(path), {50, {}});
  CHECK(lonely.negotiate() == -ETIMEDOUT);
  CHECK(lonely.last_error() == "waited too long for the reply to command 1");
}

TEST_CASE_METHOD(ServerFixture, "a server without a free descriptor says so once and recovers") {
#ifdef __SANITIZE_ADDRESS__
  SKIP(
      "UBSan looks at objects through a pipe: without a free descriptor it takes each for a wrong "
      "one");
#endif
  UniqueFd waiting = connect_unix(path);
  std::vector<UniqueFd> hoard;
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  rlimit tight = before;
  tight.rlim_cur = 64;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &tight) == 0);
  for (int fd = ::dup(waiting.get()); fd >= 0; fd = ::dup(waiting.get())) hoard.emplace_back(fd);
  for (int i = 0; i < 10; ++i) server->service();
  CHECK(log.size() == 1);
  CHECK_FALSE(server->connected());
  hoard.clear();
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  server->service();
  CHECK(server->connected());
}

TEST_CASE_METHOD(ServerFixture, "a server without a free descriptor does not poll in circles") {
#ifdef __SANITIZE_ADDRESS__
  SKIP(
      "UBSan looks at objects through a pipe: without a free descriptor it takes each for a wrong "
      "one");
#endif
  UniqueFd waiting = connect_unix(path);
  std::vector<UniqueFd> hoard;
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  rlimit tight = before;
  tight.rlim_cur = 64;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &tight) == 0);
  for (int fd = ::dup(waiting.get()); fd >= 0; fd = ::dup(waiting.get())) hoard.emplace_back(fd);
  const auto asks = [&] {
    std::vector<pollfd> fds;
    server->append_poll_fds(fds);
    return fds.at(0).events;
  };
  CHECK(asks() == POLLIN);
  CHECK_FALSE(server->service());
  CHECK(asks() == 0);       // sleeps until something else happens,
  CHECK(asks() == POLLIN);  // and looks again then
  hoard.clear();
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(server->service());
  CHECK(server->connected());
}

// Whose stores need something that there is not.
struct FailingDevice : FakeDevice {
  void mmio_write(unsigned bar, uint64_t offset, unsigned size, uint64_t value) override {
    if (no_memory) throw std::bad_alloc();
    if (broken) throw std::runtime_error("the device is broken");
    FakeDevice::mmio_write(bar, offset, size, value);
  }
  bool no_memory = false;
  bool broken = false;
};

TEST_CASE_METHOD(ServerFixture, "a client for which there is no memory is let go, and no other") {
  FailingDevice failing;
  server->attach(failing);
  auto client = new_client();
  REQUIRE(client->negotiate() == 0);
  const uint16_t bits = PCI_COMMAND_MEMORY;
  REQUIRE(client->write(kConfig, PCI_COMMAND, &bits, sizeof bits) == 0);
  failing.no_memory = true;
  const uint32_t value = 1;
  CHECK(client->write(kBar2, 0, &value, 4) == -ECONNRESET);
  CHECK(log.back().find("there is no memory for what the client asks") != std::string::npos);
  CHECK(failing.resets == 1);
  failing.no_memory = false;
  client = new_client();
  CHECK(client->negotiate() == 0);
  REQUIRE(client->write(kConfig, PCI_COMMAND, &bits, sizeof bits) == 0);
  CHECK(client->write(kBar2, 0, &value, 4) == 0);
  // What is wrong with the device itself is not the client's fault, and is not hidden.
  failing.broken = true;
  REQUIRE(client->post(kBar2, 0, &value, 4) == 0);
  CHECK_THROWS_AS(server->service(), std::runtime_error);
}

TEST_CASE_METHOD(Connected, "a client whose device has too much to do waits, but may leave") {
  enable();
  const uint32_t value = 5;
  device.waiting = 1024;
  REQUIRE(client->post(kBar2, 0, &value, 4) == 0);
  CHECK_FALSE(server->service());
  CHECK(device.writes.empty());
  std::vector<pollfd> fds;
  server->append_poll_fds(fds);
  CHECK((fds.at(1).events & POLLIN) == 0);
  SECTION("until it has less") {
    device.waiting = 1023;
    serve();
    CHECK(device.writes.size() == 1);
  }
  SECTION("at once") {
    client.reset();
    serve();
    CHECK_FALSE(server->connected());
    CHECK(device.writes.size() == 1);
  }
}

TEST_CASE_METHOD(ServerFixture,
                 "the socket file goes with the server, what took its place does not") {
  SECTION("the socket") {
    server.reset();
    CHECK(::access(path.c_str(), F_OK) != 0);
  }
  SECTION("another's") {
    REQUIRE(::unlink(path.c_str()) == 0);
    const UniqueFd other = listen_unix(path);
    server.reset();
    CHECK(::unlink(path.c_str()) == 0);
  }
}

}  // namespace
}  // namespace exrnic::vfio_user
