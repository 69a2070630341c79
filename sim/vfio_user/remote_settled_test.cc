// SPDX-License-Identifier: BSD-2-Clause
// How long a RemoteDevice is waiting for its server: who stops simulated time meanwhile sees a
// device that is infinitely fast.
#include <sys/eventfd.h>
#include <unistd.h>

#include <catch2/generators/catch_generators.hpp>
#include <chrono>
#include <utility>

#include "sim/vfio_user/remote_fixture.h"

namespace exrnic::vfio_user {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr uint32_t kBar0 = VFIO_PCI_BAR0_REGION_INDEX;
constexpr auto kGetInfo = static_cast<uint16_t>(Command::kDeviceGetInfo);

// The server works while this is there.
class Serving {
 public:
  explicit Serving(
      VfioUserServer& server, std::function<void()> then = [] {})
      : thread_([this, &server, then = std::move(then)] {
          while (!over_) {
            server.service();
            then();
          }
        }) {}
  ~Serving() {
    over_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> over_{false};
  std::thread thread_;
};

// What a store orders: the device reads a byte of the host, writes the next one, and interrupts.
void carry_out(VfioUserServer& server) {
  uint8_t byte = 0;
  if (!server.dma_read(NotedHost::kBase, &byte, 1)) return;
  ++byte;
  server.dma_write(NotedHost::kBase + 1, &byte, 1);
  server.fire_msix(1);
}

template <typename Action>
void for_a_while(Action action) {
  for (const auto end = Clock::now() + milliseconds(50); Clock::now() < end;) action();
}

}  // namespace

TEST_CASE_METHOD(Served, "a server that was sent nothing has settled") {
  CHECK_FALSE(remote->waiting());
  CHECK_FALSE(remote->service());
  CHECK_FALSE(remote->waiting());
}

TEST_CASE_METHOD(Served, "a server has settled when a store has reached its device") {
  enable();
  for (unsigned i = 1; i <= 100; ++i) {
    remote->write(kBar0, 8, {1, 2, 3, 4});
    REQUIRE(remote->waiting());
    remote->service();
    REQUIRE(remote->waiting());
    while (remote->waiting()) {
      server->service();
      remote->service();
    }
    REQUIRE(device.writes.size() == i);
  }
}

// A controller with a doorbell for each command would see them one at a time else.
TEST_CASE_METHOD(Served, "stores reach a device together, but none that stands behind an answer") {
  enable();
  while (remote->waiting()) {
    server->service();
    remote->service();
  }
  // The first one asks for the sign of life, which stands before the others.
  for (const uint8_t value : {1, 2, 3, 4}) remote->write(kBar0, 8, {value, 0, 0, 0});
  server->service();
  CHECK(device.writes.size() == 1);
  remote->service();
  CHECK(remote->waiting());
  server->service();  // which answers
  CHECK(device.writes.size() == 4);
  remote->service();
  CHECK(remote->waiting());
}

TEST_CASE_METHOD(Served, "a server has settled when loads and resets are answered") {
  enable();
  bool answered = false;
  remote->read(kBar0, 0, 4, [&](const Bytes*) { answered = true; });
  for_a_while([&] {
    both();
    REQUIRE(remote->waiting());
  });
  device.answer(5);
  both();
  CHECK(answered);
  CHECK_FALSE(remote->waiting());
  remote->reset([&](const Bytes*) { answered = false; });
  CHECK(remote->waiting());
  both();
  CHECK_FALSE(answered);
  CHECK_FALSE(remote->waiting());
}

TEST_CASE_METHOD(Served,
                 "an order is carried out, DMA and interrupt included, when a server has settled") {
  enable();
  // At once, or when the server has handled its messages.
  const bool at_once = GENERATE(true, false);
  bool ordered = false;
  device.when_stored = [&] { ordered = true; };
  if (at_once) device.when_stored = [&] { carry_out(*server); };
  for (unsigned i = 0; i < 100; ++i) {
    host.memory[0] = static_cast<uint8_t>(i);
    host.interrupts.clear();
    remote->write(kBar0, 0, {1});
    // It finds all that was sent at once.
    const Serving serving(*server, [&] {
      if (!std::exchange(ordered, false)) return;
      std::this_thread::sleep_for(milliseconds(1));
      carry_out(*server);
    });
    while (remote->waiting()) remote->service();
    REQUIRE(remote->alive());
    REQUIRE(host.memory[1] == static_cast<uint8_t>(i + 1));
    REQUIRE(host.interrupts == std::vector<unsigned>{1});
  }
}

TEST_CASE_METHOD(Served,
                 "a server that waits for the host is not waited for, until it is answered") {
  enable();
  device.when_stored = [&] { carry_out(*server); };
  host.hold = true;
  const Serving serving(*server);
  remote->write(kBar0, 0, {1});
  while (host.held.empty()) {
    REQUIRE(remote->waiting());
    remote->service();
  }
  for_a_while([&] {
    remote->service();
    REQUIRE_FALSE(remote->waiting());
  });
  const Bytes byte{7};
  host.held.front()(&byte);
  CHECK(remote->waiting());
  while (remote->waiting()) remote->service();
  CHECK(host.memory[1] == 8);
  CHECK(host.interrupts == std::vector<unsigned>{1});
}

TEST_CASE("a server is asked for one sign of life at a time, and for one behind the last") {
  size_t asked = 0;
  Liar liar([&](const Message& request) -> std::optional<std::optional<Bytes>> {
    asked += request.header.command == kGetInfo;
    return std::nullopt;
  });
  REQUIRE(liar.discovered().empty());
  asked = 0;
  for (int i = 0; i < 100; ++i) liar.remote->write(kBar0, 0, {1});
  liar.serve();
  CHECK(asked == 1);
  while (liar.remote->waiting()) {
    liar.remote->service();
    liar.serve();
  }
  CHECK(asked == 2);
  liar.say(1, Command::kDmaRead, 0, encode_dma_access({NotedHost::kBase, 8}, nullptr, 0));
  while (liar.remote->service()) {
  }
  CHECK(liar.remote->waiting());
  liar.serve();
  CHECK(asked == 3);
  liar.remote->service();
  CHECK(liar.remote->alive());
  CHECK_FALSE(liar.remote->waiting());
}

TEST_CASE("a sign of life that is refused is one") {
  bool refuses = false;
  Liar* server = nullptr;
  Liar liar([&](const Message& request) -> std::optional<std::optional<Bytes>> {
    if (!refuses || request.header.command != kGetInfo) return std::nullopt;
    server->say(request.header.id, Command::kDeviceGetInfo, Header::kTypeReply | Header::kError,
                {});
    return std::optional<Bytes>();
  });
  server = &liar;
  REQUIRE(liar.discovered().empty());
  refuses = true;
  liar.remote->write(kBar0, 0, {1});
  liar.serve();
  liar.remote->service();
  CHECK(liar.remote->alive());
  CHECK_FALSE(liar.remote->waiting());
}

TEST_CASE("a server that gives no sign of life is given up, and not waited for") {
  Liar liar(nullptr);
  REQUIRE(liar.discovered().empty());
  const auto start = Clock::now();
  liar.remote->write(kBar0, 0, {1});
  CHECK(liar.remote->poll_timeout_ms() > 0);
  while (liar.remote->waiting() && Clock::now() - start < milliseconds(5000))
    liar.remote->service();
  CHECK(Clock::now() - start >= quick().answer);
  CHECK_FALSE(liar.remote->alive());
  CHECK_FALSE(liar.remote->waiting());
  CHECK(liar.remote->end_reason() == "no answer to command 4 within 200 ms");
  CHECK(liar.remote->requests_in_flight() == 0);
}

TEST_CASE("the time in which a server waits for the host is not its own") {
  Liar liar(nullptr);
  REQUIRE(liar.discovered().empty());
  liar.host.hold = true;
  liar.remote->write(kBar0, 0, {1});
  liar.say(1, Command::kDmaRead, 0, encode_dma_access({NotedHost::kBase, 8}, nullptr, 0));
  while (liar.host.held.empty()) liar.remote->service();
  CHECK(liar.remote->poll_timeout_ms() == -1);
  std::this_thread::sleep_for(2 * quick().answer);
  liar.remote->service();
  CHECK(liar.remote->alive());
  const auto start = Clock::now();
  liar.host.held.front()(nullptr);
  CHECK(liar.remote->poll_timeout_ms() > 0);
  while (liar.remote->alive() && Clock::now() - start < milliseconds(5000)) liar.remote->service();
  CHECK_FALSE(liar.remote->alive());
  CHECK(Clock::now() - start < 2 * quick().answer);
}

TEST_CASE("an interrupt before a sign of life is heard of before the server has settled") {
  UniqueFd interrupt;
  Liar liar([&](const Message& request) -> std::optional<std::optional<Bytes>> {
    if (!request.fds.empty()) interrupt = UniqueFd(::dup(request.fds[1].get()));
    return std::nullopt;
  });
  REQUIRE(liar.discovered().empty());
  // Both come when interrupts have been looked at, and messages have not.
  liar.host.when_written = [&] {
    REQUIRE(::eventfd_write(interrupt.get(), 1) == 0);
    liar.serve();
  };
  liar.remote->write(kBar0, 0, {1});
  const uint8_t byte = 1;
  liar.say(1, Command::kDmaWrite, Header::kNoReply,
           encode_dma_access({NotedHost::kBase, 1}, &byte, 1));
  while (liar.remote->waiting()) liar.remote->service();
  CHECK(liar.host.interrupts == std::vector<unsigned>{1});
}

}  // namespace exrnic::vfio_user
