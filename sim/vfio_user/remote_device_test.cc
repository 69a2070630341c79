// SPDX-License-Identifier: BSD-2-Clause
// A device behind a server of ours, and behind servers that lie: accesses to it, its DMA and its
// interrupts, all by messages.
#include "sim/vfio_user/remote_device.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include "sim/vfio_user/remote_fixture.h"

namespace exrnic::vfio_user {
TEST_CASE_METHOD(Served, "accesses reach the device in order, and what it answers comes back") {
  enable();
  std::vector<uint64_t> answers;
  const auto note = [&](const Bytes* data) {
    answers.push_back(data == nullptr ? ~uint64_t{0} : load<uint32_t>(data->data()));
  };
  remote->write(VFIO_PCI_BAR0_REGION_INDEX, 8, {1, 2, 3, 4});
  remote->read(VFIO_PCI_BAR0_REGION_INDEX, 16, 4, note);
  remote->read(VFIO_PCI_BAR2_REGION_INDEX, 32, 4, note);
  both();
  CHECK(device.writes == std::vector<FakeDevice::Access>{{0, 8, 4, 0x04030201}});
  REQUIRE(device.reads.size() == 2);
  CHECK(answers.empty());
  device.answer(0x11);
  device.answer(0x22);
  both();
  CHECK(answers == std::vector<uint64_t>{0x11, 0x22});
}

TEST_CASE_METHOD(Served, "what the device refuses is refused, and it stays") {
  bool refused = false;
  remote->read(VFIO_PCI_BAR0_REGION_INDEX, 0, 4,  // memory accesses are disabled
               [&](const Bytes* data) { refused = data == nullptr; });
  both();
  CHECK(refused);
  CHECK(remote->alive());
  bool done = false;
  remote->reset([&](const Bytes* data) { done = data != nullptr; });
  both();
  CHECK(done);
  CHECK(device.resets == 1);
}

TEST_CASE_METHOD(Served, "interrupts come once for each look") {
  enable();
  server->fire_msix(3);
  server->fire_msix(3);
  server->fire_msix(31);
  both();
  CHECK(host.interrupts == std::vector<unsigned>{3, 31});
}

TEST_CASE_METHOD(Served, "DMA of any length is done by messages") {
  enable();
  Bytes data(10000);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<uint8_t>(i * 7 + i / 256);
  CHECK(
      meanwhile([&] { return server->dma_write(NotedHost::kBase + 5, data.data(), data.size()); }));
  CHECK(std::equal(data.begin(), data.end(), host.memory.begin() + 5));
  Bytes back(data.size());
  CHECK(
      meanwhile([&] { return server->dma_read(NotedHost::kBase + 5, back.data(), back.size()); }));
  CHECK(back == data);
}

TEST_CASE_METHOD(Served,
                 "reads of several places are asked for together, and answered in any order") {
  enable();
  host.hold = true;
  Bytes out(4);
  auto reading = std::async(std::launch::async, [&] {
    return server->dma_read_all({{NotedHost::kBase, 1}, {NotedHost::kBase + 9, 3}}, out.data());
  });
  while (host.held.size() < 2) remote->service();
  const Bytes first{1}, second{2, 3, 4};
  host.held[1](&second);
  host.held[0](&first);
  CHECK(reading.get());
  CHECK(out == Bytes{1, 2, 3, 4});
}

TEST_CASE_METHOD(Served, "when one of several reads is refused, all are, and the client stays") {
  enable();
  Bytes out(2);
  const auto read = [&](uint64_t second) {
    return meanwhile(
        [&] { return server->dma_read_all({{NotedHost::kBase, 1}, {second, 1}}, out.data()); });
  };
  CHECK_FALSE(read(0));
  CHECK(server->counters().dma_refused_address == 1);
  CHECK(read(NotedHost::kBase));
}

TEST_CASE_METHOD(Served, "DMA beside the host's memory, or without bus mastering, is refused") {
  uint8_t byte = 1;
  CHECK_FALSE(meanwhile([&] { return server->dma_write(NotedHost::kBase, &byte, 1); }));
  enable();
  CHECK_FALSE(meanwhile([&] { return server->dma_write(NotedHost::kBase - 1, &byte, 1); }));
  CHECK_FALSE(meanwhile([&] { return server->dma_read(0, &byte, 1); }));
  CHECK(server->counters().dma_refused_address == 2);
  CHECK(remote->alive());
}

TEST_CASE_METHOD(
    Served, "what comes while the device waits for its host is carried out afterwards, in order") {
  enable();
  host.hold = true;
  uint8_t byte = 0;
  auto reading =
      std::async(std::launch::async, [&] { return server->dma_read(NotedHost::kBase, &byte, 1); });
  while (host.held.empty()) remote->service();
  remote->write(VFIO_PCI_BAR0_REGION_INDEX, 8, {1, 0, 0, 0});
  remote->write(VFIO_PCI_BAR0_REGION_INDEX, 8, {2, 0, 0, 0});
  const Bytes answer{0x5a};
  host.held.front()(&answer);
  REQUIRE(reading.get());
  CHECK(byte == 0x5a);
  both();
  CHECK(device.writes == std::vector<FakeDevice::Access>{{0, 8, 4, 1}, {0, 8, 4, 2}});
}

TEST_CASE_METHOD(Served, "a host that does not answer in time is let go") {
  server->reach_memory_by_messages(std::chrono::milliseconds(50));
  remote.reset();
  serve();
  std::atomic<bool> over{false};
  std::thread serving([&] {
    while (!over) server->service();
  });
  remote = std::make_unique<RemoteDevice>(connect_unix(path), host, RemoteDevice::Limits());
  over = true;
  serving.join();
  enable();
  host.hold = true;
  uint8_t byte = 0;
  CHECK_FALSE(meanwhile([&] { return server->dma_read(NotedHost::kBase, &byte, 1); }));
  both();
  CHECK_FALSE(server->connected());
  CHECK_FALSE(remote->alive());
}

TEST_CASE_METHOD(Served, "a server that leaves fails what waits, and touches nothing later") {
  enable();
  unsigned failed = 0;
  remote->read(VFIO_PCI_BAR0_REGION_INDEX, 0, 4, [&](const Bytes* data) { failed += !data; });
  both();
  server.reset();
  while (remote->service()) {
  }
  CHECK_FALSE(remote->alive());
  CHECK(failed == 1);
  remote->write(VFIO_PCI_BAR0_REGION_INDEX, 0, {1});
  remote->read(VFIO_PCI_BAR0_REGION_INDEX, 0, 4, [&](const Bytes* data) { failed += !data; });
  CHECK(failed == 2);
  CHECK_FALSE(remote->service());
}

TEST_CASE("a server that lies later is given up with a line, and what waits for it fails") {
  Liar liar(nullptr);
  REQUIRE(liar.discovered().empty());
  const RemoteDevice& remote = *liar.remote;
  unsigned failed = 0;
  liar.remote->read(0, 0, 4, [&](const Bytes* data) { failed += !data; });
  const Bytes nothing;
  std::string part;
  SECTION("a reply to what nobody has asked") {
    liar.say(77, Command::kRegionRead, Header::kTypeReply, nothing);
    part = "nobody has asked";
  }
  SECTION("a reply to another command") {
    liar.say(1, Command::kDeviceReset, Header::kTypeReply, nothing);
    part = "nobody has asked";
  }
  SECTION("a reply that is short") {
    liar.say(1, Command::kRegionRead, Header::kTypeReply, Bytes(19));
    part = "19 bytes instead of 20";
  }
  SECTION("a command that is none of a device") {
    liar.say(1, Command::kDmaMap, Header::kTypeCommand, nothing);
    part = "command 2 from the server";
  }
  SECTION("a header of neither kind") {
    liar.say(1, Command::kDmaRead, 7, nothing);
    part = "header flags";
  }
  SECTION("DMA of no bytes") {
    liar.say(1, Command::kDmaRead, 0, encode_dma_access({0, 0}, nullptr, 0));
    part = "DMA_READ of 0 bytes";
  }
  SECTION("DMA of too many bytes") {
    liar.say(1, Command::kDmaRead, 0, encode_dma_access({0, kMaxDataTransfer + 1}, nullptr, 0));
    part = "DMA_READ of 4097 bytes";
  }
  SECTION("DMA beyond the end of the addresses") {
    liar.say(1, Command::kDmaRead, 0, encode_dma_access({~uint64_t{0}, 2}, nullptr, 0));
    part = "DMA_READ of 2 bytes";
  }
  SECTION("DMA that says more than it has") {
    liar.say(1, Command::kDmaWrite, 0, encode_dma_access({0, 100}, nullptr, 0));
    part = "DMA_WRITE of 100 bytes";
  }
  SECTION("DMA without end") {
    liar.host.hold = true;
    for (uint16_t i = 0; i <= RemoteDevice::Limits().dmas; ++i)
      liar.say(i, Command::kDmaRead, 0, encode_dma_access({0, 1}, nullptr, 0));
    part = "more than 256 DMA";
  }
  SECTION("silence") { part = "no answer to command 9 within 200 ms"; }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (remote.alive() && std::chrono::steady_clock::now() < deadline) liar.remote->service();
  INFO(remote.end_reason());
  CHECK_FALSE(remote.alive());
  CHECK(remote.end_reason().find(part) != std::string::npos);
  CHECK(failed == 1);
  CHECK(remote.requests_in_flight() == 0);
}

TEST_CASE("an interrupt does not overtake the DMA before it") {
  UniqueFd interrupt;
  Liar liar([&](const Message& request) -> std::optional<std::optional<Bytes>> {
    if (!request.fds.empty()) interrupt = UniqueFd(::dup(request.fds[1].get()));
    return std::nullopt;
  });
  REQUIRE(liar.discovered().empty());
  constexpr uint16_t kWrites = 200;  // more than are served at once
  const uint8_t byte = 0x5a;
  for (uint16_t i = 0; i < kWrites; ++i)
    liar.say(i, Command::kDmaWrite, Header::kNoReply,
             encode_dma_access({NotedHost::kBase + i, 1}, &byte, 1));
  REQUIRE(::eventfd_write(interrupt.get(), 1) == 0);
  while (liar.host.interrupts.empty()) liar.remote->service();
  CHECK(liar.host.interrupts == std::vector<unsigned>{1});
  CHECK(liar.host.memory[kWrites - 1] == byte);
}

TEST_CASE("a host may answer DMA when the device is gone") {
  Liar liar(nullptr);
  REQUIRE(liar.discovered().empty());
  liar.host.hold = true;
  liar.say(1, Command::kDmaRead, 0, encode_dma_access({NotedHost::kBase, 8}, nullptr, 0));
  while (liar.host.held.empty()) liar.remote->service();
  liar.remote.reset();
  liar.host.held.front()(nullptr);
}

}  // namespace exrnic::vfio_user
