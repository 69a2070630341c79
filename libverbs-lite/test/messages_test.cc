// SPDX-License-Identifier: BSD-2-Clause
// The process's side of a message channel; the test is the firmware. Offsets are written out by
// hand.
#include "exrnic/messages.h"

#include <poll.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "fake_fabric.h"

namespace exrnic {
namespace {

constexpr uint32_t kBell = 48;     // in the user page
constexpr uint32_t kBlock = 1984;  // likewise: the PIO block

struct Channel {
  explicit Channel(const vl_message_channel_attr& attr = {3, 1000, 2, 4})
      : rnic(fabric.Open(0)), channel(vl_create_message_channel(rnic, &attr)) {
    REQUIRE(channel != nullptr);
  }
  ~Channel() {
    CHECK(vl_destroy_message_channel(channel) == 0);
    CHECK(vl_close_rnic(rnic) == 0);
  }

  uint8_t* at(size_t offset) const {
    REQUIRE(offset < request().bytes);
    return static_cast<uint8_t*>(request().memory) + offset;
  }
  const MessageChannelRequest& request() const { return fabric.message_channel(); }
  template <typename Number>
  Number get(size_t offset) const {
    Number value;
    memcpy(&value, at(offset), sizeof value);
    return value;
  }
  template <typename Number>
  void put(size_t offset, Number value) {  // as a device does: whole, behind what it put before
    __atomic_store_n(reinterpret_cast<Number*>(at(offset)), value, __ATOMIC_RELEASE);
  }
  size_t work(uint32_t id) const {
    return request().work + (id & ((1u << request().log_work) - 1)) * 64;
  }
  size_t event(uint32_t number) const {
    return request().events + (number & ((1u << request().log_events) - 1)) * 64;
  }
  void put_event(uint32_t number, uint32_t head, uint32_t length, uint32_t slot, uint64_t value,
                 uint32_t id) {
    put(event(number) + 32, head);
    put(event(number) + 36, length);
    put(event(number) + 40, slot);
    put(event(number) + 48, value);
    put(event(number) + 56, id);
    put(event(number) + 60, number + 1);
  }
  uint64_t bell() const { return fabric.DoorbellAt(kBell); }
  // Of the block: words as in the ring, and the bell at its end.
  uint64_t block(uint32_t offset) const { return fabric.DoorbellAt(kBlock + offset); }
  uint64_t block_bell() const { return block(56); }
  static uint64_t rung(uint32_t taken, uint32_t posted) { return uint64_t{posted} << 32 | taken; }

