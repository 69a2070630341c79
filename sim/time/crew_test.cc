// SPDX-License-Identifier: BSD-2-Clause
#include "sim/time/crew.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace exrnic {
namespace {

TEST_CASE("each number of a crew is called once a piece of work, always in the same thread") {
  Crew crew(3);
  REQUIRE(crew.threads() == 3);
  std::vector<std::thread::id> first(3), then(3);
  crew.run([&](unsigned number) { first[number] = std::this_thread::get_id(); });
  CHECK(first[0] == std::this_thread::get_id());
  CHECK(first[1] != first[2]);
  std::vector<int> calls(3);
  for (int i = 0; i < 1000; ++i) {
    crew.run([&](unsigned number) {
      ++calls[number];
      then[number] = std::this_thread::get_id();
    });
    REQUIRE(then == first);
  }
  CHECK(calls == std::vector<int>{1000, 1000, 1000});
}

TEST_CASE("a crew that fell asleep comes for the next piece of work") {
  Crew crew(3);
  for (int i = 0; i < 5; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // longer than it stays awake
    std::vector<int> calls(3);
    crew.run([&](unsigned number) { ++calls[number]; });
    CHECK(calls == std::vector<int>{1, 1, 1});
  }
}

TEST_CASE("a crew of one is who calls it") {
  Crew crew(1);
  int calls = 0;
  crew.run([&](unsigned number) { calls += number == 0; });
  CHECK(calls == 1);
}

TEST_CASE("what a thread of a crew throws is thrown where the work was given, and the crew lives") {
  Crew crew(3);
  CHECK_THROWS_WITH(crew.run([](unsigned number) {
    if (number > 0) throw std::runtime_error("thread " + std::to_string(number));
  }),
                    "thread 1");
  int calls = 0;
  CHECK_NOTHROW(crew.run([&](unsigned number) {
    if (number == 2) ++calls;
  }));
  CHECK(calls == 1);
}

}  // namespace
}  // namespace exrnic
