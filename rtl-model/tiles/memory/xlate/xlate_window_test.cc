// SPDX-License-Identifier: BSD-2-Clause
// Memory windows: their bind to a region, and what of it a peer gets by them.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include "rtl-model/tiles/memory/xlate/xlate_bench.h"

namespace exrnic::testing {
namespace {

constexpr uint32_t kWindowIndex = 0x1234;
constexpr uint32_t kWindowStag = kWindowIndex << EXRNIC_STAG_INDEX_SHIFT | 0x99;
constexpr uint16_t kWindowQpn = 77;
constexpr uint16_t kWindowGeneration = 0xcafe;
constexpr uint64_t kWindowBase = 0x70000800 + 0x1234;
constexpr uint64_t kWindowBytes = 0x1000;

Mr bindable_region() {
  Mr region = example_region();
  region.access = EXRNIC_ACCESS_MW_BIND | EXRNIC_ACCESS_LOCAL_WRITE;
  region.life = 0x4567;
  return region;
}

// As the driver makes it: it is not bound.
Mr unbound_window() {
  Mr window;
  window.valid = window.invalidated = true;
  window.kind = EXRNIC_REGION_KIND_MEMORY_WINDOW;
  window.pd = example_region().pd;
  return window;
}

Request window_bind() {
  Request request;
  request.binds = true;
  request.stag = kWindowStag;
  request.region = example_request().stag;
  request.qpn = kWindowQpn;
  request.generation = kWindowGeneration;
  request.pd = example_region().pd;
  request.access = EXRNIC_ACCESS_REMOTE_WRITE;
  request.to = kWindowBase;
  request.size = kWindowBytes;
  return request;
}

Request window_access() {
  Request request = window_bind();
  request.binds = false;
  request.length = kWindowBytes;
  return request;
}

Request window_invalidation() {
  Request request;
  request.invalidate = true;
  request.stag = kWindowStag;
  request.pd = example_region().pd;
  return request;
}

void write_both(Xlate& xlate) {
  xlate.write_region(kExampleIndex, bindable_region());
  xlate.write_region(kWindowIndex, unbound_window());
}

uint64_t frame_of(const Xlate& xlate, uint64_t page) {
  const uint64_t entry = example_region().pbl_address + page * EXRNIC_PBL_ENTRY_SIZE;
  return entry_at(entry, xlate.epoch) / kSmallPage * kSmallPage;
}

TEST_CASE("By a memory window a peer gets the pages of its region, page by page") {
  Xlate xlate;
  write_both(xlate);
  REQUIRE(xlate.look_up(window_bind(), 1).status == kXlateOk);
  CHECK(xlate.host().reads().empty());
  Request request = window_access();
  CHECK(xlate.look_up(request) == Response{kXlateOk, frame_of(xlate, 1) + 0xa34, 0x5cc});
  request.to += 0x5cc;
  request.length -= 0x5cc;
  CHECK(xlate.look_up(request) == Response{kXlateOk, frame_of(xlate, 2), 0xa34});
  // They are the region's: what it has read is known by the window.
  CHECK(xlate.misses == 1);
}

TEST_CASE("A memory window takes four cycles more than its region") {
  Xlate xlate;
  write_both(xlate);
  REQUIRE(xlate.look_up(window_bind(), 1).status == kXlateOk);
  REQUIRE(xlate.look_up(window_access()).status == kXlateOk);
  xlate.cycle();
  const long start = xlate.cycles();
  REQUIRE(xlate.look_up(window_access()).status == kXlateOk);
  CHECK(xlate.cycles() - start == 9);
}

TEST_CASE("A memory window is bound to what its region grants, and to no memory window") {
  Xlate xlate;
  Mr region = bindable_region();
  Request bind = window_bind();
  XlateStatus status = kXlateOk;
  SECTION("all") {}
  SECTION("to read, of memory that nobody here writes") {
    region.access = EXRNIC_ACCESS_MW_BIND;
    bind.access = EXRNIC_ACCESS_REMOTE_READ;
  }
  SECTION("to write, of memory that nobody here writes") {
    region.access = EXRNIC_ACCESS_MW_BIND, status = kXlateAccess;
  }
  SECTION("for atomics, likewise") {
    region.access = EXRNIC_ACCESS_MW_BIND, status = kXlateAccess;
    bind.access = EXRNIC_ACCESS_REMOTE_ATOMIC;
  }
  SECTION("the region has no windows") { region.access = 0xf, status = kXlateAccess; }
  SECTION("another key") { bind.region ^= 1, status = kXlateStag; }
  SECTION("invalidated") { region.invalidated = true, status = kXlateStag; }
  SECTION("another domain of the region") { ++region.pd, status = kXlateStream; }
  SECTION("all of it") { bind.to = region.base, bind.size = region.length; }
  SECTION("a byte more") {
    bind.to = region.base, bind.size = region.length + 1, status = kXlateBounds;
  }
  SECTION("a byte before") { bind.to = region.base - 1, status = kXlateBounds; }
  SECTION("4 GiB more") { bind.size += uint64_t{1} << 32, status = kXlateBounds; }
  SECTION("itself") { bind.region = kWindowStag, status = kXlateStag; }
  SECTION("a window that is bound") {
    write_both(xlate);
    REQUIRE(xlate.look_up(window_bind(), 1).status == kXlateOk);
    xlate.write_region(kWindowIndex + 1, unbound_window());
    bind.region = kWindowStag;
    bind.stag += 1 << EXRNIC_STAG_INDEX_SHIFT;
    CHECK(xlate.look_up(bind, 1).status == kXlateAccess);
    return;
  }
  xlate.write_region(kExampleIndex, region);
  xlate.write_region(kWindowIndex, unbound_window());
  CHECK(xlate.look_up(bind, 1).status == status);
  Request access = window_access();
  access.access = bind.access;
  CHECK(xlate.look_up(access).status == (status == kXlateOk ? kXlateOk : kXlateStag));
}

TEST_CASE("A bind that asks for no memory window, or one that is bound, is refused") {
  Xlate xlate;
  write_both(xlate);
  Request bind = window_bind();
  XlateStatus status = kXlateStag;
  SECTION("a region") { bind.stag = example_request().stag; }
  SECTION("nothing") { bind.stag += 1 << EXRNIC_STAG_INDEX_SHIFT; }
  SECTION("bound") { REQUIRE(xlate.look_up(bind).status == kXlateOk); }
  SECTION("of another domain") {
    Mr window = unbound_window();
    ++window.pd;
    xlate.write_region(kWindowIndex, window);
    status = kXlateStream;
  }
  CHECK(xlate.look_up(bind).status == status);
}

// Bound once, by kWindowStag.
struct BoundDomainWindow : Xlate {
  BoundDomainWindow() {
    write_region(kExampleIndex, bindable_region());
    Mr window = unbound_window();
    window.kind = EXRNIC_REGION_KIND_DOMAIN_WINDOW;
    write_region(kWindowIndex, window);
    reads_under_way = true;  // the first bind waits for nothing
    REQUIRE(look_up(window_bind(), 1).status == kXlateOk);
    reads_under_way = false;
    again = window_bind();
    ++again.stag;
  }
  Request again;
};

TEST_CASE("A bind that replaces one is answered when all that the old one let in is over") {
  BoundDomainWindow xlate;
  xlate.reads_under_way = true;
  xlate.dut().hold_i = 1 << 2;
  xlate.drive_request(1, xlate.again);
  const auto silent = [&] {
    bool answered = false;
    for (int i = 0; i < 100; ++i) {
      xlate.cycle();
      answered |= xlate.dut().rsp_valid_o != 0;
    }
    return !answered;
  };
  REQUIRE(silent());
  xlate.dut().hold_i = 0;
  REQUIRE(silent());
  xlate.reads_under_way = false;
  xlate.wait_for("an answer", kLimit, [&] { return xlate.dut().rsp_valid_o == 2; });
  CHECK(xlate.response().status == kXlateOk);
  CHECK(xlate.look_up(window_access()).status == kXlateStag);
  Request by_the_new = window_access();
  by_the_new.stag = xlate.again.stag;
  CHECK(xlate.look_up(by_the_new).status == kXlateOk);
}

TEST_CASE("A flush at any time beside a bind that replaces one: both end, once") {
  const int moment = GENERATE(Catch::Generators::range(0, 25));
  BoundDomainWindow xlate;
  xlate.drive_request(1, xlate.again);
  int answers = 0;
  bool flushed = false;
  for (int i = 0; i < kLimit; ++i) {
    if (i == moment) xlate.dut().flush_i = 1;
    xlate.cycle();
    flushed |= xlate.dut().flush_done_o != 0;
    answers += xlate.dut().rsp_valid_o != 0;
  }
  CHECK(answers == 1);
  CHECK(flushed);
}

TEST_CASE("A memory window ends with the life of its region") {
  Xlate xlate;
  write_both(xlate);
  REQUIRE(xlate.look_up(window_bind(), 1).status == kXlateOk);
  REQUIRE(xlate.look_up(window_access()).status == kXlateOk);
  Mr region = bindable_region();
  XlateStatus status = kXlateStag;
  SECTION("gone") { region.valid = false; }
  SECTION("invalidated") { region.invalidated = true; }
  SECTION("another one") { ++region.life; }
  SECTION("moved, when the lives begin again") { region.base += 0x3000, status = kXlateBounds; }
  SECTION("without windows, likewise") { region.access = 0xf, status = kXlateAccess; }
  SECTION("not to be written, likewise") {
    region.access = EXRNIC_ACCESS_MW_BIND, status = kXlateAccess;
  }
  SECTION("of another domain, likewise") { ++region.pd, status = kXlateStream; }
  xlate.write_region(kExampleIndex, region);
  CHECK(xlate.look_up(window_access()).status == status);
}

TEST_CASE("A bind reads no memory, and a flush does not repeat it") {
  const int moment = GENERATE(Catch::Generators::range(0, 14));
  INFO("flush " << moment << " cycles after the request");
  Xlate xlate;
  write_both(xlate);
  xlate.drive_request(1, window_bind());
  bool answered = false;
  bool flushed = false;
  for (int i = 0; i < kLimit && !(answered && flushed); ++i) {
    if (i == moment) xlate.dut().flush_i = 1;
    xlate.cycle();
    flushed |= xlate.dut().flush_done_o != 0;
    if (!xlate.dut().rsp_valid_o) continue;
    CHECK(xlate.response().status == kXlateOk);
    answered = true;
  }
  CHECK(answered);
  CHECK(flushed);
  CHECK(xlate.host().reads().empty());
  CHECK(xlate.look_up(window_access()).status == kXlateOk);
}

TEST_CASE("A region that goes at any time beside a bind or a look-up leaves nothing of itself") {
  const int moment = GENERATE(Catch::Generators::range(0, 40));
  INFO("written " << moment << " cycles after the requests");
  Xlate xlate;
  write_both(xlate);
  xlate.drive_request(1, window_bind());
  Mr gone = bindable_region();
  gone.valid = false;
  ++gone.life;
  bool flushed = false;
  int answers = 0;
  for (int i = 0; i < kLimit && !(flushed && answers == 2); ++i) {
    if (i == 13) xlate.drive_request(0, window_access());
    if (i == moment) {
      xlate.drive_region(kExampleIndex, gone);
      xlate.dut().flush_i = 1;
    }
    xlate.cycle();
    if (xlate.dut().rsp_valid_o != 0) {
      ++answers;
      if (flushed) CHECK(xlate.response().status == kXlateStag);
    }
    flushed |= xlate.dut().flush_done_o != 0;
  }
  REQUIRE(answers == 2);
  CHECK(xlate.look_up(window_access()).status == kXlateStag);
}

TEST_CASE("A memory window that is invalidated while a look-up waits for the PBL refuses it") {
  Xlate xlate;
  write_both(xlate);
  REQUIRE(xlate.look_up(window_bind(), 1).status == kXlateOk);
  xlate.host().hold(example_region().pbl_address);
  xlate.drive_request(0, window_access());
  xlate.wait_for("a read", kLimit, [&] { return xlate.host().in_flight() == 1; });
  REQUIRE(xlate.look_up(window_invalidation(), 1).status == kXlateOk);
  xlate.host().release(example_region().pbl_address);
  xlate.wait_for("an answer", kLimit, [&] { return xlate.dut().rsp_valid_o == 1; });
  CHECK(xlate.response().status == kXlateStag);
}

TEST_CASE("A fence waits for a look-up that has asked for the window, and not yet for its region") {
  for (int mask = 0; mask < 256; mask += 3)
    for (int when = 0; when < 10; ++when) {
      Xlate xlate;
      write_both(xlate);
      REQUIRE(xlate.look_up(window_bind(), 1).status == kXlateOk);
      REQUIRE(xlate.look_up(window_access()).status == kXlateOk);
      xlate.look_up(ring_request(0), 2);
      xlate.cycle();
      CAPTURE(mask, when);
      bool over = false, held = false;
      int held_for = 0;
      for (int i = 0; i < 100; ++i) {
        if (i == 3) xlate.drive_request(0, window_access());
        if (i == when) xlate.drive_request(1, window_invalidation());
        if (i < 8 && (mask >> i & 1)) xlate.drive_request(2, ring_request(0));
        xlate.cycle();
        if (xlate.dut().rsp_valid_o == 1 && xlate.response().status == kXlateOk) {
          CHECK_FALSE(over);
          xlate.dut().hold_i = 1;  // from the cycle behind the answer on, as a client does
          held = true;
        }
        if (xlate.dut().rsp_valid_o == 2) CHECK_FALSE(held);
        if (held && ++held_for > 30) {
          held = false;
          xlate.dut().hold_i = 0;
        }
        if (xlate.dut().rsp_valid_o == 2) over = true;
      }
    }
}

}  // namespace
}  // namespace exrnic::testing
