// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <deque>
#include <random>
#include <vector>

#include "Vscheduler.h"
#include "rtl-model/testing/bench.h"
#include "rtl-model/testing/records.h"

namespace exrnic::testing {
namespace {

constexpr unsigned kSources = 4;

class Scheduler : public Bench<Vscheduler> {
 public:
  Scheduler() {
    dut().push_valid_i = 0;
    dut().pop_ready_i = 0;
    dut().next_ready_i = 0;
    reset();
  }
  void initialise() {
    wait_for("init_done_o", EXRNIC_MAX_QP + 2, [&] { return dut().init_done_o != 0; });
  }
  void push(unsigned qpn, unsigned source = 0) {
    dut().push_valid_i = 1u << source;
    dut().push_qpn_i[source] = qpn;
    settle();
    REQUIRE(dut().push_ready_o == 1u << source);
    cycle();
    dut().push_valid_i = 0;
    settle();
  }
  unsigned pop() {
    wait_for("pop_valid_o", 2, [&] { return dut().pop_valid_o != 0; });
    const unsigned qpn = dut().pop_qpn_o;
    dut().pop_ready_i = 1;
    cycle();
    dut().pop_ready_i = 0;
    settle();
    return qpn;
  }
  bool empty() { return !dut().pop_valid_o; }
};

TEST_CASE("Queue pairs come out in the order of their wake-ups") {
  Scheduler scheduler;
  scheduler.initialise();
  CHECK(scheduler.empty());
  for (const unsigned qpn : {7u, 0u, EXRNIC_MAX_QP - 1, 3u}) scheduler.push(qpn);
  CHECK(scheduler.pop() == 7);
  CHECK(scheduler.pop() == 0);
  CHECK(scheduler.pop() == EXRNIC_MAX_QP - 1);
  CHECK(scheduler.pop() == 3);
  CHECK(scheduler.empty());
}

// Those that are looked at before their turn, until there is none.
std::vector<unsigned> looked_at(Scheduler& scheduler) {
  std::vector<unsigned> next;
  scheduler.dut().next_ready_i = 1;
  scheduler.settle();
  while (scheduler.dut().next_valid_o) {
    next.push_back(scheduler.dut().next_qpn_o);
    scheduler.cycle();
    scheduler.settle();
  }
  scheduler.dut().next_ready_i = 0;
  scheduler.settle();
  return next;
}

TEST_CASE("The queue pairs of the next turns are seen in their order, each once and some ahead") {
  constexpr unsigned kAhead = 8;
  Scheduler scheduler;
  scheduler.initialise();
  CHECK(looked_at(scheduler).empty());
  std::vector<unsigned> order(kAhead + 3);
  for (unsigned i = 0; i < order.size(); ++i) scheduler.push(order[i] = 100 + i);
  CHECK(looked_at(scheduler) == std::vector<unsigned>(order.begin(), order.begin() + kAhead));
  CHECK(looked_at(scheduler).empty());
  CHECK(scheduler.pop() == order[0]);
  CHECK(looked_at(scheduler) == std::vector<unsigned>{order[kAhead]});
  for (unsigned i = 1; i < order.size(); ++i) CHECK(scheduler.pop() == order[i]);
  CHECK(looked_at(scheduler).empty());
}

TEST_CASE("Whose turn begins is not seen any more, also in that very cycle") {
  Scheduler scheduler;
  scheduler.initialise();
  for (const unsigned qpn : {7u, 8u}) scheduler.push(qpn);
  scheduler.dut().pop_ready_i = 1;
  scheduler.settle();
  CHECK_FALSE(scheduler.dut().next_valid_o);
  scheduler.cycle();
  scheduler.dut().pop_ready_i = 0;
  scheduler.settle();
  CHECK(looked_at(scheduler) == std::vector<unsigned>{8});
}

TEST_CASE("A queue pair that is queued already is taken, and comes out once") {
  Scheduler scheduler;
  scheduler.initialise();
  scheduler.push(7);
  scheduler.push(8);
  scheduler.push(7);
  CHECK(scheduler.pop() == 7);
  CHECK(scheduler.pop() == 8);
  CHECK(scheduler.empty());
  scheduler.push(7);
  CHECK(scheduler.pop() == 7);
}

TEST_CASE("A wake-up in the very cycle of its turn is not lost") {
  Scheduler scheduler;
  scheduler.initialise();
  scheduler.push(7);
  scheduler.dut().pop_ready_i = 1;
  scheduler.push(7);
  scheduler.dut().pop_ready_i = 0;
  scheduler.settle();
  CHECK(scheduler.pop() == 7);
  CHECK(scheduler.empty());
}

TEST_CASE("All queue pairs fit, and one more wake-up of each changes nothing") {
  Scheduler scheduler;
  scheduler.initialise();
  for (unsigned round = 0; round < 2; ++round)
    for (unsigned qpn = 0; qpn < EXRNIC_MAX_QP; ++qpn) scheduler.push(qpn);
  for (unsigned qpn = 0; qpn < EXRNIC_MAX_QP; ++qpn) CHECK(scheduler.pop() == qpn);
  CHECK(scheduler.empty());
}

TEST_CASE("A full queue takes the one that it hands out again") {
  Scheduler scheduler;
  scheduler.initialise();
  for (unsigned qpn = 0; qpn < EXRNIC_MAX_QP; ++qpn) scheduler.push(qpn);
  scheduler.dut().pop_ready_i = 1;
  scheduler.push(0);
  scheduler.dut().pop_ready_i = 0;
  scheduler.settle();
  for (unsigned i = 0; i < EXRNIC_MAX_QP; ++i) CHECK(scheduler.pop() == (i + 1) % EXRNIC_MAX_QP);
  CHECK(scheduler.empty());
}

TEST_CASE("Of several sources the lowest goes first, and each is taken in the end") {
  Scheduler scheduler;
  scheduler.initialise();
  for (unsigned source = 0; source < kSources; ++source)
    scheduler.dut().push_qpn_i[source] = 100 + source;
  scheduler.dut().push_valid_i = 0b1111;
  for (unsigned source = 0; source < kSources; ++source) {
    scheduler.settle();
    CHECK(scheduler.dut().push_ready_o == 1u << source);
    scheduler.cycle();
    scheduler.dut().push_valid_i &= static_cast<uint8_t>(~(1u << source));
  }
  for (unsigned source = 0; source < kSources; ++source) CHECK(scheduler.pop() == 100 + source);
}

TEST_CASE("A queue pair that is queued again while it is served does not wait for itself") {
  Scheduler scheduler;
  scheduler.initialise();
  const auto others_wait = [&](unsigned serving) {
    scheduler.dut().serving_qpn_i = serving;
    scheduler.settle();
    return scheduler.dut().others_wait_o != 0;
  };
  scheduler.push(7);
  CHECK(scheduler.pop() == 7);
  CHECK_FALSE(others_wait(7));
  scheduler.push(7);
  CHECK_FALSE(others_wait(7));
  CHECK(others_wait(8));
  scheduler.push(8);
  CHECK(others_wait(7));
  CHECK(scheduler.pop() == 7);
  CHECK(others_wait(7));
}

TEST_CASE("Nothing is taken before the table is cleared") {
  Scheduler scheduler;
  scheduler.dut().push_valid_i = 0b1111;
  scheduler.settle();
  while (!scheduler.dut().init_done_o) {
    REQUIRE(scheduler.dut().push_ready_o == 0);
    REQUIRE(scheduler.empty());
    REQUIRE(scheduler.cycles() < 2 * EXRNIC_MAX_QP);
    scheduler.cycle();
  }
  CHECK(scheduler.dut().push_ready_o == 1);
}

TEST_CASE("Under random wake-ups and turns it is a queue in which nobody stands twice") {
  constexpr uint32_t kSeed = 31415;
  CAPTURE(kSeed);
  std::mt19937 random(kSeed);
  Scheduler scheduler;
  scheduler.initialise();
  Vscheduler& dut = scheduler.dut();
  std::deque<unsigned> model;
  for (int cycle = 0; cycle < 50000; ++cycle) {
    // A few queue pairs make collisions likely; the turns come in bursts.
    dut.pop_ready_i = random() % 100 < (cycle / 1000 % 2 ? 80u : 20u);
    dut.push_valid_i = random() % 16;
    for (unsigned source = 0; source < kSources; ++source)
      dut.push_qpn_i[source] = random() % 8 * 100;
    scheduler.settle();
    REQUIRE(dut.pop_valid_o == !model.empty());
    if (!model.empty()) {
      REQUIRE(dut.pop_qpn_o == model.front());
      if (dut.pop_ready_i) model.pop_front();
    }
    for (unsigned source = 0; source < kSources; ++source) {
      if (!(dut.push_ready_o >> source & 1)) continue;
      const unsigned qpn = dut.push_qpn_i[source];
      if (std::find(model.begin(), model.end(), qpn) == model.end()) model.push_back(qpn);
    }
    scheduler.cycle();
  }
}

}  // namespace
}  // namespace exrnic::testing
