// SPDX-License-Identifier: BSD-2-Clause
#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "Vpause.h"
#include "rtl-model/testing/bench.h"
#include "rtl-model/testing/records.h"

namespace exrnic::testing {
namespace {

constexpr unsigned kQpn = 0x3ff;
constexpr unsigned kOther = 0x155;
constexpr uint64_t kUnit = EXRNIC_RNR_UNIT_NS;

// A cycle takes as long as a unit has cycles in the tests: each queue pair is looked at in time.
class Pause : public Bench<Vpause> {
 public:
  Pause() {
    clear_inputs();
    reset();
  }

  void cycle() override {
    dut().time_i = now;
    settle();
    if (dut().wake_valid_o && dut().wake_ready_i) woken.push_back(dut().wake_qpn_o);
    tick();
    clear_inputs();
    settle();
  }
  void start(unsigned qpn, unsigned code) {
    dut().start_i = 1;
    dut().start_qpn_i = qpn;
    dut().start_code_i = code;
    cycle();
  }
  void clear(unsigned by, unsigned qpn) {
    dut().clear_i = 1u << by;
    dut().clear_qpn_i[by] = qpn;
    cycle();
  }
  void wait(unsigned qpn) {
    dut().wait_i = 1;
    dut().wait_qpn_i = qpn;
    cycle();
  }
  void raise(unsigned qpn) {
    dut().raised_i = 1;
    dut().raised_qpn_i = qpn;
    cycle();
  }
  void look_at_all() {
    for (unsigned i = 0; i < EXRNIC_MAX_QP + 2; ++i) cycle();
  }
  bool pauses(unsigned qpn) {
    dut().look_qpn_i = qpn;
    settle();
    return dut().pauses_o;
  }
  bool idle() { return dut().idle_o; }

  uint64_t now = 0xffff'f000;  // its low half wraps soon
  bool ready = true;
  std::vector<unsigned> woken;

 private:
  void clear_inputs() {
    dut().start_i = dut().clear_i = dut().wait_i = dut().raised_i = 0;
    dut().wake_ready_i = ready;
  }
};

TEST_CASE("A pause lasts as long as its code says, by the table of the verbs, then wakes once") {
  const uint64_t units[] = {65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
                            48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
                            2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
  static_assert(std::size(units) == EXRNIC_RNR_TIMER_MAX + 1);
  for (unsigned code = 0; code <= EXRNIC_RNR_TIMER_MAX; ++code) {
    INFO("code " << code);
    Pause pause;
    CHECK(pause.idle());
    pause.start(kQpn, code);
    pause.now += units[code] * kUnit - 1;
    pause.look_at_all();
    CHECK(pause.woken.empty());
    CHECK(pause.pauses(kQpn));
    CHECK_FALSE(pause.idle());
    ++pause.now;
    pause.look_at_all();
    CHECK(pause.woken == std::vector<unsigned>{kQpn});
    CHECK_FALSE(pause.pauses(kQpn));
    CHECK(pause.idle());
  }
}

TEST_CASE("One that waits for credits is woken when they come, at once; or when it has waited") {
  Pause pause;
  pause.wait(kOther);
  pause.wait(kQpn);
  pause.raise(kQpn);
  for (int i = 0; i < 3; ++i) pause.cycle();
  CHECK(pause.woken == std::vector<unsigned>{kQpn});
  CHECK_FALSE(pause.pauses(kQpn));
  pause.now += (kUnit << EXRNIC_CREDIT_PROBE_CODE / 2) - 1;
  pause.look_at_all();
  CHECK(pause.pauses(kOther));
  ++pause.now;
  pause.look_at_all();
  CHECK(pause.woken == std::vector<unsigned>{kQpn, kOther});
  CHECK(pause.idle());
}

TEST_CASE("Credits do not end a pause that the peer has asked for") {
  Pause pause;
  pause.wait(kQpn);
  pause.start(kQpn, 1);
  pause.raise(kQpn);
  pause.raise(kOther);
  pause.look_at_all();
  CHECK(pause.woken.empty());
  CHECK(pause.pauses(kQpn));
}

TEST_CASE("A wake-up waits until it is taken; others pause on") {
  Pause pause;
  pause.start(kOther, 2);
  pause.start(kQpn, 1);
  pause.now += kUnit;
  pause.ready = false;
  pause.look_at_all();
  CHECK(pause.woken.empty());
  CHECK(pause.pauses(kQpn));
  pause.ready = true;
  pause.look_at_all();
  CHECK(pause.woken == std::vector<unsigned>{kQpn});
  CHECK(pause.pauses(kOther));
}

TEST_CASE("A pause that is over stays so, if nobody takes the wake-up for a second and a half") {
  Pause pause;
  pause.start(kQpn, 1);
  pause.ready = false;
  pause.now += 1'500'000'000;
  pause.look_at_all();
  CHECK(pause.dut().wake_valid_o);
  pause.ready = true;
  pause.look_at_all();
  CHECK(pause.woken == std::vector<unsigned>{kQpn});
}

TEST_CASE("A pause that is started again counts from then on") {
  Pause pause;
  pause.start(kQpn, 1);
  pause.now += kUnit - 1;
  pause.start(kQpn, 1);
  pause.now += kUnit - 1;
  pause.look_at_all();
  CHECK(pause.woken.empty());
}

TEST_CASE("Whoever fails or configures a queue pair ends its pause, without a wake-up") {
  for (unsigned by = 0; by < 4; ++by) {
    Pause pause;
    pause.start(kQpn, 1);
    pause.start(kOther, 1);
    pause.clear(by, kQpn);
    CHECK_FALSE(pause.pauses(kQpn));
    CHECK(pause.pauses(kOther));
    pause.now += kUnit;
    pause.look_at_all();
    CHECK(pause.woken == std::vector<unsigned>{kOther});
  }
}

TEST_CASE("A wake-up that waits is withdrawn when its queue pair fails, or is to pause again") {
  for (const bool fails : {true, false}) {
    Pause pause;
    pause.start(kQpn, 1);
    pause.now += kUnit;
    pause.ready = false;
    pause.look_at_all();
    CHECK(pause.dut().wake_valid_o);
    fails ? pause.clear(1, kQpn) : pause.start(kQpn, 1);
    pause.ready = true;
    pause.look_at_all();
    CHECK(pause.woken.empty());
    CHECK(pause.pauses(kQpn) == !fails);
  }
}

TEST_CASE("Credits that come for others again and again do not hold up the end of a pause") {
  Pause pause;
  pause.start(kQpn, 1);
  pause.now += kUnit;
  for (unsigned i = 0; i < EXRNIC_MAX_QP / 16; ++i) {
    pause.wait(kOther);
    pause.raise(kOther);
    for (int cycle = 0; cycle < 30; ++cycle) pause.cycle();
  }
  CHECK_FALSE(pause.pauses(kQpn));
}

}  // namespace
}  // namespace exrnic::testing
