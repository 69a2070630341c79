// SPDX-License-Identifier: BSD-2-Clause
// Large memory regions: 1 GiB in pages of 4 KiB and of 2 MiB, none of them where its neighbour is.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <random>

#include "tests/support/pair.h"

namespace exrnic::testing {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;
constexpr uint64_t kFrames = 0x40'0000'0000;  // bus addresses of the pages, shuffled
constexpr uint64_t kPbl = 0x20'0000'0000;
constexpr uint64_t kBase = 0x7f00'0012'3456;
constexpr uint32_t kSourceBytes = 64 << 10;

// Registered on the right node. Page i stands at a place that an odd factor gives.
class LargeRegion {
 public:
  LargeRegion(Side& side, uint32_t page_shift, uint64_t length)
      : host_(side.rnic.host()), page_(uint64_t{1} << page_shift) {
    const uint64_t pages = (kBase % page_ + length + page_ - 1) / page_;
    while (places_ < pages) places_ *= 2;
    Bytes entries(pages * EXRNIC_PBL_ENTRY_SIZE);
    for (uint64_t i = 0; i < pages; ++i) {
      const uint64_t frame = frame_of(i);
      std::memcpy(entries.data() + i * sizeof frame, &frame, sizeof frame);
    }
    host_.poke(kPbl, entries);
    host_.grant(kPbl, entries.size() + EXRNIC_PBL_LINE_SIZE, DmaRights::kRead);
    host_.grant(kFrames, places_ * page_, DmaRights::kReadWrite);
    exrnic_mbox_register_mr mr{};
    mr.stag = kSinkStag;
    mr.pd = Side::kPd;
    mr.base = kBase;
    mr.length = length;
    mr.pbl_address = kPbl;
    mr.access = EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_REMOTE_WRITE;
    mr.page_shift = page_shift;
    side.rnic.must(EXRNIC_MBOX_OP_REGISTER_MR, mr);
  }

  Bytes read(uint64_t offset, uint64_t length) const {
    Bytes bytes;
    while (length > 0) {
      const uint64_t at = kBase % page_ + offset;
      const uint64_t part = std::min(length, page_ - at % page_);
      const Bytes piece = host_.peek(frame_of(at / page_) + at % page_, part);
      bytes.insert(bytes.end(), piece.begin(), piece.end());
      offset += part;
      length -= part;
    }
    return bytes;
  }

 private:
  uint64_t frame_of(uint64_t page) const { return kFrames + page * 7919 % places_ * page_; }

  InProcessHost& host_;
  const uint64_t page_;
  uint64_t places_ = 1;  // a power of two
};

class Pushes {
 public:
  Pushes() : source_(source_of(pair.left, kSourceBytes)) {}

  // `length` fresh bytes to an offset in the large region; true if they are there.
  bool arrive(const LargeRegion& region, uint64_t offset, uint32_t length) {
    const Bytes data = random_bytes(random, length);
    pair.left.rnic.write(source_, 0, data);
    pair.left.rnic.post(pair.left.qp, {&source_, 0, length, kSinkStag, kBase + offset, true});
    if (pair.left.wait().status != EXRNIC_CQE_STATUS_SUCCESS) return false;
    return difference(region.read(offset, length), data).empty();
  }
  uint64_t count(exrnic_counter which) { return pair.right.rnic.counter(which); }

  Pair pair;
  std::mt19937_64 random{20261120};

 private:
  Region source_;
};

void check_everywhere(uint32_t page_shift) {
  Pushes pushes;
  const LargeRegion region(pushes.pair.right, page_shift, kGiB);
  CHECK(pushes.arrive(region, 0, 1));
  CHECK(pushes.arrive(region, kGiB - 1, 1));
  CHECK(pushes.arrive(region, kGiB - kSourceBytes, kSourceBytes));
  for (int i = 0; i < 40; ++i) {
    const auto length = static_cast<uint32_t>(1 + pushes.random() % kSourceBytes);
    const uint64_t offset = pushes.random() % (kGiB - length);
    INFO("offset " << offset << " length " << length);
    CHECK(pushes.arrive(region, offset, length));
  }
  CHECK(pushes.pair.right.rnic.host().refused_writes().empty());
}

TEST_CASE("a region of 1 GiB in pages of 4 KiB is reached at any place") {
  check_everywhere(EXRNIC_PAGE_SHIFT);
}

TEST_CASE("a region of 1 GiB in pages of 2 MiB is reached at any place") {
  check_everywhere(EXRNIC_HUGE_PAGE_SHIFT);
}

TEST_CASE("a page of 2 MiB takes one PBL entry: what lies in it costs one miss") {
  Pushes pushes;
  const LargeRegion region(pushes.pair.right, EXRNIC_HUGE_PAGE_SHIFT, kGiB);
  REQUIRE(pushes.arrive(region, 0, 8));  // and the completion queue's own page is known
  const uint64_t misses = pushes.count(EXRNIC_COUNTER_PBL_MISSES);
  const uint64_t hits = pushes.count(EXRNIC_COUNTER_PBL_HITS);
  for (uint64_t offset = 8192; offset < (1 << 20); offset += 1 << 17)
    REQUIRE(pushes.arrive(region, offset, 8));
  CHECK(pushes.count(EXRNIC_COUNTER_PBL_MISSES) == misses);
  CHECK(pushes.count(EXRNIC_COUNTER_PBL_HITS) >= hits + 8);
}

TEST_CASE("a page that was used before is found on chip, one that was not is read from memory") {
  Pushes pushes;
  const LargeRegion region(pushes.pair.right, EXRNIC_PAGE_SHIFT, kGiB);
  constexpr uint64_t kFar = 64 * 4096;  // another line of the PBL
  REQUIRE(pushes.arrive(region, 0, 8));
  const uint64_t misses = pushes.count(EXRNIC_COUNTER_PBL_MISSES);
  REQUIRE(pushes.arrive(region, kFar, 8));
  CHECK(pushes.count(EXRNIC_COUNTER_PBL_MISSES) == misses + 1);
  REQUIRE(pushes.arrive(region, kFar + 8, 8));
  CHECK(pushes.count(EXRNIC_COUNTER_PBL_MISSES) == misses + 1);
}

}  // namespace
}  // namespace exrnic::testing
