// SPDX-License-Identifier: BSD-2-Clause
#include <catch2/catch_test_macros.hpp>
#include <random>

#include "Vpbl_cache.h"
#include "rtl-model/blocks/testing/bench.h"
#include "rtl-model/blocks/testing/pbl_host.h"

namespace exrnic::testing {
namespace {

constexpr uint32_t kSeed = 31337;
constexpr int kLines = 512;
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

  void start(uint64_t address) {
    dut().req_valid_i = 1;
    dut().req_address_i = address / kEntry;
    wait_for("req_ready_o", 2 * kLines, [&] { return dut().req_ready_o != 0; });
    cycle();
    dut().req_valid_i = 0;
  }
  void wait_for_answer() {
    wait_for("rsp_valid_o", 2 * kLines, [&] { return dut().rsp_valid_o != 0; });
  }
  uint64_t look_up(uint64_t address) {
    start(address);
    wait_for_answer();
    REQUIRE_FALSE(dut().rsp_error_o);
    return dut().rsp_page_o;
  }
  bool fails(uint64_t address) {
    start(address);
    wait_for_answer();
    return dut().rsp_error_o;
  }

  // The memory changes, and a flush says so, both in this cycle.
  void change_and_flush() {
    ++epoch_;
    dut().flush_i = 1;
    cycle();
    dut().flush_i = 0;
  }
  void flush() {
    const int before = flushes_done_;
    change_and_flush();
    wait_for("flush_done_o", 2 * kLines, [&] { return flushes_done_ > before; });
  }

  uint64_t now(uint64_t address) const { return entry_at(address, epoch_); }
  PblHost<Vpbl_cache>& host() { return host_; }
  int hits() const { return hits_; }
  int misses() const { return misses_; }
  int flushes_done() const { return flushes_done_; }

 private:
  uint64_t epoch_ = 0;
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
        answered |= cache.dut().rsp_valid_o;
        if (cache.dut().rsp_valid_o) REQUIRE(cache.dut().rsp_page_o == old_entry);
        cache.cycle();
      }
      answered |= cache.dut().rsp_valid_o;
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
    for (auto wait = random() % 30; wait > 0 && !cache.dut().rsp_valid_o; --wait) cache.cycle();
    if (!cache.dut().rsp_valid_o && random() % 2) {
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
