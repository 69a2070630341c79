// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <random>
#include <vector>

#include "rtl-model/tiles/memory/xlate/xlate_bench.h"

namespace exrnic::testing {
namespace {

// The specification, with the checks in the order of RFC 5041, 8.
Response oracle(const std::vector<Mr>& table, uint64_t epoch, const Request& request) {
  using Wide = unsigned __int128;
  uint64_t pbl = request.pbl_address;
  uint64_t first = 0;
  uint64_t page = kSmallPage;
  if (!request.ring) {
    const uint32_t index = request.stag >> EXRNIC_STAG_INDEX_SHIFT;
    if (index >= table.size() || !table[index].valid || table[index].key != (request.stag & 0xff))
      return {kXlateStag};
    const Mr& region = table[index];
    const Wide end = Wide{request.to} + request.length;
    if (region.invalidated) return {kXlateStag};
    if (region.pd != request.pd) return {kXlateStream};
    if (request.invalidate)
      return {(region.access & request.access) != 0 ? kXlateOk : kXlateAccess};
    if ((region.access & request.access) != request.access) return {kXlateAccess};
    if (end > Wide{1} << 64) return {kXlateWrap};
    if (request.to < region.base || end > Wide{region.base} + region.length) return {kXlateBounds};
    pbl = region.pbl_address;
    page = region.huge_pages ? kHugePage : kSmallPage;
    first = region.base / page;
  }
  const uint64_t frame =
      entry_at(pbl + EXRNIC_PBL_ENTRY_SIZE * (request.to / page - first), epoch) / page * page;
  const uint64_t place = request.to % page;
  return {kXlateOk, frame + place,
          static_cast<uint32_t>(std::min<uint64_t>(request.length, page - place))};
}

TEST_CASE("The first byte of a region lies in the page of entry 0, up to the end of that page") {
  Xlate xlate;
  xlate.write_region(kExampleIndex, example_region());
  const uint64_t frame = entry_at(0x40000, 0) & ~uint64_t{0xfff};
  CHECK(xlate.look_up(example_request()) == Response{kXlateOk, frame + 0x800, 0x800});
}

TEST_CASE("Page frames are counted from the page of the region's first byte") {
  Xlate xlate;
  xlate.write_region(kExampleIndex, example_region());
  Request request = example_request();
  request.to = 0x70003010;
  request.length = 0x20;
  const uint64_t frame = entry_at(0x40018, 0) & ~uint64_t{0xfff};
  CHECK(xlate.look_up(request) == Response{kXlateOk, frame + 0x10, 0x20});
}

TEST_CASE("A region of huge pages uses one entry for 2 MiB") {
  Xlate xlate;
  Mr region = example_region();
  region.huge_pages = true;
  region.base = 0x701ff000;
  region.length = 0x400000;
  xlate.write_region(kExampleIndex, region);
  Request request = example_request();
  request.to = 0x70200004;
  request.length = 0x300000;
  const uint64_t frame = entry_at(0x40008, 0) & ~uint64_t{0x1fffff};
  CHECK(xlate.look_up(request) == Response{kXlateOk, frame + 4, 0x1ffffc});
}

TEST_CASE("A ring is translated in small pages, without a look at any region") {
  Xlate xlate;
  const uint64_t frame = entry_at(0x80010, 0) & ~uint64_t{0xfff};
  CHECK(xlate.look_up(ring_request(0x2fc0)) == Response{kXlateOk, frame + 0xfc0, 0x40});
  CHECK(xlate.look_up(ring_request(0x2fc0, 0x41)) == Response{kXlateOk, frame + 0xfc0, 0x40});
}

TEST_CASE("A ring finds no line that was read for a region, though their lists have one address") {
  Xlate xlate;
  Mr region = example_region();
  region.base = 0x70000000;
  xlate.write_region(0, region);
  Request request = example_request();
  request.stag = stag_of(0, region.key);
  request.to = region.base;
  CHECK(xlate.look_up(request).status == kXlateOk);
  Request ring = ring_request(0);
  ring.pbl_address = region.pbl_address;
  CHECK(xlate.look_up(ring).status == kXlateOk);
  CHECK(xlate.misses == 2);
  CHECK(xlate.hits == 0);
}

TEST_CASE("A refused access reads no memory") {
  Xlate xlate;
  xlate.write_region(kExampleIndex, example_region());
  Request request = example_request();
  request.length += 1;
  CHECK(xlate.look_up(request).status == kXlateBounds);
  request.stag ^= 1;
  CHECK(xlate.look_up(request).status == kXlateStag);
  CHECK(xlate.host().reads().empty());
}

TEST_CASE("A PBL that the host refuses to read is a memory error") {
  Xlate xlate;
  xlate.host().refuse(0x80000);
  CHECK(xlate.look_up(ring_request(0)).status == kXlateMemory);
  xlate.host().allow(0x80000);
  CHECK(xlate.look_up(ring_request(0)).status == kXlateOk);
}

TEST_CASE("Hits and misses are counted, one for each look-up that reaches the PBL") {
  Xlate xlate;
  xlate.look_up(ring_request(0));
  xlate.look_up(ring_request(0x1000));
  xlate.look_up(ring_request(0x8000));
  xlate.look_up(example_request());  // no such STag
  CHECK(xlate.misses == 2);
  CHECK(xlate.hits == 1);
}

TEST_CASE("A hit takes three cycles for a ring and five for a region") {
  Xlate xlate;
  xlate.write_region(kExampleIndex, example_region());
  const auto cycles_of = [&](const Request& request) {
    xlate.look_up(request);
    xlate.cycle();
    const long start = xlate.cycles();
    xlate.look_up(request);
    return xlate.cycles() - start;
  };
  CHECK(cycles_of(ring_request(0)) == 3);
  CHECK(cycles_of(example_request()) == 5);
}

TEST_CASE("The management port reads back a region") {
  Xlate xlate;
  xlate.write_region(kExampleIndex, example_region());
  CHECK(xlate.read_region(kExampleIndex).length == 0x3000);
  CHECK_FALSE(xlate.read_region(kExampleIndex - 1).valid);
}

TEST_CASE("Clients that all want all the time are served in turn") {
  Xlate xlate;
  xlate.look_up(ring_request(0));  // from here on their lines are there
  std::vector<unsigned> order;
  for (int i = 0; i < kLimit && order.size() < 12; ++i) {
    for (unsigned client = 0; client < kClients; ++client)
      xlate.drive_request(client, ring_request(uint64_t{client} << EXRNIC_PAGE_SHIFT));
    xlate.cycle();
    for (unsigned client = 0; client < kClients; ++client)
      if (xlate.dut().rsp_valid_o >> client & 1) order.push_back(client);
  }
  REQUIRE(order.size() == 12);
  for (std::size_t i = 1; i < order.size(); ++i) CHECK(order[i] == (order[i - 1] + 1) % kClients);
}

TEST_CASE("A look-up during which its region is invalidated and flushed is refused") {
  for (int moment = 0; moment < 60; ++moment) {
    INFO("invalidated " << moment << " cycles after the request");
    Xlate xlate(kSeed + static_cast<uint32_t>(moment));
    xlate.write_region(kExampleIndex, example_region());
    xlate.drive_request(2, example_request());
    bool answered = false;
    for (int i = 0; i < moment && !answered; ++i) {
      xlate.cycle();
      answered = xlate.dut().rsp_valid_o != 0;
    }
    if (answered) {
      CHECK(xlate.response().status == kXlateOk);
      break;
    }
    xlate.write_region(kExampleIndex, Mr{});
    answered = xlate.dut().rsp_valid_o != 0;
    xlate.dut().flush_i = 1;
    bool flushed = false;
    for (int i = 0; i < kLimit && !(answered && flushed); ++i) {
      xlate.cycle();
      flushed |= xlate.dut().flush_done_o != 0;
      if (xlate.dut().rsp_valid_o) {
        CHECK(xlate.response().status == kXlateStag);
        answered = true;
      }
    }
    CHECK(answered);
    CHECK(flushed);
  }
}

// All that may be answered to a request that is waiting: the state of regions and memory at any
// moment since it was asked, and none from before the last flush that has ended.
class Waiting {
 public:
  void ask(const Request& request, const Response& now) {
    asked_ = true;
    request_ = request;
    answers_ = {now};
  }
  bool asked() const { return asked_; }
  const Request& request() const { return request_; }
  bool invalidates(uint32_t index) const {
    return asked_ && request_.invalidate && request_.stag >> EXRNIC_STAG_INDEX_SHIFT == index;
  }
  void changed(const Response& now) { answers_.push_back(now); }
  void flushed(const Response& now) { answers_ = {now}; }
  bool accepts(Response got) {
    asked_ = false;
    if (request_.invalidate) got = {got.status};  // which answers no address
    return std::find(answers_.begin(), answers_.end(), got) != answers_.end();
  }

