// SPDX-License-Identifier: BSD-2-Clause
// Diffs, the directory, messages and locks, alone.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstring>
#include <functional>
#include <random>

#include "diff.h"
#include "dsm_error.h"
#include "dsm_message.h"
#include "layout.h"
#include "lock_manager.h"

namespace exrnic {
namespace {

using Catch::Matchers::Message;

TEST_CASE("a diff brings a page of the same twin to the written one, and has nothing else in it") {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<uint32_t> twin(1024), page, other;
    for (uint32_t& word : twin) word = random();
    page = other = twin;
    const unsigned writes = round % 7 == 0 ? 1024 : random() % 50;
    std::vector<bool> written(1024);
    for (unsigned i = 0; i < writes; ++i) {
      const unsigned at = writes == 1024 ? i : random() % 1024;
      page[at] = ~twin[at];
      written[at] = true;
    }
    // Another node has written the rest.
    for (unsigned at = 0; at < 1024; ++at)
      if (!written[at]) other[at] = twin[at] + 1;
    std::vector<DsmRun> runs;
    FindDsmRuns(page.data(), twin.data(), kDsmPage, &runs);
    for (const DsmRun& run : runs) {
      REQUIRE((run.bytes > 0 && run.offset + run.bytes <= kDsmPage));
      memcpy(reinterpret_cast<char*>(other.data()) + run.offset,
             reinterpret_cast<char*>(page.data()) + run.offset, run.bytes);
    }
    for (unsigned at = 0; at < 1024; ++at)
      REQUIRE(other[at] == (written[at] ? page[at] : twin[at] + 1));
  }
}

TEST_CASE("a page that was not written has no diff, and one that was written whole is one run") {
  std::vector<uint8_t> twin(kDsmPage, 1), page(kDsmPage, 2);
  std::vector<DsmRun> runs;
  FindDsmRuns(twin.data(), twin.data(), kDsmPage, &runs);
  CHECK(runs.empty());
  FindDsmRuns(page.data(), twin.data(), kDsmPage, &runs);
  REQUIRE(runs.size() == 1);
  CHECK((runs[0].offset == 0 && runs[0].bytes == kDsmPage));
}

TEST_CASE("blocks of an allocation go to nodes in turn, from the first one that is named") {
  DsmLayout layout(64 * kDsmPage, 3);
  CHECK(layout.Allocate(7 * kDsmPage, 2 * kDsmPage, 1) == 0);
  const unsigned homes[] = {1, 1, 2, 2, 0, 0, 1};
  for (uint32_t page = 0; page < 7; ++page) CHECK(layout.Home(page) == homes[page]);
  CHECK(layout.Allocate(1, SIZE_MAX, 2) == 7 * kDsmPage);
  CHECK(layout.Home(7) == 2);
  CHECK(layout.Allocate(2 * kDsmPage, 1, 0) == 8 * kDsmPage);  // a block is a page at least
  CHECK((layout.Home(8) == 0 && layout.Home(9) == 1));
}

TEST_CASE("whole allocations go to nodes in turn, and one that is refused takes no turn") {
  DsmLayout layout(16 * kDsmPage, 3);
  for (unsigned n = 0; n < 4; ++n) {
    const size_t offset = layout.AllocateInTurn(2 * kDsmPage + n);
    const auto page = static_cast<uint32_t>(offset / kDsmPage);
    for (uint32_t i = 0; i < (n == 0 ? 2 : 3); ++i) CHECK(layout.Home(page + i) == n % 3);
    CHECK_THROWS_AS(layout.AllocateInTurn(17 * kDsmPage), DsmError);
    layout.Allocate(1, 1, 2);  // nor does one that names a node
  }
}

TEST_CASE("pages for first touch have no home until somebody claims them") {
  DsmLayout layout(8 * kDsmPage, 2);
  CHECK(layout.AllocateForFirstTouch(kDsmPage + 1) == 0);
  CHECK(!layout.HasHome(1));
  layout.SetHome(1, 1);
  CHECK((layout.HasHome(1) && layout.Home(1) == 1));
  CHECK(!layout.HasHome(0));
}

TEST_CASE(
    "allocations beyond the area, of nothing, and at no node are refused by value and limit") {
  DsmLayout layout(4 * kDsmPage, 2);
  layout.Allocate(kDsmPage, kDsmPage, 0);
  CHECK_THROWS_MATCHES(layout.Allocate(3 * kDsmPage + 1, kDsmPage, 0), DsmError,
                       Message("size is 12289: 1 to 12288, which are left of the area of 16384 "
                               "(JIA_AREA)"));
  CHECK_THROWS_AS(layout.Allocate(SIZE_MAX, kDsmPage, 0), DsmError);
  CHECK_THROWS_AS(layout.Allocate(0, kDsmPage, 0), DsmError);
  CHECK_THROWS_MATCHES(layout.Allocate(1, 1, 2), DsmError, Message("node is 2: 0 to 1"));
  CHECK_THROWS_MATCHES(layout.Allocate(1, 0, 0), DsmError, Message("block is 0: at least 1"));
  CHECK(layout.pages() == 1);
}

TEST_CASE("the digest tells allocations of another size, order or kind") {
  const auto digest = [](const std::function<void(DsmLayout*)>& allocate) {
    DsmLayout layout(64 * kDsmPage, 2);
    allocate(&layout);
    return layout.digest();
  };
  const uint64_t one = digest([](DsmLayout* l) { l->Allocate(1, 1, 0), l->Allocate(2, 1, 0); });
  CHECK(one == digest([](DsmLayout* l) { l->Allocate(1, 1, 0), l->Allocate(2, 1, 0); }));
  CHECK(one != digest([](DsmLayout* l) { l->Allocate(2, 1, 0), l->Allocate(1, 1, 0); }));
  CHECK(one != digest([](DsmLayout* l) { l->Allocate(1, 1, 0), l->Allocate(2, 1, 1); }));
  CHECK(one != digest([](DsmLayout* l) { l->Allocate(1, 1, 0), l->AllocateForFirstTouch(2); }));
}

TEST_CASE("a message is read as it was written") {
  DsmMessage message;
  message.kind = DsmKind::kNotice;
  message.ranges = {{1, 2}, {9, 1}};
  auto bytes = WriteDsmMessage(message);
  DsmMessage got;
  REQUIRE(ReadDsmMessage(bytes.data(), bytes.size(), 4, 10, &got).empty());
  CHECK((got.ranges.size() == 2 && got.ranges[1].first == 9));
  message = {};
  message.kind = DsmKind::kGrant;
  message.number = 5;
  message.clock = {1, 2, 3, 4};
  bytes = WriteDsmMessage(message);
  REQUIRE(ReadDsmMessage(bytes.data(), bytes.size(), 4, 10, &got).empty());
  CHECK((got.number == 5 && got.clock == message.clock));
}

TEST_CASE("sizes, kinds, numbers and pages of a message that are out of range are named") {
  const auto wrong = [](DsmMessage message, size_t cut = 0) {
    auto bytes = WriteDsmMessage(message);
    DsmMessage got;
    return ReadDsmMessage(bytes.data(), bytes.size() - cut, 4, 10, &got);
  };
  const auto of = [](DsmKind kind, uint32_t number = 0) {
    DsmMessage message;
    message.kind = kind;
    message.number = number;
    return message;
  };
  CHECK(wrong(of(DsmKind::kAcquire), 1) == "a message of bytes 23: below 24");
  CHECK(wrong(of(static_cast<DsmKind>(99))) == "a message of kind 99: below 15");
  CHECK(wrong(of(DsmKind::kAcquire, 1024)) == "a message about number 1024: below 1024");
  CHECK(wrong(of(DsmKind::kSet, 256)) == "a message about number 256: below 256");
  CHECK(wrong(of(DsmKind::kClaim, 10)) == "a message about number 10: below 10");
  CHECK(wrong(of(DsmKind::kGrant)) == "a clock of 0 nodes");
  DsmMessage notice = of(DsmKind::kNotice);
  notice.ranges = {{9, 2}};
  CHECK(wrong(notice) == "page 10: below 10");
  notice.ranges = {{3, 2}, {4, 1}};  // or a message could name all pages 500 times
  CHECK(wrong(notice) == "pages out of order, at page 4");
  notice.ranges = {{3, 2}, {3, 2}};
  CHECK(wrong(notice) == "pages out of order, at page 3");
  notice.ranges = {{3, 0}};
  CHECK(wrong(notice) == "pages out of order, at page 3");
  notice.ranges = {{0xffffffff, 0xffffffff}};
  CHECK(!wrong(notice).empty());
  CHECK(!wrong(notice, 1).empty());
  notice.kind = DsmKind::kAcquire;  // which has none
  CHECK(wrong(notice) == "a message with parts 1: below 1");
  DsmMessage home = of(DsmKind::kHome);
  home.value = 4;
  CHECK(wrong(home) == "home 4: below 4");
  DsmMessage arrive = of(DsmKind::kArrive);
  arrive.what = 3;
  CHECK(wrong(arrive) == "meeting 3: below 3");
  // Whatever the bytes are.
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    std::vector<uint8_t> bytes(random() % 80);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random() % 3 == 0 ? random() : 0);
    DsmMessage got;
    if (ReadDsmMessage(bytes.data(), bytes.size(), 4, 10, &got).empty())
      for (const DsmRange& range : got.ranges) REQUIRE(range.first + range.count <= 10);
  }
}

