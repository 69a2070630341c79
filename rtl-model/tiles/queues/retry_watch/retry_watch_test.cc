// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "Vretry_watch.h"
#include "rtl-model/testing/bench.h"
#include "rtl-model/testing/records.h"

namespace exrnic::testing {
namespace {

constexpr unsigned kQpn = 0x3ff;
constexpr unsigned kOther = 0x155;
constexpr uint64_t kTick = uint64_t{1} << EXRNIC_QP_TICK_SHIFT;
constexpr unsigned kTimeout = 4;

uint64_t interval(unsigned timeout) {
  return std::max(kTick, uint64_t{1} << (EXRNIC_QP_TIMEOUT_SHIFT + timeout));
}

// Time passes in steps of half a tick, and a scan is over before the next step.
class RetryWatch : public Bench<Vretry_watch> {
 public:
  RetryWatch() {
    clear_inputs();
    reset();
  }

  void cycle() override {
    dut().time_i = now;
    settle();
    if (dut().silent_valid_o && dut().silent_ready_i) told.push_back(dut().silent_qpn_o);
    tick();
    clear_inputs();
    settle();
  }
  void configure(unsigned qpn, unsigned timeout, unsigned retries, bool work_out = false,
                 bool pulls = false) {
    dut().config_we_i = 1;
    dut().config_qpn_i = qpn;
    dut().timeout_i = timeout;
    dut().retries_i = retries;
    dut().config_out_i = work_out;
    dut().config_pulls_i = pulls;
    cycle();
  }
  void begin(unsigned qpn, bool pull = false) {
    dut().begin_i = 1;
    dut().begin_pull_i = pull;
    dut().own_qpn_i = qpn;
    cycle();
    cycle();
  }
  void acked(unsigned qpn, bool none = false, bool error = false) {
    dut().acked_i = 1;
    dut().acked_none_i = none;
    dut().acked_error_i = error;
    dut().acked_qpn_i = qpn;
    cycle();
  }
  void answered(unsigned qpn, bool none = false) {
    dut().answered_i = 1;
    dut().answered_none_i = none;
    dut().answered_qpn_i = qpn;
    cycle();
  }
  void fail(unsigned qpn, unsigned writer) {
    dut().failed_i = 1u << writer;
    dut().failed_qpn_i[writer] = qpn;
    cycle();
  }
  void settle_down() {
    for (unsigned i = 0; i < EXRNIC_MAX_QP / 8; ++i) cycle();
  }
  void pass(uint64_t ns) {
    for (const uint64_t end = now + ns; now < end;) {
      now = std::min(end, (now / (kTick / 2) + 1) * (kTick / 2));
      settle_down();
    }
  }
  // When that queue pair is told; within `most`.
  uint64_t until_told(unsigned qpn, uint64_t most) {
    const uint64_t begin = now;
    while (now - begin < most) {
      pass(kTick / 2);
      if (!told.empty() && told.back() == qpn) return now - begin;
    }
    return 0;
  }
  bool ticks() { return dut().ticks_o; }
  bool idle() { return dut().idle_o; }

  uint64_t now = (uint64_t{77} << 43) + 5 * kTick + 7;
  bool ready = true;
  std::vector<unsigned> told;