 private:
  bool asked_ = false;
  Request request_;
  std::vector<Response> answers_;
};

class RandomTraffic {
 public:
  explicit RandomTraffic(uint32_t seed) : random_(seed), xlate_(seed), table_(kRegions) {}

  // Runs until `count` look-ups are answered.
  void run(int count) {
    for (silent_ = 0; answered < count; ++silent_) {
      REQUIRE(silent_ < kLimit);  // cycles in vain for an answer
      const bool write = random_() % 16 == 0;
      if (write) write_region();
      if (!flushing_ && random_() % 100 == 0) change_memory_and_flush();
      for (Waiting& waiting : waiting_)
        if (!waiting.asked() && random_() % 4 == 0) ask(waiting);
      xlate_.cycle();
      observe();
    }
  }

  int answered = 0;
  std::array<int, kXlateMemory + 1> seen{};
  int flushes = 0;
  int invalidations = 0;

 private:
  static constexpr uint32_t kRegions = 8;

  Response now(const Request& request) { return oracle(table_, xlate_.epoch, request); }

  void write_region() {
    Mr region = example_region();
    region.valid = random_() % 8 != 0;
    region.key = random_() % 8 == 0;
    region.pd = random_() % 8 == 0;
    region.access = random_() % 8 != 0 ? 0xff : 0;
    region.huge_pages = random_() % 2;
    region.base = random_() % 4 != 0 ? 0x70000000 + random_() % kHugePage : ~uint64_t{0xffffff};
    region.length = 1 + random_() % (4 * kHugePage);
    region.pbl_address = random_() % 4 * 0x40000;
    const auto index = static_cast<uint32_t>(random_() % kRegions);
    // Which region an invalidation under way would hit, is not known here.
    for (const Waiting& waiting : waiting_)
      if (waiting.invalidates(index)) return;
    xlate_.drive_region(index, region);
    table_[index] = region;
    for (Waiting& waiting : waiting_) waiting.changed(now(waiting.request()));
  }

