// SPDX-License-Identifier: BSD-2-Clause
#include <catch2/catch_test_macros.hpp>

#include "Vexrnic_pkg_check.h"
#include "verilated.h"

TEST_CASE("every structure of the SystemVerilog package has the size and places of the spec") {
  VerilatedContext context;
  Vexrnic_pkg_check check{&context};
  check.eval();  // the first structure that is off ends it by $fatal, with its name
  CHECK(context.gotFinish());
}