TEST_CASE("pages become ranges, each page once") {
  const auto ranges = DsmRangesOf({5, 3, 4, 9, 4});
  REQUIRE(ranges.size() == 2);
  CHECK((ranges[0].first == 3 && ranges[0].count == 3));
  CHECK((ranges[1].first == 9 && ranges[1].count == 1));
}

TEST_CASE("a lock goes to those who wait, in their order, with the clock of who had it") {
  DsmLockManager manager(3);
  CHECK(manager.Acquire(7, 0));
  CHECK(!manager.Acquire(7, 2));
  CHECK(!manager.Acquire(7, 1));
  CHECK(manager.Release(7, 0, {5, 0, 0}) == 2u);
  CHECK(manager.ClockOfLock(7) == DsmClock{5, 0, 0});
  CHECK(manager.Release(7, 2, {1, 0, 9}) == 1u);
  CHECK(manager.ClockOfLock(7) == DsmClock{5, 0, 9});
  CHECK(!manager.Release(7, 1, {0, 0, 0}));
  CHECK(!manager.Holder(7));
}

TEST_CASE("a lock of which a node is not the holder, or is it already, is refused") {
  DsmLockManager manager(3);
  CHECK_THROWS_MATCHES(manager.Release(1, 2, DsmClock(3)), DsmError,
                       Message("lock 1 is released by node 2, which does not hold it"));
  manager.Acquire(1, 2);
  CHECK_THROWS_AS(manager.Acquire(1, 2), DsmError);
  manager.Acquire(1, 0);
  CHECK_THROWS_AS(manager.Acquire(1, 0), DsmError);
  CHECK_THROWS_AS(manager.Release(1, 0, DsmClock(3)), DsmError);
}

TEST_CASE("a condition variable wakes who waits, and who comes later does not, until it is reset") {
  DsmLockManager manager(3);
  CHECK(!manager.Await(4, 1));
  CHECK_THROWS_AS(manager.Await(4, 1), DsmError);
  CHECK(manager.Set(4, {0, 0, 2}) == std::vector<unsigned>{1});
  CHECK(manager.Await(4, 0));
  CHECK(manager.ClockOfCondition(4) == DsmClock{0, 0, 2});
  manager.Reset(4);
  CHECK(!manager.Await(4, 0));
}

}  // namespace
}  // namespace exrnic
