// SPDX-License-Identifier: BSD-2-Clause
// Regions that work requests register.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "rtl-model/tiles/memory/stag_table/stag_table_bench.h"

namespace exrnic::testing {
namespace {

// As the driver makes it: nobody has registered it yet.
Mr fast_region() {
  Mr region;
  region.valid = region.invalidated = true;
  region.kind = EXRNIC_REGION_KIND_FAST;
  region.pd = 7;
  return region;
}

Access registration() {
  Access access;
  access.stag = kExampleStag;
  access.pd = 7;
  access.access = EXRNIC_ACCESS_REMOTE_READ;
  access.to = 0x70000800;
  access.registers = true;
  access.length = 0x1800;
  access.pbl_address = 0x1234567890abc0;
  return access;
}

TEST_CASE("A region of kind fast is what a registration says, until it is invalidated") {
  StagTable table;
  table.write(kExampleIndex, fast_region());
  CHECK(table.look_up(example_access()).status == kXlateStag);
  CHECK(table.look_up(registration()).status == kXlateOk);
  check_equal(table.look_up(example_access()), {kXlateOk, 0x1234567890abc0, false, 0x800});
  Access too_long = example_access();
  ++too_long.length;
  CHECK(table.look_up(too_long).status == kXlateBounds);
  CHECK(table.look_up(registration()).status == kXlateStag);  // it is registered
  CHECK(table.look_up(invalidation()).status == kXlateOk);
  CHECK(table.look_up(example_access()).status == kXlateStag);
  Access again = registration();
  again.stag ^= 0xff;  // the key is the work request's
  again.huge = true;
  CHECK(table.look_up(again).status == kXlateOk);
  CHECK(table.look_up(example_access()).status == kXlateStag);
  Access access = example_access();
  access.stag ^= 0xff;
  CHECK(table.look_up(access).huge);
}

TEST_CASE("Each registration is another life of the region") {
  StagTable table;
  Mr region = fast_region();
  region.life = 0xff00;
  table.write(kExampleIndex, region);
  for (unsigned life = 0xff01; life < 0x10100; ++life) {
    REQUIRE(table.look_up(registration()).status == kXlateOk);
    REQUIRE(table.look_up(example_access()).status == kXlateOk);
    REQUIRE(table.dut().rsp_life_o == life % 0x10000);
    REQUIRE(table.look_up(invalidation()).status == kXlateOk);
  }
}

TEST_CASE("What is no region of kind fast, of the domain and not registered, is not registered") {
  StagTable table;
  Mr region = fast_region();
  XlateStatus status = kXlateStag;
  SECTION("its pages were given by the driver") { region.kind = EXRNIC_REGION_KIND_MEMORY; }
  SECTION("it is registered") { region.invalidated = false; }
  SECTION("it does not exist") { region.valid = false; }
  SECTION("another domain") { region.pd = 8, status = kXlateStream; }
  table.write(kExampleIndex, region);
  CHECK(table.look_up(registration()).status == status);
  CHECK(table.read(kExampleIndex).length == 0);
  Access beyond = registration();
  beyond.stag += EXRNIC_MAX_STAG << EXRNIC_STAG_INDEX_SHIFT;
  CHECK(table.look_up(beyond).status == kXlateStag);
}

TEST_CASE("A registration that meets writes of regions is done, and hits no newer region") {
  const int moment = GENERATE(0, 1, 2, 3);
  INFO("writes from " << moment << " cycles after the registration on");
  StagTable table;
  table.write(kExampleIndex, fast_region());
  table.drive_request(registration());
  table.cycle();
  table.dut().req_valid_i = 0;
  for (int i = 0; i < moment; ++i) table.cycle();
  SECTION("another region") {
    for (int i = 0; i < 3; ++i) table.write(kExampleIndex + 1, fast_region());
    CHECK(table.look_up(example_access()).status == kXlateOk);
    CHECK(table.read(kExampleIndex + 1).invalidated);
  }
  SECTION("the same one") {
    table.write(kExampleIndex, fast_region());
    for (int i = 0; i < 4; ++i) table.cycle();  // the registration is answered
    CHECK(table.look_up(example_access()).status == kXlateStag);
    CHECK(table.read(kExampleIndex).length == 0);
  }
}

}  // namespace
}  // namespace exrnic::testing
