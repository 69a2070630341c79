// SPDX-License-Identifier: BSD-2-Clause
#include "sim/time/sc_timeline.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sim/testing/test_kernel.h"
#include "sim/time/lane.h"

namespace exrnic {
namespace {

TEST_CASE("actions run in order of time, and in order of scheduling at equal times") {
  TestKernel kernel;
  std::string order;
  kernel.scheduler().at(2000, [&] { order += 'c'; });
  kernel.scheduler().at(1000, [&] { order += 'a'; });
  kernel.scheduler().at(2000, [&] { order += 'd'; });
  kernel.scheduler().at(1000, [&] { order += 'b'; });
  kernel.run_all();
  CHECK(order == "abcd");
  CHECK(kernel.context.now() == 2000);
}

TEST_CASE("an action may schedule others, also for the same picosecond") {
  TestKernel kernel;
  std::vector<SimTime> times;
  kernel.scheduler().at(500, [&] {
    kernel.scheduler().after(0, [&] { times.push_back(kernel.context.now()); });
    kernel.scheduler().after(1, [&] { times.push_back(kernel.context.now()); });
  });
  kernel.run_all();
  CHECK(times == std::vector<SimTime>{500, 501});
  CHECK_FALSE(kernel.context.pending());
}

TEST_CASE("an action that is scheduled later but due earlier runs first") {
  TestKernel kernel;
  std::string order;
  kernel.scheduler().at(5000, [&] { order += 'b'; });
  kernel.context.run_to(1000, false);
  kernel.scheduler().at(2000, [&] { order += 'a'; });
  kernel.run_all();
  CHECK(order == "ab");
}

TEST_CASE("an alarm comes when it was set last to come, and each time that it is set") {
  TestKernel kernel;
  std::vector<SimTime> times;
  std::unique_ptr<Scheduler::Alarm> alarm;
  alarm = kernel.scheduler().alarm([&] {
    times.push_back(kernel.scheduler().now());
    if (times.back() == 3000) alarm->set(9000);
  });
  alarm->set(4000);
  alarm->set(6000);
  kernel.scheduler().at(1000, [&] { alarm->set(3000); });
  kernel.scheduler().at(3000, [&] { times.push_back(0); });
  kernel.run_all();
  CHECK(times == std::vector<SimTime>{0, 3000, 9000});
  alarm->set(12'000);
  kernel.run_all();
  CHECK(times.back() == 12'000);
}

TEST_CASE("an alarm that was moved leaves nothing to wait for, and one that is gone never comes") {
  TestKernel kernel;
  int ran = 0;
  auto moved = kernel.scheduler().alarm([&] { ++ran; });
  auto gone = kernel.scheduler().alarm([&] { ran += 100; });
  gone->set(500);
  moved->set(8000);
  kernel.scheduler().at(1000, [&] { moved->set(2000); });
  gone.reset();
  kernel.run_all();
  CHECK(ran == 1);
  CHECK(kernel.context.now() == 2000);
  CHECK_FALSE(kernel.context.pending());
}

TEST_CASE(
    "an alarm that was cancelled does not come, leaves nothing to wait for, can be set again") {
  TestKernel kernel;
  int ran = 0;
  auto alarm = kernel.scheduler().alarm([&] { ++ran; });
  kernel.scheduler().at(1000, [&] { alarm->set(5000); });
  kernel.scheduler().at(2000, [&] { alarm->cancel(); });
  kernel.run_all();
  CHECK(ran == 0);
  CHECK(kernel.context.now() == 2000);
  CHECK_FALSE(kernel.context.pending());
  alarm->set(3000);
  kernel.run_all();
  CHECK(ran == 1);
}

TEST_CASE("what an action schedules within a run takes place in it, in its order") {
  TestKernel kernel;
  std::string order;
  kernel.scheduler().at(1000, [&] {
    kernel.scheduler().at(3000, [&] { order += 'c'; });
    kernel.scheduler().at(2000, [&] { order += 'b'; });
    kernel.scheduler().at(5001, [&] { order += 'x'; });
    order += 'a';
  });
  kernel.scheduler().at(4000, [&] { order += 'd'; });
  kernel.context.run_to(5000, false);
  CHECK(order == "abcd");
  CHECK(kernel.context.now() == 5000);
  SimContext::Scope scope(kernel.context);
  CHECK(kernel.context.next_event() == 5001);
}

TEST_CASE("a run includes what is due at its very end, and leaves the rest") {
  TestKernel kernel;
  int ran = 0;
  kernel.scheduler().at(1000, [&] { ++ran; });
  kernel.scheduler().at(1001, [&] { ++ran; });
  kernel.context.run_to(1000, false);
  CHECK(ran == 1);
  CHECK(kernel.context.now() == 1000);
  CHECK(kernel.context.pending());
}

TEST_CASE("time passes in steps that are shorter than the gap between events") {
  TestKernel kernel;
  int ran = 0;
  kernel.scheduler().at(10'000, [&] { ++ran; });
  for (SimTime end = 3000; end <= 9000; end += 3000) {
    kernel.context.run_to(end, true);
    CHECK(kernel.context.now() == end);
  }
  CHECK(ran == 0);
  kernel.context.run_to(12'000, true);
  CHECK(ran == 1);
  CHECK(kernel.context.now() == 10'000);  // nothing is left to wait for
}

TEST_CASE("run_next stops at each point in time at which something happens") {
  TestKernel kernel;
  kernel.scheduler().at(1000, [] {});
  kernel.scheduler().at(3000, [] {});
  CHECK(kernel.context.run_next(5000));
  CHECK(kernel.context.now() == 1000);
  CHECK_FALSE(kernel.context.run_next(2999));
  CHECK(kernel.context.now() == 1000);
  CHECK(kernel.context.run_next(3000));
  CHECK_FALSE(kernel.context.run_next(5000));
}

TEST_CASE("simulations live side by side, each in its own time") {
  TestKernel first;
  TestKernel second;
  SimTime seen = 0;
  first.scheduler().at(1000, [&] { seen = first.scheduler().now(); });
  second.scheduler().at(7000, [] {});
  second.run_all();
  CHECK(seen == 0);
  first.run_all();
  CHECK(seen == 1000);
  CHECK(second.context.now() == 7000);
}

TEST_CASE("what comes through entrances runs first, by entrance, then what the island scheduled") {
  TestKernel kernel;
  const auto first = kernel.scheduler().entrance();
  const auto second = kernel.scheduler().entrance();
  std::string order;
  kernel.scheduler().at(1000, [&] { order += 'd'; });
  second->at(1000, [&] { order += 'c'; });
  first->at(1000, [&] { order += 'a'; });
  first->at(1000, [&] { order += 'b'; });
  second->at(999, [&] { order += '0'; });
  kernel.run_all();
  CHECK(order == "0abcd");
}

// Islands that do something every `period`, and tell their neighbour, which it notices a lookahead
// later. All that an island saw, in order.
class Ring {
 public:
  Ring(unsigned islands, unsigned threads, unsigned nodes) : seen(nodes), entrances_(nodes) {
    SimContext::Scope scope(context);
    timeline_ = std::make_unique<ScTimeline>("timeline", context, islands, threads, kLookahead);
    for (unsigned node = 0; node < nodes; ++node) entrances_[node] = island(node).entrance();
    for (unsigned node = 0; node < nodes; ++node) island(node).at(node, [=] { act(node); });
  }
  ~Ring() {
    SimContext::Scope scope(context);
    entrances_.clear();
    timeline_.reset();
  }

  Scheduler& island(unsigned node) { return timeline_->island(node % timeline_->islands()); }

  static constexpr SimTime kLookahead = 1000;
  struct Seen {
    SimTime at, sent;
    bool operator==(const Seen& other) const { return at == other.at && sent == other.sent; }
  };
  SimContext context;
  std::vector<std::vector<Seen>> seen;

 private:
  static constexpr SimTime kPeriod = 250;
  static constexpr SimTime kEnd = 200'000;

  void act(unsigned node) {
    const SimTime now = island(node).now();
    seen[node].push_back({now, 0});
    const unsigned peer = (node + 1) % seen.size();
    // Some arrive when the peer acts itself, some between.
    entrances_[peer]->at(now + kLookahead + now % 3,
                         [this, peer, now] { seen[peer].push_back({island(peer).now(), now}); });
    if (now < kEnd) island(node).after(kPeriod, [=] { act(node); });
  }

  std::unique_ptr<ScTimeline> timeline_;
  std::vector<std::unique_ptr<Scheduler::Entrance>> entrances_;
};

TEST_CASE("islands in several threads see the same, in the same order, as all on one island") {
  constexpr unsigned kNodes = 5;
  Ring alone(1, 1, kNodes);
  alone.context.run_to(1'000'000, true);
  REQUIRE(alone.seen[0].size() > 1000);
  for (const unsigned threads : {1u, 2u, 3u, 9u}) {
    INFO(threads << " threads");
    Ring several(kNodes, threads, kNodes);
    for (SimTime end = 777; several.context.pending(); end += 777)  // runs that cut windows
      several.context.run_to(end, true);
    CHECK(several.seen == alone.seen);
    CHECK(several.context.now() == alone.context.now());
  }
}

// Each island tells the outside of what it does, the first ones later than the others.
TEST_CASE(
    "the outside notices what islands do in order of time, and equal times in the islands' order") {
  for (const unsigned threads : {1u, 2u, 3u}) {
    INFO(threads << " threads");
    SimContext context;
    SimContext::Scope scope(context);
    auto timeline = std::make_unique<ScTimeline>("timeline", context, 3, threads, 1000);
    REQUIRE(timeline->outside() != nullptr);
    std::vector<std::unique_ptr<Scheduler::Entrance>> ways;
    for (unsigned node = 0; node < 3; ++node) ways.push_back(timeline->outside()->entrance());
    std::vector<std::pair<SimTime, unsigned>> seen, expected;
    const auto runner = std::this_thread::get_id();
    for (SimTime time = 1; time <= 2000; time += 100) {
      for (unsigned node = 0; node < 3; ++node) {
        const SimTime own = time + (2 - node) * 50 * (time / 100 % 2);
        expected.emplace_back(own, node);
        timeline->island(node).at(own, [&, node, own] {
          if (node == 0) std::this_thread::yield();
          ways[node]->at(own, [&, node, own] {
            CHECK(std::this_thread::get_id() == runner);
            CHECK(timeline->outside()->now() == own);
            seen.emplace_back(own, node);
          });
        });
      }
    }
    std::sort(expected.begin(), expected.end());
    context.run_to(1500, true);
    CHECK(seen.back().first <= 1500);
    context.run_to(~SimTime{0}, true);
    CHECK(seen == expected);
    CHECK(timeline->actions() == expected.size());
    ways.clear();
    timeline.reset();
  }
}

TEST_CASE("of one island the outside sees all in order by itself") {
  SimContext context;
  SimContext::Scope scope(context);
  ScTimeline timeline("timeline", context, 1, 1, 1000);
  CHECK(timeline.outside() == nullptr);
}

TEST_CASE("a run without an end ends when nothing waits any more") {
  for (const unsigned islands : {1u, 3u}) {
    Ring ring(islands, 2, 3);
    ring.context.run_to(~SimTime{0}, true);
    const SimTime now = ring.context.now();
    CHECK(now > 200'000);
    CHECK(now < 300'000);
    ring.context.run_to(~SimTime{0}, true);
    CHECK(ring.context.now() == now);
    CHECK_FALSE(ring.context.run_next(~SimTime{0}));
  }
}

TEST_CASE("between runs all islands stand at the same time, wherever their last action was") {
  Ring ring(3, 2, 3);
  ring.context.run_to(5100, true);
  for (unsigned node = 0; node < 3; ++node) CHECK(ring.island(node).now() == 5100);
  REQUIRE(ring.context.run_next(100'000));
  CHECK(ring.context.now() > 5100);
  CHECK(ring.context.now() <= 5250 + Ring::kLookahead);
  for (unsigned node = 0; node < 3; ++node) CHECK(ring.island(node).now() == ring.context.now());
  REQUIRE(ring.context.run_next(ring.context.now() + 300));  // no further than told
  CHECK(ring.context.now() <= 5250 + Ring::kLookahead + 300);
}

TEST_CASE("what an action of another island throws is thrown by the run") {
  Ring ring(3, 3, 3);
  for (unsigned node = 0; node < 3; ++node)
    ring.island(node).at(3000, [=] {
      if (node > 0) throw std::runtime_error("island " + std::to_string(node));
    });
  CHECK_THROWS_WITH(ring.context.run_to(10'000, true),
                    Catch::Matchers::ContainsSubstring("island 1"));
}

TEST_CASE("of several islands one acts when its alarm says last, and not when it was cancelled") {
  SimContext context;
  {
    SimContext::Scope scope(context);
    ScTimeline timeline("timeline", context, 3, 1, 1000);
    std::vector<SimTime> seen;
    const auto alarm = timeline.island(1).alarm([&] { seen.push_back(timeline.island(1).now()); });
    const auto silent = timeline.island(2).alarm([&] { seen.push_back(0); });
    alarm->set(500);
    silent->set(700);
    alarm->set(5000);
    silent->cancel();
    context.run_to(4000, true);
    CHECK(seen.empty());
    alarm->set(4500);
    context.run_to(~SimTime{0}, true);
    CHECK(seen == std::vector<SimTime>{4500});
    CHECK(context.now() == 4500);
    CHECK_FALSE(context.pending());
    CHECK(timeline.actions() == 1);
  }
}

TEST_CASE("a lane sends in order, at its rate, and knows what has not left") {
  Lane lane(1000);  // 1 byte per ns
  CHECK(lane.send(10'000, 100) == 10'000);
  CHECK(lane.send(10'000, 50) == 110'000);
  CHECK(lane.free_at() == 160'000);
  CHECK(lane.queued_units(10'000) == 2);
  CHECK(lane.queued_bytes(109'999) == 150);
  CHECK(lane.queued_bytes(110'000) == 50);
  CHECK(lane.queued_units(160'000) == 0);
  CHECK(lane.send(200'000, 1) == 200'000);
}

TEST_CASE("a lane rounds the time of a byte up to a picosecond") {
  CHECK(Lane(7877).duration(1) == 127);
  CHECK(Lane(7877).duration(280) == 35'547);  // 280 / 7.877 = 35.5465 ns
}

}  // namespace
}  // namespace exrnic
