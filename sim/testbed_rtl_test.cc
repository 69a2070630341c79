// SPDX-License-Identifier: BSD-2-Clause
// What the testbed promises, with the verilated core in it.
#include <verilated.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <vector>

#include "exrnic_hw.h"
#include "sim/host/in_process_host.h"
#include "sim/testbed.h"

namespace exrnic {
namespace {

constexpr uint64_t kStartLimitNs = 10'000'000;  // the core clears its tables after power-on

struct Bench {
  explicit Bench(const char* profile) : testbed(options(profile), make_rtl_core), host(testbed, 0) {
    host.load(EXRNIC_BAR_REGISTERS, EXRNIC_REG_NODE_ID, 4);
    REQUIRE(testbed.run_until([] { return false; }, kStartLimitNs) == RunResult::kIdle);
  }

  static TestbedOptions options(const char* profile) {
    TestbedOptions options;
    options.profile = load_profile(profile);
    options.nodes = 1;
    return options;
  }

  Testbed testbed;
  InProcessHost host;
};

TEST_CASE("a register read of the verilated core takes 580 ns with the profile expether-gbe") {
  Bench bench("expether-gbe");
  const uint64_t period_ns = bench.testbed.node(0).rnic().period_ps() / kPsPerNs;
  uint64_t sum_ns = 0;
  for (uint64_t phase_ns = 0; phase_ns < period_ns; ++phase_ns) {
    bench.testbed.run_for(100 * period_ns - bench.testbed.now_ns() % period_ns + phase_ns);
    const uint64_t before = bench.testbed.now_ns();
    CHECK(bench.host.load(EXRNIC_BAR_REGISTERS, EXRNIC_REG_CLOCK_KHZ, 4) == 125'000);
    sum_ns += bench.testbed.now_ns() - before;
  }
  CHECK(sum_ns / period_ns >= 579);
  CHECK(sum_ns / period_ns <= 581);
}

TEST_CASE("the verilated core sleeps when it has nothing to do, and a load wakes it") {
  Bench bench("dc-25g");
  const uint64_t cycles = bench.testbed.node(0).rnic().cycles();
  bench.testbed.run_for(1'000'000);
  CHECK(bench.testbed.node(0).rnic().cycles() == cycles);
  CHECK_FALSE(bench.testbed.busy());
  bench.host.load(EXRNIC_BAR_REGISTERS, EXRNIC_REG_NODE_ID, 4);
  bench.testbed.run_for(1'000'000);
  const uint64_t woken = bench.testbed.node(0).rnic().cycles() - cycles;
  CHECK(woken > 0);
  CHECK(woken < 100);
}

TEST_CASE("a core that does not keep what it asserts ends the run with an error") {
  Bench bench("dc-25g");
  Verilated::defaultContextp()->gotError(true);  // as an assertion leaves it
  CHECK_THROWS_WITH(bench.host.load(EXRNIC_BAR_REGISTERS, EXRNIC_REG_NODE_ID, 4),
                    Catch::Matchers::ContainsSubstring("does not keep what it asserts"));
}

TEST_CASE("a reset answers a load in flight with all ones, and the core then serves the next") {
  Bench bench("dc-25g");
  std::vector<uint64_t> answers;
  const auto load = [&] {
    bench.testbed.node(0).device().mmio_read(EXRNIC_BAR_REGISTERS, EXRNIC_REG_CLOCK_KHZ, 4,
                                             [&](uint64_t value) { answers.push_back(value); });
  };
  // Every point of a load's way: in the link, in the core, on the way back.
  for (uint64_t delay_ns = 0; delay_ns < 600; delay_ns += 7) {
    answers.clear();
    load();
    bench.testbed.run_for(delay_ns);
    bench.testbed.node(0).device().reset();
    load();
    REQUIRE(bench.testbed.run_until([&] { return answers.size() == 2; }, kStartLimitNs) ==
            RunResult::kDone);
    const bool answered_before = answers[0] == 250'000;
    CHECK((answered_before || answers[0] == 0xffffffff));
    CHECK(answers[1] == 250'000);
  }
}

}  // namespace
}  // namespace exrnic
