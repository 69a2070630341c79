// SPDX-License-Identifier: BSD-2-Clause
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <random>
#include <utility>

#include "Vpbl_cache.h"
#include "rtl-model/testing/bench.h"
#include "rtl-model/testing/pbl_host.h"

namespace exrnic::testing {
namespace {

constexpr uint32_t kSeed = 31337;
constexpr int kLines = 512;
constexpr unsigned kClients = 3;
constexpr uint64_t kLine = EXRNIC_PBL_LINE_SIZE;
constexpr uint64_t kEntry = EXRNIC_PBL_ENTRY_SIZE;
constexpr uint64_t kPage = 4096;

class PblCache : public Bench<Vpbl_cache> {
 public:
  explicit PblCache(uint32_t seed = kSeed)
      : host_(dut(), seed, [this](uint64_t address) { return entry_at(address, epoch_); }) {
    dut().req_valid_i = 0;
    dut().flush_i = 0;
    reset();
    wait_for("init_done_o", kLines + 2, [&] { return dut().init_done_o != 0; });
  }

  void cycle() override {
    host_.drive();
    settle();
    host_.sample();
    hits_ += dut().hit_o;
    misses_ += dut().miss_o;
    tick();
    settle();
    flushes_done_ += dut().flush_done_o;
  }

  // Presents a look-up and waits until it is taken.
  void start(uint64_t address, unsigned client = 0, bool again = false) {
    dut().req_valid_i = 1;
    dut().req_client_i = client;
    dut().req_again_i = again;
    dut().req_address_i = address / kEntry;
    pack(dut().req_owner_i, owner);
    wait_for("req_ready_o", 2 * kLines, [&] { return dut().req_ready_o != 0; });
    cycle();
    dut().req_valid_i = 0;
    address_[client] = address;
    missed_ = false;
  }
  bool waits(unsigned client) { return dut().waiting_o >> client & 1; }
  bool answered() { return dut().rsp_valid_o && !dut().rsp_missed_o; }
  // A cycle, in which the client whose look-up missed comes again if its line is there.
  void step(unsigned client = 0) {
    if (missed_ && !waits(client)) {
      dut().req_valid_i = dut().req_again_i = 1;
      dut().req_client_i = client;
      dut().req_address_i = address_[client] / kEntry;
    }
    settle();
    const bool taken = dut().req_valid_i && dut().req_ready_o;
    cycle();
    if (taken) dut().req_valid_i = 0;
    missed_ = (missed_ && !taken) || (dut().rsp_valid_o && dut().rsp_missed_o);
  }
  void wait_for_answer(unsigned client = 0) {
    for (int i = 0; !answered(); ++i) {
      REQUIRE(i < 4 * kLines);  // waited in vain
      step(client);
    }
  }
  uint64_t look_up(uint64_t address, unsigned client = 0) {
    start(address, client);
    wait_for_answer(client);
    REQUIRE_FALSE(dut().rsp_error_o);
    return dut().rsp_page_o;
  }
  bool fails(uint64_t address) {
    start(address);
    wait_for_answer();
    return dut().rsp_error_o;
  }
  // A look-up that misses, and leaves.
  void miss(uint64_t address, unsigned client) {
    start(address, client);
    wait_for("rsp_valid_o", 2 * kLines, [&] { return dut().rsp_valid_o != 0; });
    REQUIRE(dut().rsp_missed_o);
  }
  // What it gets when it comes again.
  uint64_t come_again(unsigned client) {
    wait_for("the line", 2 * kLines, [&] { return !waits(client); });
    start(address_[client], client, true);
    wait_for_answer(client);
    REQUIRE_FALSE(dut().rsp_error_o);
    return dut().rsp_page_o;
  }