  bool loses_its_region(const Waiting& waiting) const {
    const uint32_t index = waiting.request().stag >> EXRNIC_STAG_INDEX_SHIFT;
    return !waiting.request().ring &&
           std::any_of(waiting_.begin(), waiting_.end(), [&](const Waiting& other) {
             return &other != &waiting && other.invalidates(index);
           });
  }

  void invalidated(uint32_t index) {
    ++invalidations;
    table_[index].invalidated = true;
    for (Waiting& waiting : waiting_) waiting.changed(now(waiting.request()));
  }

  void change_memory_and_flush() {
    ++xlate_.epoch;
    for (Waiting& waiting : waiting_) waiting.changed(now(waiting.request()));
    xlate_.dut().flush_i = 1;
    flushing_ = true;
  }

  void ask(Waiting& waiting) {
    Request request = ring_request(random_() % 0x20000);
    if (random_() % 4 != 0) {
      const auto index = static_cast<uint32_t>(random_() % kRegions);
      const Mr& region = table_[index];
      request.ring = false;
      request.stag = stag_of(index, region.key);
      request.pd = random_() % 16 ? region.pd : 9;
      request.access = EXRNIC_ACCESS_REMOTE_WRITE;
      request.to = region.base + random_() % (region.length + 1);
      request.length = 1 + static_cast<uint32_t>(random_() % (2 * kHugePage));
      if (random_() % 16 == 0) request.to = ~uint64_t{0};
      request.invalidate = random_() % 32 == 0;
    }
    waiting.ask(request, now(request));
    // Until the flush ends, what was before it may still be the answer.
    if (flushing_) waiting.changed(oracle(table_, xlate_.epoch - 1, request));
    xlate_.drive_request(static_cast<unsigned>(&waiting - waiting_.data()), request);
  }

  void observe() {
    for (unsigned client = 0; client < kClients; ++client) {
      if (!(xlate_.dut().rsp_valid_o >> client & 1)) continue;
      Waiting& waiting = waiting_[client];
      INFO("answer " << answered << ": " << xlate_.response());
      REQUIRE(waiting.asked());
      // An invalidation has its effect before it is answered.
      const bool gone = xlate_.response().status == kXlateStag && loses_its_region(waiting);
      const bool accepted = waiting.accepts(xlate_.response());
      REQUIRE((accepted || gone));
      if (waiting.request().invalidate && xlate_.response().status == kXlateOk)
        invalidated(waiting.request().stag >> EXRNIC_STAG_INDEX_SHIFT);
      ++seen[xlate_.response().status];
      ++answered;
      silent_ = 0;
    }
    if (!xlate_.dut().flush_done_o) return;
    flushing_ = false;
    ++flushes;
    for (Waiting& waiting : waiting_) waiting.flushed(now(waiting.request()));
  }

  std::mt19937_64 random_;
  Xlate xlate_;
  std::vector<Mr> table_;
  std::array<Waiting, kClients> waiting_;
  bool flushing_ = false;
  int silent_ = 0;  // cycles since the last answer
};

TEST_CASE("Random look-ups among writes and flushes never mix old and new") {
  constexpr int kLookUps = 40000;
  INFO("seed " << kSeed);
  RandomTraffic traffic(kSeed);
  traffic.run(kLookUps);
  CHECK(traffic.flushes > kLookUps / 100);
  CHECK(traffic.invalidations > kLookUps / 200);
  for (int status = kXlateOk; status < kXlateMemory; ++status) {
    INFO("status " << status);
    CHECK(traffic.seen[static_cast<std::size_t>(status)] > kLookUps / 200);
  }
}

}  // namespace
}  // namespace exrnic::testing
