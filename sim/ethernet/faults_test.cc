// SPDX-License-Identifier: BSD-2-Clause
#include "sim/ethernet/faults.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <stdexcept>
#include <vector>

#include "sim/ethernet/mac.h"

namespace exrnic {
namespace {

std::vector<Fault> draw(const FaultConfig& config, uint64_t seed, size_t count) {
  FaultInjector injector(config, seed);
  std::vector<Fault> faults;
  for (size_t i = 0; i < count; ++i) faults.push_back(injector.next());
  return faults;
}

FaultConfig every_kind() {
  return parse_faults("drop=0.1,duplicate=0.1,reorder=0.1,corrupt=0.1,delay=0.1");
}

TEST_CASE("one seed gives one sequence of faults, another seed another") {
  CHECK(draw(every_kind(), 42, 1000) == draw(every_kind(), 42, 1000));
  CHECK(draw(every_kind(), 42, 1000) != draw(every_kind(), 43, 1000));
}

TEST_CASE("each kind comes about as often as its probability says") {
  std::map<Fault, unsigned> counts;
  for (const Fault fault : draw(every_kind(), 7, 100'000)) ++counts[fault];
  CHECK(counts.size() == 6);
  for (const auto& [fault, count] : counts) {
    const unsigned expected = fault == Fault::kNone ? 50'000 : 10'000;
    CHECK(count > expected - 500);
    CHECK(count < expected + 500);
  }
}

TEST_CASE("a probability of 0 never strikes and one of 1 always does") {
  for (const Fault fault : draw(FaultConfig{}, 1, 1000)) REQUIRE(fault == Fault::kNone);
  for (const Fault fault : draw(parse_faults("drop=1"), 1, 1000)) REQUIRE(fault == Fault::kDrop);
}

TEST_CASE("a script decides the frames that it names and changes no other") {
  FaultConfig scripted = every_kind();
  scripted.script = {{0, Fault::kDrop}, {5, Fault::kNone}};
  std::vector<Fault> expected = draw(every_kind(), 42, 1000);
  expected[0] = Fault::kDrop;
  expected[5] = Fault::kNone;
  CHECK(draw(scripted, 42, 1000) == expected);
}

TEST_CASE("a corrupted frame never passes the FCS") {
  FaultInjector injector(FaultConfig{}, 99);
  for (size_t size = 60; size < 4200; size += 7) {
    Bytes wire(size, 0x5a);
    append_fcs(wire);
    injector.corrupt(wire);
    REQUIRE_FALSE(remove_fcs(wire));
  }
}

TEST_CASE("rates and parameters are read from a list") {
  const FaultConfig config = parse_faults("drop=0.25,delay=1e-3,delay_ns=700,reorder_frames=3");
  CHECK(config.rates.drop == 0.25);
  CHECK(config.rates.delay == 0.001);
  CHECK(config.rates.reorder == 0);
  CHECK(config.delay_ns == 700);
  CHECK(config.reorder_frames == 3);
  CHECK(parse_faults("").rates.sum() == 0);
}

TEST_CASE("a wrong fault list is refused with one line that names the item") {
  for (const char* text : {"drop", "lose=0.1", "drop=", "drop=x", "drop=1.5", "drop=-0.1",
                           "drop=nan", "delay_ns=0", "hold_ns=-1", "reorder_frames=1e3"}) {
    INFO(text);
    CHECK_THROWS_MATCHES(parse_faults(text), std::invalid_argument,
                         Catch::Matchers::MessageMatches(
                             Catch::Matchers::StartsWith("fault '" + std::string(text) + "': ")));
  }
  CHECK_THROWS_AS(parse_faults("drop=0.6,corrupt=0.6"), std::invalid_argument);
}

TEST_CASE("faults as text are read back as they were") {
  for (const char* text : {"none", "drop=0.25", "drop=0.001,corrupt=0.5,reorder_frames=9",
                           "delay=1,hold_ns=7,delay_ns=12345"}) {
    CHECK(to_text(parse_faults(text)) == text);
  }
  CHECK(to_text(parse_faults("")) == "none");
}

}  // namespace
}  // namespace exrnic
