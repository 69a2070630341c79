// SPDX-License-Identifier: BSD-2-Clause
#include <catch2/catch_test_macros.hpp>
#include <deque>
#include <random>
#include <vector>

#include "rtl-model/tiles/memory/stag_table/stag_table_bench.h"

namespace exrnic::testing {
namespace {

// The specification: RFC 5041, 8 (STag, association, wrap, bounds) with the rights of RFC 5040, 8.
Answer oracle(const std::vector<Mr>& table, const Access& access) {
  using Wide = unsigned __int128;
  const uint32_t index = access.stag >> EXRNIC_STAG_INDEX_SHIFT;
  if (index >= table.size()) return {kXlateStag};
  const Mr& region = table[index];
  const Wide end = Wide{access.to} + access.length;
  const bool of_domain = region.kind == EXRNIC_REGION_KIND_DOMAIN_WINDOW;
  const bool window = region.kind == EXRNIC_REGION_KIND_MEMORY_WINDOW || of_domain;
  const bool for_peer = (access.access & kPeerRights) != 0;
  if (!region.valid) return {kXlateStag};
  if (access.binds) {
    if (!window || (!of_domain && !region.invalidated)) return {kXlateStag};
    return {region.pd == access.pd ? kXlateOk : kXlateStream};
  }
  if (access.invalidate && of_domain && access.access == 0)
    return {region.pd == access.pd ? kXlateOk : kXlateStream};
  if (region.invalidated) return {kXlateStag};
  if (access.behind ? window || region.life != access.life : region.key != (access.stag & 0xff))
    return {kXlateStag};
  if (region.pd != access.pd) return {kXlateStream};
  if (window && !of_domain && for_peer &&
      !(binding_of(region) == MwBinding{binding_of(region).region, binding_of(region).life,
                                        access.qpn, access.generation}))
    return {kXlateStream};
  if (access.invalidate) {
    const bool right =
        access.access == 0 || (window ? !of_domain : (region.access & access.access) != 0);
    return {right ? kXlateOk : kXlateAccess};
  }
  if ((region.access & access.access) != access.access) return {kXlateAccess};
  if (window && !for_peer) return {kXlateAccess};
  if (end > Wide{1} << 64) return {kXlateWrap};
  if (access.to < region.base || end > Wide{region.base} + region.length) return {kXlateBounds};
  const unsigned shift = region.huge_pages ? EXRNIC_HUGE_PAGE_SHIFT : EXRNIC_PAGE_SHIFT;
  const uint64_t first_page = region.base >> shift << shift;
  return {kXlateOk, region.pbl_address, region.huge_pages, access.to - first_page, window};
}

// What an access that is asked now leaves behind.
Answer apply(std::vector<Mr>& table, const Access& access) {
  const Answer answer = oracle(table, access);
  if (answer.status != kXlateOk) return answer;
  if (access.invalidate) table[access.stag >> EXRNIC_STAG_INDEX_SHIFT].invalidated = true;
  if (access.binds) {
    Mr& window = table[access.stag >> EXRNIC_STAG_INDEX_SHIFT];
    window.invalidated = false;
    ++window.life;
    window.key = static_cast<uint8_t>(access.stag);
    window.access = access.access;
    window.huge_pages = access.huge;
    window.base = access.to;
    window.length = access.length;
    window.pbl_address = access.pbl_address;
  }
  return answer;
}

// Regions and accesses close to each other's edges, and to both ends of the address space.
class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}

  uint64_t below(uint64_t limit) { return limit == 0 ? 0 : engine_() % limit; }

  Mr region() {
    Mr region;
    region.valid = below(8) != 0;
    region.invalidated = below(32) == 0;
    region.key = static_cast<uint8_t>(below(2));
    region.pd = static_cast<uint16_t>(below(2));
    region.access = static_cast<uint8_t>(below(kAllRights + 1));
    region.huge_pages = below(2);
    region.length = 1 + below(uint64_t{1} << below(24));
    switch (below(4)) {
      case 0:
        region.base = kTop - region.length + 1 - (below(2) ? 0 : below(5000));
        break;
      case 1:
        region.base = below(2);
        break;
      default:
        region.base = engine_() >> 1;
    }
    if (region.base == 0 && below(4) == 0) region.length = kTop;
    region.pbl_address = engine_() & ~uint64_t{EXRNIC_PBL_LINE_SIZE - 1};
    region.life = static_cast<uint16_t>(below(2));
    if (below(3) == 0) {
      region.kind = below(2) ? EXRNIC_REGION_KIND_MEMORY_WINDOW : EXRNIC_REGION_KIND_DOMAIN_WINDOW;
      region.invalidated = below(4) == 0;
      region.pbl_address = in_entry(binding());
    }
    return region;
  }

  MwBinding binding() {
    return {static_cast<uint16_t>(below(64)), static_cast<uint16_t>(below(2)),
            static_cast<uint16_t>(below(2)), static_cast<uint16_t>(below(2))};
  }

