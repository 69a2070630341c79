// SPDX-License-Identifier: BSD-2-Clause
#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "Vpull_watch.h"
#include "rtl-model/testing/bench.h"
#include "rtl-model/testing/records.h"

namespace exrnic::testing {
namespace {

constexpr unsigned kQpn = 0x3ff;
constexpr unsigned kOther = 0x155;
constexpr uint64_t kInterval = uint64_t{1} << EXRNIC_PULL_ASK_SHIFT;

class PullWatch : public Bench<Vpull_watch> {
 public:
  PullWatch() {
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
  void begin(unsigned qpn) {
    own(qpn).begin_i = 1;
    cycle();
  }
  void asked(unsigned qpn) {
    own(qpn).asked_i = 1;
    cycle();
  }
  void heard(unsigned qpn, bool none = false) {
    dut().heard_i = 1;
    dut().none_i = none;
    dut().heard_qpn_i = qpn;
    cycle();
  }
  void over(unsigned qpn) {
    own(qpn).over_i = 1;
    cycle();
  }
  void clear(unsigned qpn) {
    dut().clear_i = 1;
    dut().clear_qpn_i = qpn;
    cycle();
  }
  // To the beginning of the next interval, and until all that were to be woken are.
  void next_interval() {
    now = (now / kInterval + 1) * kInterval - 1;
    look_at_all();
    ++now;
    look_at_all();
  }
  void look_at_all() {
    for (unsigned i = 0; i < EXRNIC_MAX_QP + 2; ++i) cycle();
  }
  bool asks(unsigned qpn) {
    dut().look_qpn_i = qpn;
    settle();
    return dut().asks_o;
  }
  bool idle() { return dut().idle_o; }
  bool watches() { return dut().watches_o; }

  uint64_t now = 5 * kInterval + 7;
  bool ready = true;
  std::vector<unsigned> woken;

 private:
  Vpull_watch& own(unsigned qpn) {
    dut().own_qpn_i = qpn;
    return dut();
  }
  void clear_inputs() {
    dut().begin_i = dut().asked_i = dut().heard_i = dut().none_i = dut().clear_i = 0;
    dut().over_i = 0;
    dut().wake_ready_i = ready;
  }
};

TEST_CASE(
    "Who hears nothing in a whole interval asks when that is over, is woken once, no sooner") {
  PullWatch watch;
  CHECK_FALSE(watch.watches());
  watch.begin(kQpn);
  CHECK(watch.watches());
  watch.next_interval();
  CHECK(watch.woken.empty());
  CHECK_FALSE(watch.asks(kQpn));
  watch.now += kInterval - 1;
  watch.look_at_all();
  CHECK_FALSE(watch.asks(kQpn));
  CHECK(watch.idle());
  ++watch.now;
  watch.cycle();
  CHECK_FALSE(watch.idle());
  watch.look_at_all();
  CHECK(watch.woken == std::vector<unsigned>{kQpn});
  CHECK(watch.asks(kQpn));
  CHECK_FALSE(watch.asks(kOther));
  CHECK(watch.idle());
}

TEST_CASE("It is idle when an interval begins in which nobody is to ask") {
  PullWatch watch;
  watch.begin(kQpn);
  watch.now += kInterval;
  watch.cycle();
  CHECK(watch.idle());
  watch.now += kInterval;
  watch.cycle();
  CHECK_FALSE(watch.idle());
}

TEST_CASE("Who has a turn and waits for nothing of its peer is watched no more") {
  PullWatch watch;
  for (const unsigned qpn : {kQpn, kOther}) watch.begin(qpn);
  watch.over(kQpn);
  CHECK(watch.watches());
  for (int i = 0; i < 2; ++i) watch.next_interval();
  CHECK(watch.woken == std::vector<unsigned>{kOther});
  CHECK_FALSE(watch.asks(kQpn));
  watch.over(kOther);
  CHECK_FALSE(watch.asks(kOther));
  CHECK_FALSE(watch.watches());
}

TEST_CASE("Who has asked asks again when it has heard nothing in another whole interval") {
  PullWatch watch;
  watch.begin(kQpn);
  for (int i = 0; i < 2; ++i) watch.next_interval();
  watch.asked(kQpn);
  CHECK_FALSE(watch.asks(kQpn));
  watch.next_interval();
  CHECK(watch.woken.size() == 1);
  watch.next_interval();
  CHECK(watch.woken == std::vector<unsigned>{kQpn, kQpn});
}

TEST_CASE("Who could not ask is woken in each interval until it has") {
  PullWatch watch;
  watch.begin(kQpn);
  for (int i = 0; i < 4; ++i) watch.next_interval();
  CHECK(watch.woken == std::vector<unsigned>{kQpn, kQpn, kQpn});
  CHECK(watch.asks(kQpn));
}

TEST_CASE("A part of a response, or another PULL, puts the question off") {
  for (const bool part : {false, true}) {
    PullWatch watch;
    watch.begin(kQpn);
    for (int i = 0; i < 5; ++i) {
      watch.next_interval();
      part ? watch.heard(kQpn) : watch.begin(kQpn);
    }
    CHECK(watch.woken.empty());
    CHECK(watch.watches());
  }
}

TEST_CASE("What comes late takes the question back, also while others wait to be woken") {
  PullWatch watch;
  watch.begin(kQpn);
  watch.begin(kOther);
  watch.next_interval();
  watch.now += kInterval;
  watch.cycle();
  watch.heard(kQpn);
  watch.look_at_all();
  CHECK(watch.woken == std::vector<unsigned>{kOther});
  CHECK_FALSE(watch.asks(kQpn));
}

TEST_CASE("A wake-up that waits is withdrawn when its queue pair need not ask any more") {
  enum { kHears, kHasTurn, kIsNew };
  for (const int what : {kHears, kHasTurn, kIsNew}) {
    PullWatch watch;
    watch.begin(kQpn);
    watch.next_interval();
    watch.ready = false;
    watch.next_interval();
    CHECK(watch.dut().wake_valid_o);
    if (what == kHears) watch.heard(kQpn);
    if (what == kHasTurn) watch.over(kQpn);
    if (what == kIsNew) watch.clear(kQpn);
    watch.ready = true;
    watch.look_at_all();
    CHECK(watch.woken.empty());
  }
}

TEST_CASE("A wake-up that waits when the next interval begins comes then") {
  PullWatch watch;
  for (const unsigned qpn : {kQpn, kOther}) watch.begin(qpn);
  watch.next_interval();
  watch.ready = false;
  watch.next_interval();
  watch.next_interval();
  watch.ready = true;
  watch.look_at_all();
  CHECK(watch.woken == std::vector<unsigned>{kOther, kQpn});
}

TEST_CASE("With its last PULL, or configured anew, a queue pair is watched no more") {
  for (const bool ends : {false, true}) {
    PullWatch watch;
    watch.begin(kQpn);
    for (int i = 0; i < 2; ++i) watch.next_interval();
    ends ? watch.heard(kQpn, true) : watch.clear(kQpn);
    CHECK_FALSE(watch.watches());
    CHECK_FALSE(watch.asks(kQpn));
    watch.woken.clear();
    for (int i = 0; i < 3; ++i) watch.next_interval();
    CHECK(watch.woken.empty());
  }
}

TEST_CASE("A question that leaves when no PULL is under way any more begins nothing") {
  PullWatch watch;
  watch.asked(kQpn);
  CHECK_FALSE(watch.watches());
}

TEST_CASE("A PULL that begins in the cycle in which the one before ends is watched") {
  PullWatch watch;
  watch.begin(kQpn);
  watch.dut().heard_i = watch.dut().none_i = 1;
  watch.dut().heard_qpn_i = kQpn;
  watch.begin(kQpn);
  CHECK(watch.watches());
  for (int i = 0; i < 2; ++i) watch.next_interval();
  CHECK(watch.woken == std::vector<unsigned>{kQpn});
}

TEST_CASE("A wake-up waits until it is taken; all that are to ask get one") {
  PullWatch watch;
  for (const unsigned qpn : {kQpn, kOther, 0u}) watch.begin(qpn);
  watch.next_interval();
  watch.ready = false;
  watch.next_interval();
  CHECK(watch.woken.empty());
  CHECK_FALSE(watch.idle());
  watch.ready = true;
  watch.look_at_all();
  CHECK(watch.woken == std::vector<unsigned>{0, kOther, kQpn});
}

}  // namespace
}  // namespace exrnic::testing
