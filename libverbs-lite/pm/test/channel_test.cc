// SPDX-License-Identifier: BSD-2-Clause
// Channels on a port that loses, doubles and delays pointer updates, as no RNIC does.
#include "channel.h"

#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <deque>
#include <functional>
#include <random>

namespace exrnic {
namespace {

constexpr uint32_t kPlaces = 4;
constexpr uint32_t kSlot = 64;

// Both ends' memory, and what is on its way.
struct Wire {
  PmEntry entries[kPlaces] = {};
  uint8_t slots[kPlaces * kSlot] = {};
  uint64_t released = 0, reread = 0, own_released = 0;
  std::deque<std::function<void()>> late;
  std::mt19937 random{7};
  bool lossy = false;
  unsigned pushes = 0, pulls = 0;

  void Update(std::function<void()> update) {
    ++pushes;
    const unsigned fate = lossy ? random() % 8 : 7;
    if (fate < 3) return;                   // lost
    if (fate == 3) late.push_back(update);  // comes again, much later
    update();
  }
  void ComeLate() {
    if (late.empty()) return;
    late.front()();
    late.pop_front();
  }
};

struct WirePort : PmPort {
  explicit WirePort(Wire* to) : wire(to) {}
  void PushMessage(uint32_t place, const void* bytes, uint32_t length,
                   const PmEntry& entry) override {
    if (length != 0) memcpy(&wire->slots[place * kSlot], bytes, length);
    wire->Update([this, place, entry] { wire->entries[place] = entry; });
  }
  void PushReleased(uint64_t released) override {
    wire->Update([this, released] { wire->released = released; });
  }
  void PullReleased() override {
    ++wire->pulls;
    wire->reread = wire->own_released;
  }
  Wire* const wire;
};

struct Ends {
  Wire wire;
  WirePort port{&wire};
  PmSender sender{&port, kPlaces, &wire.released, &wire.reread};
  PmReceiver receiver{&port, kPlaces, wire.entries, wire.slots, kSlot, &wire.own_released};
};

// A message of number n: 8 to 63 bytes.
std::vector<uint8_t> Numbered(uint64_t n) {
  std::vector<uint8_t> message(8 + n % 56, static_cast<uint8_t>(n * 3));
  memcpy(message.data(), &n, sizeof(n));
  return message;
}

TEST_CASE(
    "lost, doubled and late updates of either pointer stop no channel, and double no message") {
  Ends ends;
  ends.wire.lossy = true;
  constexpr uint64_t kMessages = 3000;
  uint64_t received = 0;
  auto now = PmClock::now();
  for (uint64_t turns = 0; received < kMessages; ++turns) {
    REQUIRE(turns < 1000 * kMessages);
    now += std::chrono::microseconds(500);
    if (ends.sender.sent() < kMessages && ends.sender.HasPlace()) {
      const auto message = Numbered(ends.sender.sent());
      ends.sender.Send(message.data(), static_cast<uint32_t>(message.size()), 0);
    }
    ends.sender.Remind(now);
    if (turns % 5 == 0) ends.wire.ComeLate();
    const void* bytes = nullptr;
    uint32_t length = 0;
    uint16_t released = 0;
    while (ends.receiver.Take(&bytes, &length, &released)) {
      const auto expected = Numbered(received++);
      REQUIRE(length == expected.size());
      REQUIRE(memcmp(bytes, expected.data(), length) == 0);
      ends.receiver.Release();
    }
  }
  CHECK(ends.wire.pulls > 0);
}

TEST_CASE("a sender with all places taken hears of the last release by reading it") {
  Ends ends;
  const auto message = Numbered(1);
  for (uint32_t i = 0; i < kPlaces; ++i) {
    REQUIRE(ends.sender.HasPlace());
    ends.sender.Send(message.data(), static_cast<uint32_t>(message.size()), 0);
  }
  CHECK(!ends.sender.HasPlace());
  const void* bytes = nullptr;
  uint32_t length = 0;
  uint16_t released = 0;
  for (uint32_t i = 0; i < kPlaces; ++i) {
    REQUIRE(ends.receiver.Take(&bytes, &length, &released));
    ends.receiver.Release();
  }
  ends.wire.released = 0;  // all were lost
  CHECK(!ends.sender.HasPlace());
  auto now = PmClock::now();
  ends.sender.Remind(now);
  CHECK(ends.sender.Remind(now + std::chrono::milliseconds(10)));
  CHECK(ends.sender.HasPlace());
}

TEST_CASE("PUSHes go back to back: nothing is read between them, and nothing awaited") {
  Ends ends;
  const auto message = Numbered(50);
  for (uint32_t i = 0; i < kPlaces; ++i)
    ends.sender.Send(message.data(), static_cast<uint32_t>(message.size()), 0);
  CHECK(ends.wire.pushes == kPlaces);
  CHECK(ends.wire.pulls == 0);
}

TEST_CASE("a peer that says it has released what was never sent gets no place for it") {
  Ends ends;
  const auto message = Numbered(1);
  for (uint32_t i = 0; i < kPlaces; ++i)
    ends.sender.Send(message.data(), static_cast<uint32_t>(message.size()), 0);
  ends.wire.released = 1000;
  CHECK(!ends.sender.HasPlace());
}

TEST_CASE("a length that cannot be is told as such, and reaches beyond no slot") {
  for (const uint16_t said : {kSlot + 1, 0xffffu}) {
    Ends ends;
    ends.wire.entries[0] = {1, said, 0, {1}};
    const void* bytes = nullptr;
    uint32_t length = 0;
    uint16_t released = 0;
    REQUIRE(ends.receiver.Take(&bytes, &length, &released));
    CHECK(length == UINT32_MAX);
  }
}

TEST_CASE("a message that was not released is not written over unseen") {
  Ends ends;
  const void* bytes = nullptr;
  uint32_t length = 0;
  uint16_t released = 0;
  for (uint32_t n = 1; n <= kPlaces + 1; ++n) {
    PmEntry entry = {n, 0, 0, {}};
    memcpy(entry.bytes, &n, sizeof(n));
    ends.wire.entries[(n - 1) % kPlaces] = entry;
    REQUIRE(ends.receiver.Take(&bytes, &length, &released));
    CHECK(length == (n <= kPlaces ? 0 : UINT32_MAX));
  }
}

TEST_CASE("an entry of which one end has arrived is none yet, whatever its message's length") {
  for (uint32_t size = 0; size <= kPmShort + 1; ++size) {
    Ends ends;
    const std::vector<uint8_t> message(size, 9);
    ends.sender.Send(message.data(), size, 0);
    const uint32_t written = PmEntryBytes(ends.wire.entries[0]);
    CHECK(written <= sizeof(PmEntry));
    const void* bytes = nullptr;
    uint32_t length = 0;
    uint16_t released = 0;
    PmEntry whole = ends.wire.entries[0];
    memset(reinterpret_cast<uint8_t*>(&ends.wire.entries[0]) + written - 4, 0, 4);
    CHECK(!ends.receiver.Take(&bytes, &length, &released));
    ends.wire.entries[0] = whole;
    REQUIRE(ends.receiver.Take(&bytes, &length, &released));
    CHECK(length == size);
    CHECK(memcmp(bytes, message.data(), size) == 0);
  }
}

TEST_CASE("messages of the other direction tell what was released, whatever becomes of updates") {
  Ends there, back;  // two directions of one channel
  const void* bytes = nullptr;
  uint32_t length = 0;
  uint16_t released = 0;
  for (uint32_t round = 0; round < 70000; ++round) {  // beyond 2^16
    there.wire.released = back.wire.released = 0;     // lost
    REQUIRE(there.sender.HasPlace());
    there.sender.Send(&round, sizeof(round), back.receiver.Tell());
    REQUIRE(there.receiver.Take(&bytes, &length, &released));
    there.receiver.Release();
    back.sender.Hear(released);
    REQUIRE(back.sender.HasPlace());
    back.sender.Send(&round, sizeof(round), there.receiver.Tell());
    REQUIRE(back.receiver.Take(&bytes, &length, &released));
    back.receiver.Release();
    there.sender.Hear(released);
  }
  for (uint32_t n = 0; there.sender.HasPlace(); ++n) there.sender.Send(&n, sizeof(n), 0);
  there.sender.Hear(static_cast<uint16_t>(released - 1));            // late
  there.sender.Hear(static_cast<uint16_t>(released + kPlaces + 1));  // of what was never sent
  CHECK(!there.sender.HasPlace());
}

}  // namespace
}  // namespace exrnic
