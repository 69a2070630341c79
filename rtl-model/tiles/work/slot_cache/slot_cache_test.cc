// SPDX-License-Identifier: BSD-2-Clause
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "Vslot_cache.h"
#include "rtl-model/testing/bench.h"
#include "rtl-model/testing/neighbours.h"

namespace exrnic::testing {
namespace {

constexpr int kLimit = 2000;  // cycles for anything here
constexpr unsigned kBlock = 8;
constexpr unsigned kBlocks = 32;
constexpr unsigned kSlotWords = 4;
constexpr uint64_t kFrames = 0x7000000000;

uint64_t ring_of(unsigned number) { return 0x100000 * uint64_t{number + 1}; }

// The cache with translation and host memory. A word of a slot says which one it is: ring, slot,
// word.
class SlotCache : public Bench<Vslot_cache> {
 public:
  explicit SlotCache(uint32_t seed = 1) : xlate_(dut(), seed), random_(seed) {
    xlate_.answer = [this](const XlateReq& request) {
      if (unreadable.count(request.pbl_address)) return XlateRsp{kXlateMemory, 0, 0};
      return XlateRsp{kXlateOk, kFrames + request.pbl_address + request.to, request.length};
    };
    dut().quiesce_i = dut().clear_i = dut().wish_valid_i = dut().in_use_i = 0;
    dut().ahead_i = dut().want_i = dut().taken_i = 0;
    reset();
  }

  std::set<uint64_t> bad;         // addresses of slots that the host refuses to read
  std::set<uint64_t> unreadable;  // rings likewise
  std::vector<DmaReadReq> reads;
  bool answers = true;

  void cycle() override {
    xlate_.drive();
    drive_beat();
    dut().read_ready_i = random_() % 2;
    settle();
    xlate_.sample();
    if (dut().read_valid_o && dut().read_ready_i) {
      reads.push_back(unpack<DmaReadReq>(dut().read_req_o));
      const DmaReadReq& read = reads.back();
      for (uint32_t at = 0; at < read.length; at += kDataBytes)
        beats_.push_back({read.address + at, static_cast<uint32_t>(read.dst + at)});
      std::shuffle(beats_.begin(), beats_.end(), random_);
    }
    tick();
    dut().ahead_i = dut().taken_i = dut().clear_i = 0;
    settle();
  }
  void run(int cycles) {
    while (cycles-- > 0) cycle();
  }
  void rest() {
    wait_for("idle_o", kLimit, [&] { return dut().idle_o != 0; });
  }

  static SlotRing ring(unsigned number, uint16_t consumer, uint16_t producer, uint8_t log = 6) {
    return {{false, static_cast<uint16_t>(number)}, ring_of(number), log, consumer, producer};
  }
  void wish(const SlotRing& ring) {
    pack(dut().wish_i, ring);
    dut().wish_valid_i = 1;
    wait_for("wish_ready_o", kLimit, [&] { return dut().wish_ready_o != 0; });
    cycle();
    dut().wish_valid_i = 0;
  }
  void use(const SlotRing& ring) {
    used_ = ring;
    pack(dut().ring_i, ring);
    dut().in_use_i = 1;
  }
  void leave() { dut().in_use_i = dut().want_i = 0; }
  // Waits for so many slots; returns how many can be read.
  unsigned want(uint16_t at, unsigned slots) {
    dut().at_i = at;
    dut().slots_i = static_cast<uint8_t>(slots);
    dut().want_i = 1;
    settle();
    wait_for("there_o", kLimit, [&] { return dut().there_o != 0; });
    const unsigned readable = dut().readable_o;
    cycle();
    dut().want_i = 0;
    cycle();
    return readable;
  }
  void take(uint16_t next) {
    dut().next_i = next;
    dut().taken_i = 1;
    cycle();
    used_.consumer = next;
    pack(dut().ring_i, used_);
  }
  // The consumer goes on, slot by slot, until nobody can be that much out of date.
  void take_far() {
    for (unsigned i = 0; i < 2 * kBlocks * kBlock; ++i) take(used_.consumer + 1);
  }
  void check_slot(uint16_t slot) {
    for (unsigned word = 0; word < kSlotWords; ++word) {
      dut().word_slot_i = slot;
      dut().word_i = static_cast<uint8_t>(word);
      cycle();
      const uint64_t place = slot & ((1u << used_.log_slots) - 1);
      CHECK((uint64_t{dut().word_o[1]} << 32 | dut().word_o[0]) ==
            used_.pbl + place * sizeof(exrnic_wqe) + word * 16 + kFrames);
    }
  }

