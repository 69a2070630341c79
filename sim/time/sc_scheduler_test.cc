// SPDX-License-Identifier: BSD-2-Clause
#include "sim/time/sc_scheduler.h"

#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <string>
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
