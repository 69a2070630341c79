// SPDX-License-Identifier: BSD-2-Clause
// That assertions between blocks (exrnic_assert.svh) strike where they should, and only there.
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdio>
#include <functional>
#include <string>
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

// What is printed to stdout meanwhile.
std::string printed(const std::function<void()>& during) {
  std::FILE* const file = std::tmpfile();
  std::fflush(stdout);
  const int before = ::dup(STDOUT_FILENO);
  ::dup2(::fileno(file), STDOUT_FILENO);
  during();
  std::fflush(stdout);
  ::dup2(before, STDOUT_FILENO);
  ::close(before);
  std::rewind(file);
  std::string text(4096, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
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

TEST_CASE("what strikes is named in a line, with the file, and the module where it stands") {
  const std::string text = printed([] { strikes({kHeld, kOther}); });
  CHECK_THAT(text, Catch::Matchers::Matches(
                       "\\[[0-9]+\\] %Error: assert_check.sv:[0-9]+: Assertion failed in "
                       "TOP.assert_check.is_held: [^\n]*\n(.|\n)*"));
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
