// SPDX-License-Identifier: BSD-2-Clause
// That assertions between blocks (exrnic_assert.svh) strike where they should, and only there.
#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "Vassert_check.h"
#include "verilated.h"

namespace {

struct Cycle {
  bool held = false;
  bool offered = false;
  bool ready = false;
  uint8_t item = 0;
  bool always = true;
  bool reset = false;
};

bool strikes(const std::vector<Cycle>& cycles) {
  VerilatedContext context;
  context.fatalOnError(false);
  Vassert_check dut{&context};
  const auto clock = [&](const Cycle& cycle) {
    dut.clk_i = 0;
    dut.rst_ni = !cycle.reset;
    dut.held_valid_i = cycle.held;
    dut.offered_valid_i = cycle.offered;
    dut.ready_i = cycle.ready;
    dut.item_i = cycle.item;
    dut.always_i = cycle.always;
    dut.eval();
    dut.clk_i = 1;
    dut.eval();
  };
  clock({false, false, false, 0, true, true});
  for (const Cycle& cycle : cycles) clock(cycle);
  clock({});
  return context.gotError();
}

const Cycle kHeld{true, false, false, 5};
const Cycle kTaken{true, false, true, 5};
const Cycle kOther{true, false, true, 6};
const Cycle kOffered{false, true, false, 5};

TEST_CASE("an item that is held until it is taken strikes nothing") {
  CHECK_FALSE(strikes({kTaken}));
  CHECK_FALSE(strikes({kHeld, kHeld, kTaken, kOther}));
}

TEST_CASE("an item that is withdrawn, or changes before it is taken, strikes") {
  CHECK(strikes({kHeld}));
  CHECK(strikes({kHeld, kOther}));
}

TEST_CASE("where another one may come only a withdrawal strikes") {
  CHECK_FALSE(strikes({kOffered, {false, true, false, 6}, {false, true, true, 7}}));
  CHECK(strikes({kOffered}));
}

TEST_CASE("what must be so strikes in each cycle in which it is not, but for resets") {
  CHECK_FALSE(strikes({{}, {}}));
  CHECK(strikes({{false, false, false, 0, false}}));
  CHECK_FALSE(strikes({{false, false, false, 0, false, true}}));
  CHECK_FALSE(strikes({kHeld, {false, false, false, 0, true, true}}));
}

}  // namespace
