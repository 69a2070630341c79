// SPDX-License-Identifier: BSD-2-Clause
// Look-ups that wait for a PBL line, and what goes on meanwhile.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include "rtl-model/tiles/memory/xlate/xlate_bench.h"

namespace exrnic::testing {
namespace {

constexpr uint64_t kLineOfPages = kSmallPage * EXRNIC_PBL_LINE_SIZE / EXRNIC_PBL_ENTRY_SIZE;
constexpr uint64_t kRingPbl = 0x80000;  // of ring_request()

// A place in the ring whose entry is the first of line `line` of the PBL.
Request in_line(uint64_t line) { return ring_request(line * kLineOfPages); }
uint64_t address_of_line(uint64_t line) { return kRingPbl + line * EXRNIC_PBL_LINE_SIZE; }

Response expected(const Xlate& xlate, const Request& request) {
  const uint64_t entry = kRingPbl + request.to / kSmallPage * EXRNIC_PBL_ENTRY_SIZE;
  const uint64_t frame = entry_at(entry, xlate.epoch) / kSmallPage * kSmallPage;
  return {kXlateOk, frame + request.to % kSmallPage, request.length};
}

// Asks, and waits until the line is being read and held back.
void ask_and_miss(Xlate& xlate, unsigned client, const Request& request) {
  const std::size_t before = xlate.host().in_flight();
  xlate.drive_request(client, request);
  xlate.wait_for("a read", kLimit, [&] { return xlate.host().in_flight() == before + 1; });
}
Response answer_to(Xlate& xlate, unsigned client) {
  xlate.wait_for("an answer", kLimit, [&] { return xlate.dut().rsp_valid_o == 1u << client; });
  return xlate.response();
}

TEST_CASE("While a client waits for a PBL line, look-ups of the others go on") {
  Xlate xlate;
  xlate.write_region(kExampleIndex, example_region());
  xlate.look_up(in_line(1));
  xlate.host().hold(address_of_line(0));
  ask_and_miss(xlate, 0, in_line(0));
  CHECK(xlate.look_up(in_line(1), 1) == expected(xlate, in_line(1)));  // a hit
  CHECK(xlate.look_up(in_line(2), 2) == expected(xlate, in_line(2)));  // a miss
  CHECK(xlate.look_up(example_request(), 1).status == kXlateOk);       // a region
  CHECK(xlate.host().in_flight() == 1);
  CHECK_FALSE(xlate.dut().idle_o);
  xlate.host().release(address_of_line(0));
  CHECK(answer_to(xlate, 0) == expected(xlate, in_line(0)));
  xlate.cycle();
  CHECK(xlate.dut().idle_o);
}

TEST_CASE("Look-ups of all clients are in the pipeline at once") {
  Xlate xlate;
  xlate.write_region(kExampleIndex, example_region());
  xlate.look_up(example_request());
  xlate.cycle();
  const long start = xlate.cycles();
  for (unsigned client = 0; client < kClients; ++client)
    xlate.drive_request(client, example_request());
  unsigned answered = 0;
  while (answered != (1u << kClients) - 1 && xlate.cycles() - start < kLimit) {
    xlate.cycle();
    if (xlate.dut().rsp_valid_o != 0) CHECK(xlate.response().status == kXlateOk);
    answered |= xlate.dut().rsp_valid_o;
  }
  CHECK(xlate.cycles() - start == 5 + kClients - 1);
}

TEST_CASE("The misses of all clients are in flight at once, and end in any order") {
  Xlate xlate;
  for (unsigned client = 0; client < kClients; ++client) {
    xlate.host().hold(address_of_line(client));
    ask_and_miss(xlate, client, in_line(client));
  }
  CHECK(xlate.host().in_flight() == kClients);
  for (unsigned client = kClients; client-- > 0;) {
    xlate.host().release(address_of_line(client));
    CHECK(answer_to(xlate, client) == expected(xlate, in_line(client)));
  }
  CHECK(xlate.misses == kClients);
  CHECK(xlate.hits == 0);
}

TEST_CASE("A client that waits is not asked again, and takes no other request") {
  Xlate xlate;
  xlate.host().hold(address_of_line(0));
  ask_and_miss(xlate, 0, in_line(0));
  xlate.drive_request(0, in_line(1));
  for (int i = 0; i < 100; ++i) xlate.cycle();
  CHECK(xlate.dut().req_valid_i == 1);
  CHECK(xlate.host().reads().size() == 1);
  xlate.host().release(address_of_line(0));
  CHECK(answer_to(xlate, 0) == expected(xlate, in_line(0)));
  xlate.cycle();
  CHECK(answer_to(xlate, 0) == expected(xlate, in_line(1)));
}

TEST_CASE("A client gets its answer although the others displace its line at once") {
  // Lines 0 and 513 share a place: their numbers differ in bits 0 and 9, which cancel.
  constexpr int kRounds = 50;
  Xlate xlate;
  std::array<int, kClients> answers{};
  const std::array<uint64_t, kClients> lines = {0, 513, 0};
  for (int i = 0; i < kLimit * 10 && answers[0] + answers[1] + answers[2] < 3 * kRounds; ++i) {
    for (unsigned client = 0; client < kClients; ++client)
      xlate.drive_request(client, in_line(lines[client]));
    xlate.cycle();
    for (unsigned client = 0; client < kClients; ++client) {
      if (!(xlate.dut().rsp_valid_o >> client & 1)) continue;
      REQUIRE(xlate.response() == expected(xlate, in_line(lines[client])));
      ++answers[client];
    }
  }
  for (const int count : answers) CHECK(count > kRounds / 2);
}

TEST_CASE("A line that the host refuses is an error for each client that waits for it") {
  Xlate xlate;
  xlate.host().refuse(address_of_line(0));
  xlate.host().hold(address_of_line(0));
  for (unsigned client = 0; client < 2; ++client) ask_and_miss(xlate, client, in_line(0));
  xlate.host().release(address_of_line(0));
  for (int i = 0; i < 2; ++i) {
    xlate.wait_for("rsp_valid_o", kLimit, [&] { return xlate.dut().rsp_valid_o != 0; });
    CHECK(xlate.response().status == kXlateMemory);
    xlate.cycle();
  }
  xlate.host().allow(address_of_line(0));
  CHECK(xlate.look_up(in_line(0), 1).status == kXlateOk);  // nothing of the error is kept
}

TEST_CASE("A flush makes waiting look-ups begin anew, and each counts once") {
  Xlate xlate;
  for (unsigned client = 0; client < kClients; ++client) {
    xlate.host().hold(address_of_line(client));
    ask_and_miss(xlate, client, in_line(client));
  }
  ++xlate.epoch;
  xlate.dut().flush_i = 1;
  xlate.wait_for("flush_done_o", kLimit, [&] { return xlate.dut().flush_done_o != 0; });
  for (unsigned client = 0; client < kClients; ++client) {
    xlate.host().release(address_of_line(client));
    CHECK(answer_to(xlate, client) == expected(xlate, in_line(client)));
    xlate.cycle();
  }
  CHECK(xlate.host().reads().size() == 2 * kClients);
  CHECK(xlate.misses == kClients);
  CHECK(xlate.hits == 0);
}

Request invalidation() {
  Request request = example_request();
  request.invalidate = true;
  request.to = request.length = 0;
  return request;
}

TEST_CASE("A region that is invalidated while a look-up waits for its PBL refuses it") {
  Xlate xlate;
  xlate.write_region(kExampleIndex, example_region());
  xlate.host().hold(example_region().pbl_address);
  ask_and_miss(xlate, 0, example_request());
  CHECK(xlate.look_up(invalidation(), 1).status == kXlateOk);
  CHECK(xlate.read_region(kExampleIndex).invalidated);
  xlate.host().release(example_region().pbl_address);
  CHECK(answer_to(xlate, 0).status == kXlateStag);
  CHECK(xlate.look_up(example_request(), 2).status == kXlateStag);
}

TEST_CASE("An invalidation reads no memory, and a flush does not repeat it") {
  const int moment = GENERATE(Catch::Generators::range(0, 12));
  INFO("flush " << moment << " cycles after the request");
  Xlate xlate;
  xlate.write_region(kExampleIndex, example_region());
  xlate.drive_request(1, invalidation());
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
  CHECK(xlate.hits + xlate.misses == 0);
  CHECK(xlate.look_up(invalidation()).status == kXlateStag);
}

Mr fast_region() {
  Mr region;
  region.valid = region.invalidated = true;
  region.kind = EXRNIC_REGION_KIND_FAST;
  region.pd = example_region().pd;
  return region;
}

// What makes it the example's.
Request registration() {
  const Mr example = example_region();
  Request request = invalidation();
  request.invalidate = false;
  request.registers = true;
  request.pbl_address = example.pbl_address;
  request.access = example.access;
  request.to = example.base;
  request.size = example.length;
  return request;
}

TEST_CASE("A registration reads no memory, and a flush does not repeat it") {
  const int moment = GENERATE(Catch::Generators::range(0, 12));
  INFO("flush " << moment << " cycles after the request");
  Xlate xlate;
  xlate.write_region(kExampleIndex, fast_region());
  xlate.drive_request(1, registration());
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
  CHECK(xlate.look_up(example_request()).status == kXlateOk);
}

TEST_CASE(
    "Behind a registration the PBL is read anew, also where the count of lives begins again") {
  Xlate xlate;
  xlate.write_region(kExampleIndex, fast_region());
  for (int life = 1; life < 0x10100; ++life) {
    // In two of them is it used, which have the same number.
    const bool used = life % 0x10000 == 1;
    if (!used && life % 0x1000 != 0 && life < 0xfff0) {
      // The driver counts, too.
      Mr region = fast_region();
      region.life = static_cast<uint16_t>(life);
      xlate.write_region(kExampleIndex, region);
      ++xlate.epoch;
      continue;
    }
    REQUIRE(xlate.look_up(registration(), 1).status == kXlateOk);
    if (used) {
      const uint64_t frame = entry_at(example_region().pbl_address, xlate.epoch) & ~uint64_t{0xfff};
      CHECK(xlate.look_up(example_request()) == Response{kXlateOk, frame + 0x800, 0x800});
      CHECK(xlate.look_up(example_request()) == Response{kXlateOk, frame + 0x800, 0x800});
    }
    REQUIRE(xlate.look_up(invalidation(), 2).status == kXlateOk);
    ++xlate.epoch;
  }
  CHECK(xlate.misses == 2);
  CHECK(xlate.hits == 2);
}

TEST_CASE("A region that is another one when the PBL of a look-up has come is looked up as that") {
  Xlate xlate;
  xlate.write_region(kExampleIndex, fast_region());
  REQUIRE(xlate.look_up(registration(), 1).status == kXlateOk);
  xlate.host().hold(example_region().pbl_address);
  ask_and_miss(xlate, 0, example_request());
  REQUIRE(xlate.look_up(invalidation(), 1).status == kXlateOk);
  Request other = registration();
  other.pbl_address += 0x10000;
  REQUIRE(xlate.look_up(other, 1).status == kXlateOk);
  xlate.host().release(example_region().pbl_address);
  const uint64_t frame = entry_at(other.pbl_address, 0) & ~uint64_t{0xfff};
  CHECK(answer_to(xlate, 0) == Response{kXlateOk, frame + 0x800, 0x800});
}

TEST_CASE("An invalidation is answered when nobody has an address from before") {
  Xlate xlate;
  xlate.write_region(kExampleIndex, example_region());
  CHECK(xlate.look_up(example_request(), 2).status == kXlateOk);
  xlate.dut().hold_i = 1 << 2;
  xlate.drive_request(1, invalidation());
  for (int i = 0; i < 50; ++i) {
    xlate.cycle();
    CHECK(xlate.dut().rsp_valid_o == 0);
    CHECK_FALSE(xlate.fence_asked);
  }
  CHECK(xlate.dut().let_go_o);
  CHECK_FALSE(xlate.dut().idle_o);
  // Others go on, and are refused.
  CHECK(xlate.look_up(example_request(), 0).status == kXlateStag);
  xlate.dut().hold_i = 0;
  CHECK(answer_to(xlate, 1).status == kXlateOk);
  CHECK_FALSE(xlate.dut().let_go_o);
}

TEST_CASE("An invalidation is answered when the reads from before have ended") {
  Xlate xlate;
  xlate.write_region(kExampleIndex, example_region());
  xlate.reads_under_way = true;
  xlate.drive_request(1, invalidation());
  xlate.wait_for("the fence", kLimit, [&] { return xlate.fence_asked; });
  xlate.dut().hold_i = 7;  // of what is looked up from now on
  for (int i = 0; i < 50; ++i) {
    xlate.cycle();
    CHECK(xlate.dut().rsp_valid_o == 0);
  }
  // One that comes meanwhile, of another region, waits for a fence of its own.
  Mr other = example_region();
  other.key = 0x11;
  xlate.write_region(kExampleIndex + 1, other);
  Request second = invalidation();
  second.stag = stag_of(kExampleIndex + 1, other.key);
  xlate.drive_request(2, second);
  for (int i = 0; i < 50; ++i) xlate.cycle();
  xlate.reads_under_way = false;
  CHECK(answer_to(xlate, 1).status == kXlateOk);
  for (int i = 0; i < 50; ++i) {
    xlate.cycle();
    CHECK(xlate.dut().rsp_valid_o == 0);
  }
  xlate.dut().hold_i = 0;
  CHECK(answer_to(xlate, 2).status == kXlateOk);
}

TEST_CASE("A fence waits for an address that an invalidation finds in the pipeline") {
  const int moment = GENERATE(Catch::Generators::range(0, 12));
  const int delay = GENERATE(Catch::Generators::range(0, 6));
  INFO("invalidated " << moment << ", and delayed " << delay << " cycles after the look-up");
  constexpr int kHolds = 20;
  Xlate xlate;
  xlate.write_region(kExampleIndex, example_region());
  xlate.look_up(ring_request(0));
  xlate.look_up(example_request());
  xlate.cycle();
  xlate.drive_request(0, example_request());
  int held = -1;  // cycles since it has the address
  bool over = false;
  for (int i = 0; i < kLimit && !over; ++i) {
    if (i == moment) xlate.drive_request(1, invalidation());
    if (i == delay) xlate.drive_request(2, ring_request(0));
    xlate.dut().hold_i = held >= 1 && held < kHolds;  // a client has it a cycle later
    xlate.cycle();
    if (held >= 0) ++held;
    if (xlate.dut().rsp_valid_o & 1) held = xlate.response().status == kXlateOk ? 0 : kHolds;
    if (xlate.fence_asked) CHECK((held == -1 || held >= kHolds));
    over = (xlate.dut().rsp_valid_o & 2) != 0;
  }
  CHECK(over);
  CHECK(held >= kHolds);
}

}  // namespace
}  // namespace exrnic::testing