 private:
  void clear_inputs() {
    dut().config_we_i = dut().begin_i = dut().acked_i = dut().answered_i = dut().failed_i = 0;
    dut().silent_ready_i = ready;
  }
};

TEST_CASE("After a reset nobody is watched, and nothing waits") {
  for (int i = 0; i < 4; ++i) {  // whatever it begins with
    RetryWatch watch;
    CHECK(watch.dut().idle_o);
    CHECK_FALSE(watch.dut().ticks_o);
    CHECK_FALSE(watch.dut().silent_valid_o);
  }
}

TEST_CASE(
    "Who hears nothing is told behind one more time-out than it retries, and two more at most") {
  for (const unsigned timeout : {1u, 2u, 3u, 4u, 7u}) {
    for (const unsigned retries : {0u, 1u, 7u}) {
      for (const unsigned late : {0u, 1u, 5u}) {
        RetryWatch watch;
        watch.configure(kQpn, timeout, retries);
        watch.pass(late * kTick / 2);
        CHECK_FALSE(watch.ticks());
        watch.begin(kQpn);
        CHECK(watch.ticks());
        const uint64_t took = watch.until_told(kQpn, (retries + 3) * interval(timeout));
        CHECK(took >= (retries + 1) * interval(timeout));
        CHECK(took <= (retries + 2) * interval(timeout));
        CHECK_FALSE(watch.ticks());
        CHECK(watch.idle());
      }
    }
  }
}

TEST_CASE("Of the longest time-out the first bit of its interval counts") {
  RetryWatch watch;
  watch.configure(kQpn, EXRNIC_QP_TIMEOUT_MAX, 0);
  watch.begin(kQpn);
  const uint64_t whole = interval(EXRNIC_QP_TIMEOUT_MAX);
  watch.now = (watch.now / whole + 1) * whole - 1;
  watch.settle_down();
  ++watch.now;
  watch.settle_down();
  CHECK(watch.told.empty());
  watch.now += whole - 1;
  watch.settle_down();
  CHECK(watch.told.empty());
  ++watch.now;
  watch.settle_down();
  CHECK(watch.told == std::vector<unsigned>{kQpn});
}

TEST_CASE("Without a time-out nobody is watched, whatever the driver changes") {
  RetryWatch watch;
  watch.configure(kQpn, 0, 7, true);
  CHECK_FALSE(watch.ticks());
  watch.configure(kQpn, 5, 7, false);
  CHECK_FALSE(watch.ticks());
}

TEST_CASE("A word of either kind begins the time anew, other work does not") {
  enum { kAck, kAnswer, kMore };
  for (const int what : {kAck, kAnswer, kMore}) {
    RetryWatch watch;
    watch.configure(kQpn, kTimeout, 1);
    watch.begin(kQpn);
    for (int i = 0; i < 8; ++i) {
      watch.pass(interval(kTimeout));
      if (what == kAck) watch.acked(kQpn);
      if (what == kAnswer) watch.answered(kQpn);
      if (what == kMore) watch.begin(kQpn);
    }
    CHECK(watch.told.size() == (what == kMore ? 2 : 0));
    if (what == kMore) continue;
    CHECK(watch.until_told(kQpn, 4 * interval(kTimeout)) >= 2 * interval(kTimeout) - kTick);
  }
}

TEST_CASE("With the last of its work, in ERROR, or without work a queue pair is watched no more") {
  constexpr int kAck = 0, kAnswer = 1, kFailed = 2, kChanged = 3;
  for (const int what : {kAck, kAnswer, kFailed, kFailed + 10, kFailed + 20, kChanged}) {
    RetryWatch watch;
    for (const unsigned qpn : {kQpn, kOther}) watch.configure(qpn, kTimeout, 0);
    watch.begin(kQpn);
    watch.begin(kOther);
    if (what == kAck) watch.acked(kQpn, true);
    if (what == kAnswer) watch.answered(kQpn, true);
    if (what % 10 == kFailed) watch.fail(kQpn, what / 10);
    if (what == kChanged) watch.configure(kQpn, kTimeout, 0);
    CHECK(watch.ticks());
    watch.pass(4 * interval(kTimeout));
    CHECK(watch.told == std::vector<unsigned>{kOther});
    CHECK_FALSE(watch.ticks());
  }
}

TEST_CASE("What begins with the acknowledgement of all before it, or just behind, is watched") {
  for (const int behind : {0, 1}) {
    RetryWatch watch;
    watch.configure(kQpn, kTimeout, 0);
    watch.begin(kQpn);
    watch.dut().begin_i = 1;
    watch.dut().own_qpn_i = kQpn;
    if (behind) watch.cycle();
    watch.acked(kQpn, true);
    watch.cycle();
    watch.cycle();
    CHECK(watch.ticks());
    CHECK(watch.until_told(kQpn, 3 * interval(kTimeout)) != 0);
  }
}

TEST_CASE("While PULLs are under way an acknowledgement is a word, and never the last of it") {
  for (const bool set_later : {false, true}) {
    RetryWatch watch;
    watch.configure(kQpn, set_later ? 0 : kTimeout, 1);
    if (set_later) watch.configure(kQpn, kTimeout, 1, true, true);
    if (!set_later) watch.begin(kQpn, true);
    watch.pass(interval(kTimeout));
    watch.acked(kQpn, true);
    CHECK(watch.ticks());
    CHECK(watch.until_told(kQpn, 4 * interval(kTimeout)) >= 2 * interval(kTimeout) - kTick);
  }
  enum { kAnswered, kFailed, kChanged, kTold };
  for (const int over : {kAnswered, kFailed, kChanged, kTold}) {
    RetryWatch watch;
    watch.configure(kQpn, kTimeout, 0);
    watch.begin(kQpn, true);
    if (over == kAnswered) watch.answered(kQpn, true);
    if (over == kFailed) watch.fail(kQpn, 1);
    if (over == kChanged) watch.configure(kQpn, kTimeout, 0);
    if (over == kTold) CHECK(watch.until_told(kQpn, 3 * interval(kTimeout)) != 0);
    CHECK_FALSE(watch.ticks());
    watch.begin(kQpn);
    watch.acked(kQpn, true);
    CHECK_FALSE(watch.ticks());
  }
}

TEST_CASE("Whatever has begun in ERROR, a PULL too, is watched no more when something of it ends") {
  RetryWatch watch;
  watch.configure(5, 8, 2);
  for (const bool pull : {false, true}) {
    INFO("pull: " << pull);
    watch.fail(5, 0);
    watch.begin(5, pull);
    REQUIRE(watch.ticks());
    watch.acked(5, false, true);
    CHECK_FALSE(watch.ticks());
  }
  // And what begins in a later life is the last of its work when it is acknowledged.
  watch.begin(5);
  watch.acked(5, true);
  CHECK_FALSE(watch.ticks());
}

TEST_CASE("A change by the driver counts from then on, and as a word") {
  RetryWatch watch;
  watch.configure(kQpn, kTimeout, 2);
  watch.begin(kQpn);
  watch.pass(2 * interval(kTimeout));
  watch.configure(kQpn, kTimeout + 1, 0, true);
  const uint64_t took = watch.until_told(kQpn, 4 * interval(kTimeout + 1));
  CHECK(took >= interval(kTimeout + 1));
  CHECK(took <= 2 * interval(kTimeout + 1));
}

TEST_CASE("Who is told waits until it is taken, is withdrawn by a word, and holds nobody up") {
  RetryWatch watch;
  for (const unsigned qpn : {0u, kOther, kQpn}) {
    watch.configure(qpn, kTimeout, 0);
    watch.begin(qpn);
  }
  watch.ready = false;
  watch.pass(3 * interval(kTimeout));
  CHECK(watch.told.empty());
  CHECK_FALSE(watch.idle());
  CHECK(watch.dut().silent_valid_o);
  const unsigned first = watch.dut().silent_qpn_o;
  watch.acked(first);
  CHECK_FALSE((watch.dut().silent_valid_o && watch.dut().silent_qpn_o == first));
  watch.settle_down();
  watch.ready = true;
  watch.settle_down();
  CHECK(watch.told.size() == 2);
  CHECK(std::set<unsigned>(watch.told.begin(), watch.told.end()).count(first) == 0);
  CHECK(watch.until_told(first, 3 * interval(kTimeout)) != 0);
  CHECK(watch.idle());
}

TEST_CASE("An interval before work began does not count, though nobody looked") {
  RetryWatch watch;
  watch.configure(kQpn, kTimeout, 0);
  watch.now += 33 * interval(kTimeout);  // the core has slept
  for (int i = 0; i < 4; ++i) watch.cycle();
  watch.begin(kQpn);
  CHECK(watch.until_told(kQpn, 3 * interval(kTimeout)) >= interval(kTimeout));
}

TEST_CASE("Random queue pairs are told if, and only if, so much time has passed without a word") {
  std::mt19937 random(20261125);
  RetryWatch watch;
  struct One {
    unsigned timeout = 0, retries = 0;
    bool out = false;
    uint64_t since = 0;
  };
  std::map<unsigned, One> all;
  for (int i = 0; i < 40; ++i) {
    One one;
    one.timeout = static_cast<unsigned>(1 + random() % 6);
    one.retries = static_cast<unsigned>(random() % 4);
    const unsigned qpn = random() % EXRNIC_MAX_QP;
    all[qpn] = one;
    watch.configure(qpn, one.timeout, one.retries);
  }
  for (int step = 0; step < 3000; ++step) {
    auto& [qpn, one] = *std::next(all.begin(), random() % all.size());
    switch (random() % 4) {
      case 0:
        watch.begin(qpn);
        if (!one.out) one.since = watch.now;
        one.out = true;
        break;
      case 1:
        watch.acked(qpn);
        if (one.out) one.since = watch.now;
        break;
      case 2:
        watch.answered(qpn, true);
        one.out = false;
        break;
      default:
        watch.pass(random() % 4 * kTick / 2);
    }
    for (const unsigned gone : std::exchange(watch.told, {})) {
      REQUIRE(all[gone].out);
      REQUIRE(watch.now - all[gone].since >= (all[gone].retries + 1) * interval(all[gone].timeout));
      all[gone].out = false;
    }
    for (const auto& [number, which] : all)
      if (which.out)
        REQUIRE(watch.now - which.since <= (which.retries + 2) * interval(which.timeout));
  }
}

}  // namespace
}  // namespace exrnic::testing