  FakeFabric fabric{1};
  vl_rnic* rnic;
  vl_message_channel* channel;
};

TEST_CASE("rings, slots and buffers of a message channel lie apart in its memory") {
  const vl_message_channel_attr attr = {1, 65536, 256, 16};
  const Channel c(attr);
  const MessageChannelRequest& r = c.request();
  CHECK(r.number == 1);
  CHECK(r.status == 0);
  CHECK(r.work >= 32);
  CHECK(r.work % 64 == 0);
  CHECK(r.log_work == 8);
  CHECK(r.events >= r.work + 256 * 64);
  CHECK(r.events % 64 == 0);
  CHECK(r.slots >= r.events + (64u << r.log_events));
  CHECK(r.slot_bytes == 65536);
  CHECK(r.num_slots == 16);
  CHECK(r.bytes >= r.slots + 16 * 65536 + 256 * 65536);
}

TEST_CASE("a message is written into the work ring, and a PIO block of it is the bell") {
  const bool by_pio = GENERATE(true, false);
  setenv("VL_PIO", by_pio ? "1" : "0", 1);
  Channel c;
  unsetenv("VL_PIO");
  for (uint32_t i = 0; i < 40; ++i) {
    void* buffer = vl_message_buffer(c.channel);
    REQUIRE(buffer != nullptr);
    memset(buffer, static_cast<int>(i), 30);
    uint32_t id = ~0u;
    REQUIRE(vl_send_message(c.channel, 7, 30, 99, &id) == 0);
    CHECK(id == i);
    const size_t work = c.work(i);
    CHECK(c.get<uint8_t>(work) == 1);
    CHECK(c.get<uint16_t>(work + 2) == 7);
    CHECK(c.get<uint32_t>(work + 4) == i);
    const auto offset = c.get<uint32_t>(work + 8);
    CHECK(offset % 32 == 0);
    CHECK(offset >= c.request().slots + 4 * c.request().slot_bytes);
    CHECK(c.get<uint8_t>(offset) == i);
    CHECK(c.get<uint8_t>(offset + 29) == i);
    CHECK(c.get<uint32_t>(work + 12) == 30);
    CHECK(c.get<uint32_t>(work + 28) == 99);
    CHECK((by_pio ? c.block_bell() : c.bell()) == Channel::rung(0, i + 1));
    CHECK((by_pio ? c.bell() : c.block_bell()) == (by_pio ? FakeFabric::kIdle : 0));
    for (uint32_t at = 0; by_pio && at < 56; at += 8)
      CHECK(c.block(at) == c.get<uint64_t>(work + at));
    c.put(0, i + 1);  // done
    CHECK(vl_messages_ended(c.channel) == i + 1);
  }
}

TEST_CASE("a short message stands in its work itself") {
  Channel c;
  for (const uint32_t length : {24u, 3u}) {
    memset(vl_message_buffer(c.channel), 0x5a, length);
    uint32_t id;
    REQUIRE(vl_send_message(c.channel, 7, length, 0, &id) == 0);
    for (uint32_t i = 0; i < 24; ++i)
      CHECK(c.get<uint8_t>(c.work(id) + 32 + i) == (i < length ? 0x5a : 0));
  }
}

TEST_CASE("a reduction names its nodes, and its result is an event") {
  Channel c;
  uint8_t nodes[VL_MESSAGE_NODES / 8] = {};
  nodes[0] = 0x11;
  nodes[31] = 0x80;
  REQUIRE(vl_reduce(c.channel, 500, nodes, 8, VL_REDUCE_MOST, 0x1122'3344'5566'7788, 5) == 0);
  const size_t work = c.work(0);
  CHECK(c.get<uint8_t>(work) == 2);
  CHECK(c.get<uint8_t>(work + 1) == 3);
  CHECK(c.get<uint16_t>(work + 2) == 500);
  const auto set = c.get<uint32_t>(work + 8);
  CHECK(set % 32 == 0);
  CHECK(memcmp(c.at(set), nodes, sizeof nodes) == 0);
  CHECK(c.get<uint64_t>(work + 16) == 0x1122'3344'5566'7788);
  CHECK(c.get<uint32_t>(work + 24) == 8);
  CHECK(c.get<uint32_t>(work + 28) == 5);

  c.put_event(0, 2 | 500u << 16, 0, ~0u, 77, 8);
  vl_message message;
  REQUIRE(vl_poll_message(c.channel, &message) == 1);
  CHECK(message.kind == VL_MESSAGE_REDUCED);
  CHECK(message.status == VL_MESSAGE_OK);
  CHECK(message.source == 500);
  CHECK(message.value == 77);
  CHECK(message.id == 8);
}

TEST_CASE("as much work as a message channel was made for is under way, and no more") {
  Channel c;
  REQUIRE(vl_send_message(c.channel, 1, 0, 0, nullptr) == 0);
  REQUIRE(vl_send_message(c.channel, 1, 0, 0, nullptr) == 0);
  CHECK(vl_message_buffer(c.channel) == nullptr);
  CHECK(errno == EAGAIN);
  CHECK(vl_send_message(c.channel, 1, 0, 0, nullptr) == -1);
  CHECK(errno == EAGAIN);
  CHECK(strstr(vl_error_text(), "under way") != nullptr);
  CHECK(c.block_bell() == Channel::rung(0, 2));
  c.put(0, 1u);
  CHECK(vl_send_message(c.channel, 1, 0, 0, nullptr) == 0);
  CHECK(vl_send_message(c.channel, 1, 0, 0, nullptr) == -1);
}

TEST_CASE("messages are taken in turn, and their places given back when they are released") {
  Channel c;
  vl_message message;
  CHECK(vl_poll_message(c.channel, &message) == 0);
  memcpy(c.at(c.event(0)), "short", 5);
  c.put_event(0, 1 | 9u << 16, 5, ~0u, 0, 40);
  const size_t slot = c.request().slots + 3 * size_t{c.request().slot_bytes};
  memcpy(c.at(slot), "long", 4);
  c.put_event(1, 1 | 8u << 16, 1000, 3, 0, 41);
  REQUIRE(vl_poll_message(c.channel, &message) == 1);
  CHECK(message.kind == VL_MESSAGE_RECEIVED);
  CHECK(message.source == 9);
  CHECK(message.length == 5);
  CHECK(message.id == 40);
  CHECK(memcmp(message.data, "short", 5) == 0);
  REQUIRE(vl_poll_message(c.channel, &message) == 1);
  CHECK(message.source == 8);
  CHECK(message.length == 1000);
  CHECK(message.data == c.at(slot));
  CHECK(vl_poll_message(c.channel, &message) == 0);
  CHECK(c.bell() == FakeFabric::kIdle);
  CHECK(vl_release_messages(c.channel, 3) == -1);
  CHECK(errno == EINVAL);
  CHECK(vl_release_messages(c.channel, 0) == 0);
  CHECK(c.bell() == FakeFabric::kIdle);
  CHECK(vl_release_messages(c.channel, 2) == 0);
  CHECK(c.bell() == Channel::rung(2, 0));
}

TEST_CASE("an event that names no place of the channel has no data") {
  Channel c;
  vl_message message;
  c.put_event(0, 1, 8, 4, 0, 0);     // four slots there are
  c.put_event(1, 1, 1001, 0, 0, 0);  // longer than one
  c.put_event(2, 1, 25, ~0u, 0, 0);  // longer than an event holds
  c.put_event(3, 1, ~0u, ~0u, 0, 0);
  for (int i = 0; i < 4; ++i) {
    REQUIRE(vl_poll_message(c.channel, &message) == 1);
    CHECK(message.data == nullptr);
    CHECK(message.length == 0);
  }
}

TEST_CASE("firmware that was started again gets to know how far the process is") {
  Channel c;
  vl_message message;
  REQUIRE(vl_send_message(c.channel, 1, 0, 0, nullptr) == 0);
  c.put_event(0, 1, 0, ~0u, 0, 0);
  REQUIRE(vl_poll_message(c.channel, &message) == 1);
  REQUIRE(vl_release_messages(c.channel, 1) == 0);
  c.fabric.Step();  // takes the bell
  REQUIRE(vl_poll_message(c.channel, &message) == 0);
  const uint64_t before = c.bell();
  c.put(12, 7u);  // epoch
  REQUIRE(vl_poll_message(c.channel, &message) == 0);
  CHECK(c.bell() == Channel::rung(1, 1));
  CHECK(before == FakeFabric::kIdle);
}

// Of a bell: the process waits until so many events are there.
uint64_t armed(uint32_t taken, uint32_t posted, uint32_t awaited) {
  return Channel::rung(0x80000000 | awaited % 0x8000 << 16 | taken % 0x10000, posted);
}

bool readable(const Channel& c) {
  pollfd look = {vl_message_fd(c.channel), POLLIN, 0};
  return poll(&look, 1, 0) == 1;
}

TEST_CASE("who arms says what event it waits for, in each bell until it has come") {
  Channel c;
  CHECK(vl_arm_messages(c.channel) == 0);
  CHECK(c.bell() == armed(0, 0, 1));
  REQUIRE(vl_message_buffer(c.channel) != nullptr);
  REQUIRE(vl_send_message(c.channel, 2, 8, 0, nullptr) == 0);
  CHECK(c.block_bell() == armed(0, 1, 1));
  c.put_event(0, 1 | 5 << 16, 8, 0xffffffff, 0, 0);
  CHECK(vl_arm_messages(c.channel) == 1);
  vl_message message;
  REQUIRE(vl_poll_message(c.channel, &message) == 1);
  CHECK(vl_arm_messages(c.channel) == 0);  // also while the message keeps its place
  CHECK(c.bell() == armed(0, 1, 2));
  REQUIRE(vl_release_messages(c.channel, 1) == 0);
  CHECK(c.bell() == armed(1, 1, 2));
}

TEST_CASE("what was waited for is told until firmware has surely heard it, and numbers wrap") {
  Channel c;
  vl_message message;
  REQUIRE(vl_arm_messages(c.channel) == 0);
  for (uint32_t i = 0; i < 70000; ++i) {
    if (i == 40000 || i == 69000) REQUIRE(vl_arm_messages(c.channel) == 0);
    c.put_event(i, 1 | 5 << 16, 8, 0xffffffff, 0, i);
    REQUIRE(vl_poll_message(c.channel, &message) == 1);
    REQUIRE(vl_release_messages(c.channel, 1) == 0);
    const uint32_t awaited = i < 40000 ? 1 : i < 69000 ? 40001 : 69001;
    const bool heard = i + 1 - awaited > 256;
    const uint64_t expected =
        heard ? Channel::rung((i + 1) % 0x10000, 0) : armed(i + 1, 0, awaited);
    if (c.bell() != expected) FAIL("event " << i);
  }
}

TEST_CASE("the file descriptor is readable from what wakes until the next time one arms") {
  Channel c;
  REQUIRE(vl_arm_messages(c.channel) == 0);
  CHECK_FALSE(readable(c));
  c.fabric.TellOfMessage();
  CHECK(readable(c));
  CHECK(vl_arm_messages(c.channel) == 0);  // it was in vain
  CHECK_FALSE(readable(c));
  c.fabric.TellOfMessage();
  c.put_event(0, 1 | 5 << 16, 8, 0xffffffff, 0, 0);
  CHECK(vl_arm_messages(c.channel) == 1);
  CHECK_FALSE(readable(c));
  CHECK(vl_await_message(c.channel, -1) == 1);
}

TEST_CASE("who sleeps for an event gets up in time, or for one, and not for less") {
  Channel c;
  CHECK(vl_await_message(c.channel, 0) == 0);
  const auto before = std::chrono::steady_clock::now();
  c.fabric.TellOfMessage();  // there is none
  CHECK(vl_await_message(c.channel, 30) == 0);
  CHECK(std::chrono::steady_clock::now() - before >= std::chrono::milliseconds(30));
  std::thread firmware([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    c.put_event(0, 1 | 5 << 16, 8, 0xffffffff, 0, 0);
    c.fabric.TellOfMessage();
  });
  CHECK(vl_await_message(c.channel, -1) == 1);
  firmware.join();
  CHECK(vl_arm_messages(nullptr) == -1);
  CHECK(errno == EINVAL);
  CHECK(vl_await_message(nullptr, 0) == -1);
}

TEST_CASE("who waits tells it anew to firmware that was started again") {
  Channel c;
  REQUIRE(vl_arm_messages(c.channel) == 0);
  c.fabric.Step();
  CHECK(c.bell() == FakeFabric::kIdle);
  c.put(12, 2u);  // epoch
  vl_message message;
  REQUIRE(vl_poll_message(c.channel, &message) == 0);
  CHECK(c.bell() == armed(0, 0, 1));
}

TEST_CASE("a message channel that cannot be made says why") {
  FakeFabric fabric(1);
  vl_rnic* rnic = fabric.Open(0);
  const vl_message_channel_attr bad = {0, 70000, 1, 1}, good = {0, 7, 1, 1};
  CHECK(vl_create_message_channel(rnic, &bad) == nullptr);
  CHECK(errno == EINVAL);
  CHECK(std::string(vl_error_text()) == "message_bytes is 70000, not 0 to 65536");
  fabric.FailNextCall(EOPNOTSUPP);
  CHECK(vl_create_message_channel(rnic, &good) == nullptr);
  CHECK(errno == EOPNOTSUPP);
  CHECK(vl_create_message_channel(nullptr, &good) == nullptr);
  CHECK(vl_close_rnic(rnic) == 0);
}

}  // namespace
}  // namespace exrnic
