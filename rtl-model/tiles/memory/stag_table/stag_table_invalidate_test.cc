// SPDX-License-Identifier: BSD-2-Clause
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "rtl-model/tiles/memory/stag_table/stag_table_bench.h"

namespace exrnic::testing {
namespace {

TEST_CASE("An invalidated region refuses every access, and remains the driver's") {
  StagTable table;
  table.write(kExampleIndex, example_region());
  CHECK(table.look_up(invalidation()).status == kXlateOk);
  CHECK(table.look_up(example_access()).status == kXlateStag);
  CHECK(table.look_up(invalidation()).status == kXlateStag);
  const Mr region = table.read(kExampleIndex);
  CHECK(region.valid);
  CHECK(region.invalidated);
  CHECK(region.length == example_region().length);
  CHECK_FALSE(table.read(kExampleIndex + 1).invalidated);

  table.write(kExampleIndex, example_region());  // registered anew
  CHECK(table.look_up(example_access()).status == kXlateOk);
}

TEST_CASE("An invalidation needs STag, domain, and one of the rights given; else nothing changes") {
  StagTable table;
  table.write(kExampleIndex, example_region());
  Access refused = invalidation(EXRNIC_ACCESS_REMOTE_WRITE);
  XlateStatus status = kXlateAccess;
  SECTION("no such right") {}
  SECTION("another domain") { refused.pd = 8, status = kXlateStream; }
  SECTION("another key") { refused.stag ^= 1, status = kXlateStag; }
  SECTION("no such region") { refused.stag += 0x100, status = kXlateStag; }
  SECTION("beyond the table") {
    refused.stag = stag_of(EXRNIC_MAX_STAG + kExampleIndex, 0x2a), status = kXlateStag;
  }
  CHECK(table.look_up(refused).status == status);
  CHECK(table.look_up(example_access()).status == kXlateOk);
  constexpr uint8_t kEither = EXRNIC_ACCESS_REMOTE_WRITE | EXRNIC_ACCESS_REMOTE_READ;
  CHECK(table.look_up(invalidation(kEither)).status == kXlateOk);
  CHECK(table.look_up(example_access()).status == kXlateStag);
}

TEST_CASE("An access right behind an invalidation is refused") {
  StagTable table;
  table.write(kExampleIndex, example_region());
  table.drive_request(invalidation());
  table.cycle();
  CHECK(table.look_up(example_access()).status == kXlateStag);
}

TEST_CASE("An invalidation that meets writes of regions is done, and hits no newer region") {
  const int moment = GENERATE(0, 1, 2, 3);
  INFO("writes from " << moment << " cycles after the invalidation on");
  StagTable table;
  table.write(kExampleIndex, example_region());
  table.drive_request(invalidation());
  table.cycle();
  table.dut().req_valid_i = 0;
  for (int i = 0; i < moment; ++i) table.cycle();
  SECTION("another region") {
    for (int i = 0; i < 3; ++i) table.write(kExampleIndex + 1, example_region());
    CHECK(table.look_up(example_access()).status == kXlateStag);
  }
  SECTION("the same one") {
    table.write(kExampleIndex, example_region());
    CHECK(table.look_up(example_access()).status == kXlateOk);
  }
}

}  // namespace
}  // namespace exrnic::testing