  Access access(const std::vector<Mr>& table) {
    const auto index = static_cast<uint32_t>(below(table.size()));
    const Mr& region = table[index];
    Access access;
    access.stag = stag_of(index, below(8) ? region.key : static_cast<uint8_t>(below(256)));
    if (below(32) == 0) access.stag = stag_of(EXRNIC_MAX_STAG + index, region.key);
    access.pd = below(8) ? region.pd : static_cast<uint16_t>(below(EXRNIC_MAX_PD));
    access.access =
        below(4) ? region.access & engine_() : static_cast<uint8_t>(below(kAllRights + 1));
    access.to = region.base + below(region.length);
    const uint64_t rest = region.base + region.length - access.to;
    access.length = static_cast<uint32_t>(1 + below(rest < 0xffffffff ? rest : 0xffffffff));
    if (below(3) == 0) access.length = static_cast<uint32_t>(rest + below(3));
    if (below(6) == 0) access.to = region.base - 1 - below(3);
    if (access.length == 0) access.length = 1;
    const MwBinding asker = below(4) ? binding_of(region) : binding();
    access.qpn = asker.qpn % kQps;
    access.generation = asker.generation;
    if (below(16) == 0) {
      access.invalidate = true;
    } else if (below(8) == 0) {
      access.behind = true;
      access.life = below(8) ? region.life : static_cast<uint16_t>(below(2));
    } else if ((region.invalidated || region.kind == EXRNIC_REGION_KIND_DOMAIN_WINDOW) &&
               below(2) == 0) {
      access.binds = true;
      if (access.to + (access.length - 1) < access.to) access.to = 0;
      access.pbl_address = in_entry(binding());
    }
    return access;
  }

 private:
  std::mt19937_64 engine_;
};

TEST_CASE("After reset no STag is valid") {
  StagTable table;
  for (uint32_t index : {0u, 1u, EXRNIC_MAX_STAG - 1}) {
    CHECK_FALSE(table.read(index).valid);
    CHECK(table.look_up({stag_of(index, 0), 0, 0, 0, 1}).status == kXlateStag);
  }
}

TEST_CASE(
    "A reset forgets every region, wherever it stood; one is written anew beside forgotten ones") {
  StagTable table;
  for (uint32_t index = 0; index < EXRNIC_MAX_STAG; index += 61)
    table.write(index, example_region());
  table.restart();
  for (uint32_t index = 0; index < EXRNIC_MAX_STAG; index += 61) {
    CAPTURE(index);
    CHECK_FALSE(table.read(index).valid);
    CHECK(table.look_up({stag_of(index, example_region().key), 7, 0, 0x70000800, 1}).status ==
          kXlateStag);
  }
  table.write(122, example_region());
  CHECK(table.read(122).valid);
  for (uint32_t index : {61u, 121u, 123u, 183u}) CHECK_FALSE(table.read(index).valid);
}

TEST_CASE("The management port reads what it wrote, one cycle after the index") {
  StagTable table;
  table.write(kExampleIndex, example_region());
  const Mr got = table.read(kExampleIndex);
  CHECK(got.valid);
  CHECK(got.key == 0x2a);
  CHECK(got.pd == 7);
  CHECK(got.access == EXRNIC_ACCESS_REMOTE_READ);
  CHECK_FALSE(got.huge_pages);
  CHECK(got.base == 0x70000800);
  CHECK(got.length == 0x1800);
  CHECK(got.pbl_address == 0x1234567890abc0);
  CHECK_FALSE(table.read(kExampleIndex + 1).valid);
}

TEST_CASE("An access to the whole region is granted, with the offset counted from its first page") {
  StagTable table;
  table.write(kExampleIndex, example_region());
  check_equal(table.look_up(example_access()), {kXlateOk, 0x1234567890abc0, false, 0x800});
  Access last = example_access();
  last.to = 0x70001fff;
  last.length = 1;
  check_equal(table.look_up(last), {kXlateOk, 0x1234567890abc0, false, 0x1fff});
}

TEST_CASE("In huge pages the offset is counted from the first huge page") {
  StagTable table;
  Mr region = example_region();
  region.huge_pages = true;
  region.base = 0x70123800;
  table.write(kExampleIndex, region);
  Access access = example_access();
  access.to = 0x70123801;
  access.length = 1;
  check_equal(table.look_up(access), {kXlateOk, 0x1234567890abc0, true, 0x123801});
}

TEST_CASE("A look-up is answered three cycles after it is taken") {
  StagTable table;
  table.drive_request(example_access());
  for (int cycle = 1; cycle <= 3; ++cycle) {
    CHECK_FALSE(table.dut().rsp_valid_o);
    table.cycle();
    table.dut().req_valid_i = 0;
  }
  CHECK(table.dut().rsp_valid_o);
  table.cycle();
  CHECK_FALSE(table.dut().rsp_valid_o);
}