  // The memory changes, and a flush says so, both in this cycle.
  void change_and_flush() {
    ++epoch_;
    dut().flush_i = 1;
    step();
    dut().flush_i = 0;
  }
  void flush() {
    const int before = flushes_done_;
    change_and_flush();
    wait_for("flush_done_o", 2 * kLines, [&] { return flushes_done_ > before; });
  }

  PblOwner owner;              // of the list in hand
  void change() { ++epoch_; }  // the memory, and nobody says so

  uint64_t now(uint64_t address) const { return entry_at(address, epoch_); }
  PblHost<Vpbl_cache>& host() { return host_; }
  int hits() const { return hits_; }
  int misses() const { return misses_; }
  int flushes_done() const { return flushes_done_; }

 private:
  uint64_t epoch_ = 0;
  std::array<uint64_t, kClients> address_{};  // of each client's look-up
  bool missed_ = false;                       // the look-up of the client in hand
  PblHost<Vpbl_cache> host_;
  int hits_ = 0;
  int misses_ = 0;
  int flushes_done_ = 0;
};

TEST_CASE("The first look-up of a line reads its 64 bytes; its other entries are hits") {
  PblCache cache;
  CHECK(cache.look_up(0x10018) == cache.now(0x10018));
  for (uint64_t address = 0x10000; address < 0x10040; address += kEntry)
    CHECK(cache.look_up(address) == cache.now(address));
  CHECK(cache.host().reads() == std::vector<uint64_t>{0x10000});
  CHECK(cache.misses() == 1);
  CHECK(cache.hits() == 8);
}

TEST_CASE("A hit is answered two cycles after it is taken") {
  PblCache cache;
  cache.look_up(0x10018);
  cache.start(0x10018);
  CHECK_FALSE(cache.dut().rsp_valid_o);
  cache.cycle();
  CHECK(cache.dut().rsp_valid_o);
  cache.cycle();
  CHECK_FALSE(cache.dut().rsp_valid_o);
}

TEST_CASE("While one client's line comes, the others are answered, from the cache or by misses") {
  PblCache cache;
  cache.look_up(0x20000);
  cache.host().hold(0x10000);
  cache.miss(0x10018, 0);
  CHECK(cache.look_up(0x20008, 1) == cache.now(0x20008));
  CHECK(cache.look_up(0x30008, 2) == cache.now(0x30008));
  CHECK(cache.waits(0));
  CHECK_FALSE(cache.dut().idle_o);
  cache.host().release(0x10000);
  CHECK(cache.come_again(0) == cache.now(0x10018));
  CHECK(cache.misses() == 3);
}

TEST_CASE("Lines of all clients are on their way at once, and come in any order") {
  PblCache cache;
  const std::array<uint64_t, kClients> lines = {0x10000, 0x20000, 0x10000};  // two want the same
  for (const uint64_t line : lines) cache.host().hold(line);
  for (unsigned client = 0; client < kClients; ++client) cache.miss(lines[client] + 8, client);
  cache.wait_for("the reads", 100, [&] { return cache.host().in_flight() == kClients; });
  cache.host().release(0x20000);
  CHECK(cache.come_again(1) == cache.now(0x20008));
  CHECK(cache.waits(0));
  CHECK(cache.waits(2));
  cache.host().release(0x10000);
  CHECK(cache.come_again(2) == cache.now(0x10008));
  CHECK(cache.come_again(0) == cache.now(0x10008));
}

TEST_CASE("A line is there for the client that waited, although another displaced it since") {
  PblCache cache;
  const uint64_t one = 0x10000;
  const uint64_t other = one ^ (kLine | kLine << 9);
  cache.miss(one, 0);
  cache.wait_for("the line", 200, [&] { return !cache.waits(0); });
  CHECK(cache.look_up(other, 1) == cache.now(other));
  const std::size_t reads = cache.host().reads().size();
  CHECK(cache.come_again(0) == cache.now(one));
  CHECK(cache.host().reads().size() == reads);
}

TEST_CASE("What was read for another owner of a list does not count, come or on its way") {
  PblCache cache;
  PblOwner& owner = cache.owner;
  owner.index = 5;
  const PblOwner before = owner;
  SECTION("another life of the region") { owner.life = 1; }
  SECTION("another region") { owner.index = 6; }
  SECTION("a ring") { owner = {true, 0, 0}; }
  const PblOwner behind = std::exchange(owner, before);
  cache.look_up(0x10000);
  cache.change();
  owner = behind;
  CHECK(cache.look_up(0x10000) == cache.now(0x10000));
  CHECK(cache.look_up(0x10008) == cache.now(0x10008));  // that is a hit
  CHECK(cache.misses() == 2);
  owner = before;
  cache.miss(0x20000, 0);
  cache.wait_for("the line", 200, [&] { return !cache.waits(0); });
  cache.change();
  owner = behind;
  CHECK(cache.come_again(0) == cache.now(0x20000));
}

TEST_CASE("What a client left behind does not answer its next look-up") {
  PblCache cache;
  cache.host().refuse(0x10000);
  cache.miss(0x10000, 0);  // and does not come again: its STag was refused meanwhile
  cache.wait_for("the line", 200, [&] { return !cache.waits(0); });
  cache.host().allow(0x10000);
  CHECK(cache.look_up(0x10000, 0) == cache.now(0x10000));
  CHECK(cache.misses() == 2);
}

TEST_CASE("A flush makes lines on their way, and those that have come, worthless") {
  PblCache cache;
  cache.host().hold(0x20000);
  cache.miss(0x10000, 0);
  cache.wait_for("the line", 200, [&] { return !cache.waits(0); });
  cache.miss(0x20000, 1);
  cache.wait_for("the read", 200, [&] { return cache.host().in_flight() == 1; });
  cache.flush();
  cache.host().release(0x20000);
  CHECK(cache.come_again(0) == cache.now(0x10000));
  CHECK(cache.come_again(1) == cache.now(0x20000));
  CHECK(cache.host().reads().size() == 4);
}

TEST_CASE("Lines of one place displace each other, and never answer for one another") {
  PblCache cache;
  // The place is the line number, folded every 9 bits: bits 0 and 9 of it cancel.
  const uint64_t one = 0x10000;
  const uint64_t other = one ^ (kLine | kLine << 9);
  for (int i = 0; i < 3; ++i) {
    CHECK(cache.look_up(one) == cache.now(one));
    CHECK(cache.look_up(other) == cache.now(other));
  }
  CHECK(cache.misses() == 6);
  CHECK(cache.hits() == 0);
}

TEST_CASE("Lists that start on pages do not displace each other") {
  PblCache cache;
  for (int round = 0; round < 2; ++round)
    for (uint64_t i = 0; i < 512; ++i) {
      const uint64_t address = 0x7'0000'0000 + i * kPage;
      REQUIRE(cache.look_up(address) == cache.now(address));
    }
  CHECK(cache.misses() == 512);
  CHECK(cache.hits() == 512);
}

TEST_CASE("Lines at both ends of the address space are cached like others") {
  PblCache cache;
  const uint64_t top = ~uint64_t{0} - kEntry + 1;
  for (uint64_t address : {uint64_t{0}, top, uint64_t{0}, top})
    CHECK(cache.look_up(address) == cache.now(address));
  CHECK(cache.misses() == 2);
}

TEST_CASE("A line that the host refuses is an error, and is read again next time") {
  PblCache cache;
  for (unsigned good_bytes : {0u, 5u, 63u}) {
    const uint64_t line = 0x20000 + good_bytes * kLine;
    cache.host().refuse(line, good_bytes);
    CHECK(cache.fails(line));
    CHECK(cache.fails(line));
    cache.host().allow(line);
    CHECK(cache.look_up(line) == cache.now(line));
  }
  CHECK(cache.misses() == 9);
}

TEST_CASE("A refused line leaves the line in its place alone") {
  PblCache cache;
  const uint64_t kept = 0x10000;
  const uint64_t refused = kept ^ (kLine | kLine << 9);
  cache.look_up(kept);
  cache.host().refuse(refused);
  CHECK(cache.fails(refused));
  CHECK(cache.look_up(kept) == cache.now(kept));
  CHECK(cache.hits() == 1);
}

TEST_CASE("A flush forgets every line, however often it is done") {
  PblCache cache;
  const int kFlushes = 600;  // generations are used up more than twice
  for (int i = 1; i <= kFlushes; ++i) {
    const uint64_t address = 0x10000 + static_cast<uint64_t>(i % 3) * kLine;
    REQUIRE(cache.look_up(address) == cache.now(address));
    REQUIRE(cache.look_up(address) == cache.now(address));
    REQUIRE(cache.misses() == i);
    cache.flush();
  }
  CHECK(cache.flushes_done() == kFlushes);
}

TEST_CASE("An idle cache flushes in one cycle") {
  PblCache cache;
  cache.change_and_flush();
  CHECK(cache.flushes_done() == 1);
  CHECK(cache.dut().idle_o);
}

TEST_CASE("A flush at any moment of a look-up keeps stale data from answer and cache") {
  constexpr int kDelay = 6;
  for (bool cached : {false, true}) {
    for (int moment = 0; moment < 40; ++moment) {
      INFO("cached " << cached << ", flush " << moment << " cycles after the start");
      PblCache cache(kSeed + static_cast<uint32_t>(moment));
      cache.host().set_delay(kDelay);
      if (cached) cache.look_up(0x10008);
      const uint64_t old_entry = cache.now(0x10008);
      cache.start(0x10008);
      bool answered = false;
      for (int i = 0; i < moment; ++i) {
        answered |= cache.answered();
        if (cache.answered()) REQUIRE(cache.dut().rsp_page_o == old_entry);
        cache.step();
      }
      answered |= cache.answered();
      cache.change_and_flush();
      if (!answered) {
        cache.wait_for_answer();
        CHECK(cache.dut().rsp_page_o == cache.now(0x10008));
      }
      CHECK(cache.look_up(0x10008) == cache.now(0x10008));
      CHECK(cache.flushes_done() == 1);
    }
  }
}

TEST_CASE("Random look-ups, flushes and refusals never see what memory held before a flush") {
  INFO("seed " << kSeed);
  std::mt19937 random(kSeed);
  PblCache cache;
  int flushes = 0;
  int lookups = 0;
  for (int step = 0; step < 20000; ++step) {
    const uint64_t tag = random() % 4;
    const uint64_t line = (random() % 8 * kLine) ^ (tag * (kLine | kLine << 9));
    const uint64_t address = line + random() % 8 * kEntry;
    const bool refused = random() % 10 == 0;
    if (refused) cache.host().refuse(line, random() % kLine);
    const int misses = cache.misses();
    cache.start(address);
    for (auto wait = random() % 30; wait > 0 && !cache.answered(); --wait) cache.step();
    if (!cache.answered() && random() % 2) {
      cache.change_and_flush();
      ++flushes;
    }
    cache.wait_for_answer();
    if (!refused || cache.misses() == misses) REQUIRE_FALSE(cache.dut().rsp_error_o);
    if (refused && cache.misses() != misses) REQUIRE(cache.dut().rsp_error_o);
    if (!cache.dut().rsp_error_o) REQUIRE(cache.dut().rsp_page_o == cache.now(address));
    cache.host().allow(line);
    ++lookups;
    if (random() % 20 == 0) {
      cache.flush();
      ++flushes;
    }
  }
  CHECK(cache.flushes_done() == flushes);
  CHECK(cache.hits() > lookups / 20);
  CHECK(flushes > lookups / 20);
}

}  // namespace
}  // namespace exrnic::testing