 private:
  void drive_beat() {
    dut().read_beat_valid_i = 0;
    if (!answers || beats_.empty() || random_() % 4 == 0) return;
    DmaReadBeat beat;
    beat.dst = beats_.front().dst;
    beat.bytes = kDataBytes;
    const uint64_t address = beats_.front().address;
    beat.error = bad.count(address / sizeof(exrnic_wqe) * sizeof(exrnic_wqe)) != 0;
    for (unsigned i = 0; i < kDataBytes; i += 16) {
      const uint64_t name = address + i;
      std::memcpy(beat.data.data() + i, &name, sizeof name);
    }
    pack(dut().read_beat_i, beat);
    dut().read_beat_valid_i = 1;
    beats_.pop_front();
  }

  struct Beat {
    uint64_t address;
    uint32_t dst;
  };
  XlateModel<Vslot_cache> xlate_;
  std::mt19937 random_;
  std::deque<Beat> beats_;
  SlotRing used_;
};

TEST_CASE("What is wanted is read, with all that is posted in its block") {
  SlotCache cache;
  cache.use(SlotCache::ring(3, 5, 20));
  CHECK(cache.want(5, 1) == 3);
  REQUIRE(cache.reads.size() == 1);
  CHECK(cache.reads[0].address == kFrames + ring_of(3) + 5 * sizeof(exrnic_wqe));
  CHECK(cache.reads[0].length == 3 * sizeof(exrnic_wqe));
  CHECK(cache.want(5, 5) == 5);  // across two blocks
  CHECK(cache.reads.size() == 2);
  for (uint16_t slot = 5; slot < 16; ++slot) cache.check_slot(slot);
}

TEST_CASE("Nothing is read that is not posted") {
  SlotCache cache;
  cache.use(SlotCache::ring(0, 6, 7));
  CHECK(cache.want(6, 1) == 1);
  cache.dut().ahead_from_i = 6;
  cache.dut().ahead_i = 1;
  cache.cycle();
  cache.rest();
  CHECK(cache.reads.size() == 1);
  cache.use(SlotCache::ring(0, 6, 9));  // two more
  CHECK(cache.want(6, 3) == 3);
  CHECK(cache.reads.size() == 3);
  uint32_t bytes = 0;
  for (const DmaReadReq& read : cache.reads) bytes += read.length;
  CHECK(bytes == 3 * sizeof(exrnic_wqe));
}

TEST_CASE("Many blocks are under way at once") {
  SlotCache cache;
  cache.answers = false;
  for (unsigned number = 0; number < 8; ++number) cache.wish(SlotCache::ring(number, 0, 32));
  cache.run(1000);
  CHECK(cache.reads.size() == kBlocks);
  CHECK(cache.dut().waits_o);
  CHECK_FALSE(cache.dut().quiescent_o);
  cache.answers = true;
  cache.rest();
  for (unsigned number = 0; number < 8; ++number) {
    cache.use(SlotCache::ring(number, 0, 32));
    CHECK(cache.want(0, 1) == EXRNIC_WQE_SLOTS_MAX);
    for (uint16_t slot = 0; slot < 32; ++slot) cache.check_slot(slot);
  }
  CHECK(cache.reads.size() == kBlocks);
}

TEST_CASE("Indices go around the end of a ring, and around 16 bits") {
  SlotCache cache;
  const auto consumer = GENERATE(uint16_t{5}, uint16_t{60}, uint16_t{0xfffa});
  cache.use(SlotCache::ring(1, consumer, static_cast<uint16_t>(consumer + 9), 3));
  for (uint16_t i = 0; i < 9; ++i) {
    const auto slot = static_cast<uint16_t>(consumer + i);
    CHECK(cache.want(slot, 1) != 0);
    cache.check_slot(slot);
    cache.take(static_cast<uint16_t>(slot + 1));
  }
}

TEST_CASE("A slot that cannot be read is asked for again, and ends what is there") {
  SlotCache cache;
  cache.bad.insert(kFrames + ring_of(2) + 2 * sizeof(exrnic_wqe));
  cache.wish(SlotCache::ring(2, 0, 8));
  cache.rest();
  cache.use(SlotCache::ring(2, 0, 8));
  CHECK(cache.want(0, 1) == 2);
  CHECK(cache.reads.size() == 1);
  SECTION("in vain") { CHECK(cache.want(0, 3) == 2); }
  SECTION("it can be read now") {
    cache.bad.clear();
    CHECK(cache.want(0, 3) == EXRNIC_WQE_SLOTS_MAX);
    cache.check_slot(2);
  }
  CHECK(cache.reads.size() == 2);
}

TEST_CASE("A slot that could not be read is not read ahead again") {
  SlotCache cache;
  cache.bad.insert(kFrames + ring_of(2) + 2 * sizeof(exrnic_wqe));
  for (int i = 0; i < 3; ++i) {
    cache.wish(SlotCache::ring(2, 0, 8));
    cache.rest();
  }
  CHECK(cache.reads.size() == 1);
}

TEST_CASE("A ring that cannot be translated has nothing to read") {
  SlotCache cache;
  cache.unreadable.insert(ring_of(2));
  cache.wish(SlotCache::ring(2, 0, 8));
  cache.rest();
  cache.use(SlotCache::ring(2, 0, 8));
  CHECK(cache.want(0, 1) == 0);
  CHECK(cache.reads.empty());
  cache.unreadable.clear();
  CHECK(cache.want(0, 1) == EXRNIC_WQE_SLOTS_MAX);
}

TEST_CASE("What was taken is read anew a round of 16 bits later") {
  SlotCache cache;
  cache.use(SlotCache::ring(4, 0, 8));
  CHECK(cache.want(0, 1) != 0);
  cache.take_far();
  cache.rest();
  const std::size_t reads = cache.reads.size();
  cache.use(SlotCache::ring(4, 0, 4));
  CHECK(cache.want(0, 1) != 0);
  CHECK(cache.reads.size() == reads + 1);
  CHECK(cache.dut().readable_o <= 4);
}

TEST_CASE("A wish that is out of date reads nothing again that was taken") {
  SlotCache cache;
  cache.use(SlotCache::ring(4, 0, 24));
  CHECK(cache.want(0, 1) != 0);
  cache.take(8);
  cache.rest();
  const std::size_t reads = cache.reads.size();
  CHECK(reads == 3);
  cache.wish(SlotCache::ring(4, 0, 24));
  cache.rest();
  CHECK(cache.reads.size() == reads);
}

TEST_CASE("A wish from before the last doorbells, however many those were, reads nothing") {
  const uint16_t behind = GENERATE(as<uint16_t>{}, 1, 100, 20'000, 0x8000);
  SlotCache cache;
  cache.wish(SlotCache::ring(4, behind, 0));
  cache.rest();
  CHECK(cache.reads.empty());
}

TEST_CASE("After a reset nothing is wished for") {
  SlotCache cache;
  cache.wish(SlotCache::ring(4, 0, 24));
  cache.reset();
  CHECK(cache.dut().idle_o);
  CHECK(cache.dut().wish_ready_o);
  cache.run(100);
  CHECK(cache.reads.empty());
}

TEST_CASE("The places of what was taken are free for what is wished for") {
  SlotCache cache;
  for (uint16_t at = 0; at < kBlocks * kBlock; at += kBlock) {
    cache.use(SlotCache::ring(4, at, at + kBlock));
    CHECK(cache.want(at, 1) != 0);
    cache.take(at + kBlock);
    cache.leave();
    cache.rest();
  }
  const std::size_t reads = cache.reads.size();
  for (unsigned number = 0; number < kBlocks / 4; ++number) {
    cache.wish(SlotCache::ring(10 + number, 0, 4 * kBlock));
    cache.rest();
  }
  CHECK(cache.reads.size() == reads + kBlocks);
}

TEST_CASE("What was taken and is used again keeps its place") {
  SlotCache cache;
  cache.use(SlotCache::ring(4, 0, kBlock));
  CHECK(cache.want(0, 1) != 0);
  cache.take(kBlock);
  cache.use(SlotCache::ring(4, 0, kBlock));  // back, as after a message that found no receive
  CHECK(cache.want(0, 1) != 0);
  const std::size_t reads = cache.reads.size();
  for (unsigned number = 0; number < kBlocks; ++number)
    cache.wish(SlotCache::ring(10 + number, 0, 4 * kBlock));
  cache.run(3000);
  const std::size_t wished = cache.reads.size();
  CHECK(wished == reads + kBlocks - 1);
  CHECK(cache.want(0, 1) != 0);
  CHECK(cache.reads.size() == wished);
  cache.check_slot(0);
}

TEST_CASE("A ring that is cleared has nothing on chip, and others keep what they have") {
  SlotCache cache;
  for (const unsigned number : {1u, 2u}) cache.wish(SlotCache::ring(number, 0, 8));
  cache.rest();
  cache.dut().clear_id_i = 1;
  cache.dut().clear_i = 1;
  cache.cycle();
  CHECK(cache.reads.size() == 2);
  cache.use(SlotCache::ring(2, 0, 8));
  CHECK(cache.want(0, 1) != 0);
  CHECK(cache.reads.size() == 2);
  cache.use(SlotCache::ring(1, 0, 8));
  CHECK(cache.want(0, 1) != 0);
  CHECK(cache.reads.size() == 3);
}

TEST_CASE("The ring in use keeps its slots, whatever is wanted meanwhile") {
  SlotCache cache;
  cache.use(SlotCache::ring(0, 3, 40));
  CHECK(cache.want(3, 5) == 5);
  for (unsigned number = 1; number < 20; ++number) cache.wish(SlotCache::ring(number, 0, 32));
  cache.run(3000);
  const std::size_t reads = cache.reads.size();
  CHECK(cache.want(3, 5) == 5);
  CHECK(cache.reads.size() == reads);
  cache.check_slot(3);
  cache.check_slot(7);
}

TEST_CASE(
    "Of a ring that is wished for three blocks behind that of its consumer are read, and no more") {
  SlotCache cache;
  cache.wish(SlotCache::ring(0, 5, 64));
  cache.rest();
  CHECK(cache.reads.size() == 4);
  cache.wish(SlotCache::ring(0, 8, 64));
  cache.rest();
  CHECK(cache.reads.size() == 5);
}

TEST_CASE("What is wanted takes the place of another block, but not of one that is being read") {
  SlotCache cache;
  for (unsigned number = 10; number < 17; ++number) cache.wish(SlotCache::ring(number, 0, 32));
  cache.rest();
  cache.answers = false;
  cache.wish(SlotCache::ring(17, 0, 32));
  cache.run(200);
  CHECK(cache.reads.size() == kBlocks);
  cache.use(SlotCache::ring(0, 0, 8));
  cache.dut().at_i = 0;
  cache.dut().slots_i = 1;
  cache.dut().want_i = 1;
  cache.run(200);
  REQUIRE(cache.reads.size() == kBlocks + 1);
  cache.answers = true;
  CHECK(cache.want(0, 1) != 0);
  for (uint16_t slot = 0; slot < 8; ++slot) cache.check_slot(slot);
  cache.use(SlotCache::ring(17, 0, 32));
  for (uint16_t slot = 0; slot < 32; ++slot) {
    CHECK(cache.want(slot, 1) != 0);
    cache.check_slot(slot);
  }
  CHECK(cache.reads.size() == kBlocks + 1);
}

TEST_CASE("What is wanted takes no place of the block of the consumer and the two behind it") {
  SlotCache cache;
  cache.use(SlotCache::ring(0, 0, 512, 9));
  for (const uint16_t at : {0, 8, 16}) CHECK(cache.want(at, 1) != 0);
  for (uint16_t at = 24; at < 512; at += kBlock) CHECK(cache.want(at, 1) != 0);
  const std::size_t reads = cache.reads.size();
  for (const uint16_t at : {0, 8, 16}) CHECK(cache.want(at, 1) != 0);
  CHECK(cache.reads.size() == reads);
  for (uint16_t slot = 0; slot < 24; ++slot) cache.check_slot(slot);
  CHECK(cache.want(24, 1) != 0);  // that one had to give way
  CHECK(cache.reads.size() == reads + 1);
}

TEST_CASE("A block that was used since others gave way keeps its place for another round") {
  SlotCache cache;
  for (unsigned number = 10; number < 18; ++number) cache.wish(SlotCache::ring(number, 0, 32));
  cache.rest();
  cache.use(SlotCache::ring(0, 0, 8));
  CHECK(cache.want(0, 1) != 0);  // in place of the last block
  cache.use(SlotCache::ring(17, 16, 24));
  CHECK(cache.want(16, 1) != 0);  // the next one would be this
  CHECK(cache.reads.size() == kBlocks + 1);
  cache.use(SlotCache::ring(1, 0, 8));
  CHECK(cache.want(0, 1) != 0);
  cache.use(SlotCache::ring(17, 16, 24));
  CHECK(cache.want(16, 1) != 0);
  CHECK(cache.reads.size() == kBlocks + 2);
  cache.use(SlotCache::ring(17, 8, 16));
  CHECK(cache.want(8, 1) != 0);
  CHECK(cache.reads.size() == kBlocks + 3);
}

TEST_CASE("With quiesce nothing is read ahead, and wishes are forgotten") {
  SlotCache cache;
  cache.dut().quiesce_i = 1;
  cache.wish(SlotCache::ring(0, 0, 8));
  cache.run(100);
  cache.dut().quiesce_i = 0;
  cache.run(100);
  CHECK(cache.reads.empty());
  CHECK(cache.dut().idle_o);
}

TEST_CASE("What a wish brings back that is out of date is not taken for slots of the next round") {
  SlotCache cache;
  cache.use(SlotCache::ring(1, 0, 8));
  CHECK(cache.want(0, 1) != 0);
  cache.take(8);
  cache.leave();
  cache.wish(SlotCache::ring(1, 0, 8));  // looked at before the turn, taken by the cache behind it
  cache.rest();
  cache.use(SlotCache::ring(1, 8, 9));
  CHECK(cache.want(8, 1) != 0);
  cache.take(9);
  cache.take_far();
  cache.leave();
  cache.rest();
  const std::size_t reads = cache.reads.size();
  cache.use(SlotCache::ring(1, 0, 4));  // 65536 slots later
  CHECK(cache.want(0, 1) != 0);
  CHECK(cache.reads.size() == reads + 1);
  CHECK(cache.dut().readable_o <= 4);
}

// Rings whose slots are posted and taken bit by bit, with wishes that come, are lost or are out of
// date.
TEST_CASE("Each ring gets its slots in order, whatever was wished for") {
  const auto seed = GENERATE(range(1u, 9u));
  CAPTURE(seed);
  std::mt19937 random(seed);
  SlotCache cache(seed);
  struct Ring {
    uint16_t consumer, producer;
    uint8_t log;
  };
  std::vector<Ring> rings;
  for (unsigned i = 0; i < 24; ++i)
    rings.push_back({static_cast<uint16_t>(random()), 0, static_cast<uint8_t>(3 + i % 4)});
  for (Ring& ring : rings) ring.producer = ring.consumer;
  for (int step = 0; step < 2000; ++step) {
    const auto number = static_cast<unsigned>(random() % rings.size());
    Ring& ring = rings[number];
    const unsigned posted = static_cast<uint16_t>(ring.producer - ring.consumer);
    switch (random() % 4) {
      case 0:
        ring.producer += random() % ((1u << ring.log) - posted + 1);
        break;
      case 1:
        cache.wish(SlotCache::ring(number, static_cast<uint16_t>(ring.consumer - random() % 2),
                                   ring.producer, ring.log));
        break;
      default: {
        if (posted == 0) break;
        cache.use(SlotCache::ring(number, ring.consumer, ring.producer, ring.log));
        const auto slots = std::min(1 + static_cast<unsigned>(random() % 5), posted);
        REQUIRE(cache.want(ring.consumer, slots) >= slots);
        for (unsigned i = 0; i < slots; ++i)
          cache.check_slot(static_cast<uint16_t>(ring.consumer + i));
        ring.consumer += slots;
        cache.take(ring.consumer);
        cache.leave();
      }
    }
  }
}

}  // namespace
}  // namespace exrnic::testing