TEST_CASE("Each violation has its status, and the first in the RFC's order wins") {
  StagTable table;
  table.write(kExampleIndex, example_region());
  Access access = example_access();
  access.to = kTop;  // wraps, and is far outside
  CHECK(table.look_up(access).status == kXlateWrap);
  access.access = EXRNIC_ACCESS_REMOTE_READ | EXRNIC_ACCESS_REMOTE_WRITE;
  CHECK(table.look_up(access).status == kXlateAccess);
  access.pd = 8;
  CHECK(table.look_up(access).status == kXlateStream);
  access.stag ^= 1;  // another key
  CHECK(table.look_up(access).status == kXlateStag);
}

TEST_CASE("An index beyond the table is an invalid STag, whatever entry its low bits name") {
  StagTable table;
  table.write(kExampleIndex, example_region());
  Access access = example_access();
  access.stag = stag_of(EXRNIC_MAX_STAG + kExampleIndex, 0x2a);
  CHECK(table.look_up(access).status == kXlateStag);
}

TEST_CASE("One byte outside the region is out of bounds") {
  StagTable table;
  table.write(kExampleIndex, example_region());
  Access below = example_access();
  below.to -= 1;
  below.length = 1;
  CHECK(table.look_up(below).status == kXlateBounds);
  Access longer = example_access();
  longer.length += 1;
  CHECK(table.look_up(longer).status == kXlateBounds);
  Access after = example_access();
  after.to += 0x1800;
  after.length = 1;
  CHECK(table.look_up(after).status == kXlateBounds);
}

TEST_CASE("A region may end at 2^64: its last byte is in bounds, one more wraps") {
  StagTable table;
  Mr region = example_region();
  region.base = kTop - 0xfff;
  region.length = 0x1000;
  table.write(kExampleIndex, region);
  Access access = example_access();
  access.to = kTop;
  access.length = 1;
  check_equal(table.look_up(access), {kXlateOk, 0x1234567890abc0, false, 0xfff});
  access.length = 2;
  CHECK(table.look_up(access).status == kXlateWrap);
}

TEST_CASE("A look-up in the cycle of a write waits and sees the new entry") {
  StagTable table;
  table.drive_request(example_access());
  table.drive_write(kExampleIndex, example_region());
  table.settle();
  CHECK_FALSE(table.dut().req_ready_o);
  table.cycle();
  table.dut().we_i = 0;
  CHECK(table.look_up(example_access()).status == kXlateOk);
}

TEST_CASE("A write behind a look-up does not change its answer") {
  StagTable table;
  table.write(kExampleIndex, example_region());
  table.drive_request(example_access());
  table.cycle();
  table.dut().req_valid_i = 0;
  table.write(kExampleIndex, Mr{});
  table.wait_for("rsp_valid_o", 4, [&] { return table.dut().rsp_valid_o != 0; });
  check_equal(table.answer(), {kXlateOk, 0x1234567890abc0, false, 0x800});
  CHECK(table.look_up(example_access()).status == kXlateStag);
}

TEST_CASE("Random accesses, back to back and among writes, agree with the specification") {
  constexpr uint32_t kSeed = 20240501;
  constexpr int kAccesses = 200000;
  INFO("seed " << kSeed);
  Random random(kSeed);
  StagTable table;
  std::vector<Mr> model(64);  // small, so that accesses meet fresh writes
  std::deque<Answer> expected;
  std::deque<bool> change;  // of those expected
  int invalidations = 0;    // granted
  int binds = 0;
  int windows = 0;  // accesses
  std::vector<int> seen(kXlateMemory);
  int asked = 0;
  int answered = 0;
  for (int cycle = 0; answered < kAccesses; ++cycle) {
    REQUIRE(cycle < 2 * kAccesses);  // waited in vain for answers
    table.dut().we_i = 0;
    table.dut().req_valid_i = 0;
    const bool write = random.below(8) == 0;
    const auto index = static_cast<uint32_t>(random.below(model.size()));
    const Mr region = random.region();
    if (write) table.drive_write(index, region);
    const Access access = random.access(model);
    const bool ask = asked < kAccesses && random.below(8) != 0;
    if (ask) table.drive_request(access);
    table.settle();
    if (ask && table.dut().req_ready_o) {
      expected.push_back(apply(model, access));
      invalidations += access.invalidate && expected.back().status == kXlateOk;
      binds += access.binds && expected.back().status == kXlateOk;
      windows += expected.back().window;
      change.push_back(access.invalidate || access.binds);
      ++asked;
    }
    if (write) model[index] = region;
    table.cycle();
    if (!table.dut().rsp_valid_o) continue;
    INFO("answer " << answered);
    REQUIRE_FALSE(expected.empty());
    if (change.front())
      REQUIRE(int{table.answer().status} == int{expected.front().status});
    else
      check_equal(table.answer(), expected.front());
    change.pop_front();
    ++seen[expected.front().status];
    expected.pop_front();
    ++answered;
  }
  for (int status = kXlateOk; status <= kXlateBounds; ++status) {
    INFO("status " << status);
    CHECK(seen[status] > kAccesses / 100);  // the test is not lopsided
  }
  CHECK(invalidations > kAccesses / 200);
  CHECK(binds > kAccesses / 200);
  CHECK(windows > kAccesses / 200);
}

}  // namespace
}  // namespace exrnic::testing
