// SPDX-License-Identifier: BSD-2-Clause
#include "sim/ethernet/port_table.h"

#include <catch2/catch_test_macros.hpp>

namespace exrnic {
namespace {

TEST_CASE("a number has the port that was set last, and none before") {
  PortTable table;
  for (const uint16_t number : {0, 64, 65'534, 65'535}) {
    CHECK(table.at(number) == PortTable::kNone);
    table.set(number, 4095);
    CHECK(table.at(number) == 4095);
    table.set(number, 0);
    CHECK(table.at(number) == 0);
    table.set(number, PortTable::kNone);
    CHECK(table.at(number) == PortTable::kNone);
  }
}

TEST_CASE("a port that is set is that of one number alone") {
  PortTable table;
  table.set(70, 1);
  table.set(71, 2);
  table.set(200, 3);
  CHECK(table.at(70) == 1);
  CHECK(table.at(71) == 2);
  CHECK(table.at(200) == 3);
  for (const uint16_t number : {69, 72, 6, 134, 199, 201})
    CHECK(table.at(number) == PortTable::kNone);
}

TEST_CASE("a table that changes shares what did not change, and the other one stays") {
  PortTable table;
  table.set(1, 1);
  table.set(100, 1);
  PortTable copy = table;
  copy.set(1, 2);
  CHECK(table.at(1) == 1);
  CHECK(copy.at(1) == 2);
  CHECK(copy.blocks()[0] != table.blocks()[0]);
  CHECK(copy.blocks()[1] == table.blocks()[1]);
}

}  // namespace
}  // namespace exrnic
