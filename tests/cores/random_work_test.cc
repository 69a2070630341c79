// SPDX-License-Identifier: BSD-2-Clause
// The RTL and the reference model agree. EXRNIC_SEED=n replays one program, with EXRNIC_KEEP=a,b,c
// only these operations of it; make soak runs more.
#include "tests/support/random_work.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>

#include "rtl-model/ref/ref_core.h"
#include "tests/support/compare_cores.h"
#include "tests/support/exchange.h"
#include "tests/support/faulty_core.h"
#include "tests/support/pair.h"
#include "tests/support/seed.h"

namespace exrnic::testing {
namespace {

constexpr unsigned kOperations = 250;  // of one program; exrnic-soak has the same
constexpr unsigned kPrograms = 40;     // 10^4 operations
constexpr unsigned kSteps = 400;
constexpr unsigned kDrivers = 10;

std::vector<unsigned> kept() {
  std::vector<unsigned> numbers;
  std::istringstream list(std::getenv("EXRNIC_KEEP") ? std::getenv("EXRNIC_KEEP") : "");
  for (std::string number; std::getline(list, number, ',');)
    numbers.push_back(static_cast<unsigned>(std::stoul(number)));
  return numbers;
}

template <typename Compare>
void compare(uint64_t programs, Compare compare_seed) {
  const bool replay = std::getenv("EXRNIC_SEED") != nullptr;
  const uint64_t first = number_of("EXRNIC_SEED", 1);
  const uint64_t last = replay ? first : programs;
  for (uint64_t seed = first; seed <= last; ++seed) CHECK(compare_seed(seed) == "");
}

TEST_CASE("after the same random work both cores have the same memory, completions and counters") {
  const auto operations = static_cast<unsigned>(number_of("EXRNIC_OPS", kOperations));
  const std::vector<unsigned> keep = kept();
  compare(kPrograms, [&](uint64_t seed) { return compare_random_work(seed, operations, keep); });
}

TEST_CASE("both cores answer a random driver in the same way") {
  compare(kDrivers, [](uint64_t seed) { return compare_random_driver(seed, kSteps); });
}

TEST_CASE("a random program is the same one whenever it runs") {
  const auto run = [] { return run_plan(random_plan(3, 40), make_rtl_core); };
  CHECK(run() == run());
}

TEST_CASE("what once was different between both cores is not") {
  // A PULL whose work request was being read when the refusal of the SEND before it was heard. (A
  // change of random_plan makes other programs of these numbers.)
  CHECK(compare_random_work(2032, kOperations, {66, 72, 76, 77}) == "");
  // A malformed work request behind a PULL of nothing, whose answer waited for its place among the
  // writes: it ended first.
  CHECK(compare_random_work(4000478, kOperations,
                            {146, 147, 148, 149, 150, 151, 152, 153, 154, 155, 156, 157, 158,
                             159, 160, 161, 162, 163, 200, 201, 202, 203, 204, 205, 206, 208,
                             209, 214, 215, 216, 217, 260, 261, 262, 281, 282, 283, 286, 287}) ==
        "");
}

struct Seen {
  std::string text;
  uint64_t cycles = 0;  // that were evaluated
};

// What a core may leave out: cycles that it knows to change nothing, and those up to the time at
// which it knows that a link has room for it.
struct LeavesOut {
  bool any = true;
  bool busy = true;
};

// What leaves a core, with the time.
class WatchedCore final : public FaultyCore {
 public:
  WatchedCore(const CoreConfig& config, exrnic::CoreSink& sink, const CoreFactory& make_core,
              LeavesOut leaves_out, Seen& seen)
      : FaultyCore(config, sink, make_core, watch(seen)), leaves_out_(leaves_out), seen_(seen) {}

  void step(uint64_t time_ns) override {
    now_ = time_ns;
    ++seen_.cycles;
    FaultyCore::step(time_ns);
  }
  uint32_t spare_cycles() override { return leaves_out_.any ? FaultyCore::spare_cycles() : 0; }

 private:
  Fault watch(Seen& seen) {
    const auto note = [this, &seen](const char* what, const Bytes& data) {
      seen.text += fmt::format("{} ns: {} {:02x}\n", now_, what, fmt::join(data, ""));
      return true;
    };
    Fault none;
    none.write = [note](PostedWrite& write) { return note("write", write.data); };
    none.transmit = [note](Frame& frame) { return note("frame", frame.data); };
    return none;
  }

  uint64_t busy_cycles(exrnic::CoreSink::Ready which) override {
    return leaves_out_.busy ? FaultyCore::busy_cycles(which) : 0;
  }

  const LeavesOut leaves_out_;
  Seen& seen_;
  uint64_t now_ = 0;
};

// Of each node.
std::array<Seen, 2> seen_by(const Plan& plan, const CoreFactory& make_core, LeavesOut leaves_out) {
  std::array<Seen, 2> seen;
  run_plan(plan, [&](const CoreConfig& config, CoreSink& sink) {
    return std::make_unique<WatchedCore>(config, sink, make_core, leaves_out,
                                         seen.at(config.node_id));
  });
  return seen;
}

// Messages of 8 bytes, one at a time: each other one is a SEND, whose receive has to be fetched.
std::array<Seen, 2> messages_seen_by(LeavesOut leaves_out) {
  std::array<Seen, 2> seen;
  Pair pair(options_for("dc-25g"), [&](const CoreConfig& config, CoreSink& sink) {
    return std::make_unique<WatchedCore>(config, sink, make_rtl_core, leaves_out,
                                         seen.at(config.node_id));
  });
  const Region source = source_of(pair.left, 8), sink = sink_of(pair.right, 8);
  for (Seen& node : seen) node.cycles = 0;
  for (int i = 0; i < 10; ++i) {
    if (i % 2 == 0) {
      pair.left.rnic.post(pair.left.qp, Push{&source, 0, 8, kSinkStag, kSinkBase, true});
    } else {
      pair.right.rnic.post_receive(pair.right.qp, {element(sink, 0, 8)});
      Work send;
      send.elements = {element(source, 0, 8)};
      pair.left.rnic.post(pair.left.qp, send);
      pair.right.wait();
    }
    REQUIRE(pair.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  }
  return seen;
}

// A plan for links that lose frames, so that some of them wait for a time-out.
Plan lossy_plan(uint64_t seed) {
  for (;; ++seed) {
    Plan plan = random_plan(seed, 60);
    if (plan.fault_rate == 0 || plan.one_node) continue;
    plan.fault_rate = 0.02;
    return plan;
  }
}

void compare(const Plan& plan, const CoreFactory& make_core, LeavesOut fewer) {
  CAPTURE(plan.profile, plan.seed);
  const auto some = seen_by(plan, make_core, {});
  const auto all = seen_by(plan, make_core, fewer);
  for (const size_t node : {0u, 1u}) CHECK((some[node].text == all[node].text));
  // A plan may leave one of them out.
  CHECK(some[0].cycles + some[1].cycles < all[0].cycles + all[1].cycles);
}

void compare(const CoreFactory& make_core, LeavesOut fewer) {
  for (const char* profile : {"dc-25g", "ntb-gen3x8"}) {
    Plan plan = lossy_plan(number_of("EXRNIC_SEED", 5));
    plan.profile = profile;
    compare(plan, make_core, fewer);
  }
}

TEST_CASE("what the RTL does, and when, is the same when each of its cycles is evaluated") {
  compare(make_rtl_core, {false, false});
}

TEST_CASE("the reference core does the same without knowing when links have room for it") {
  compare(make_ref_core, {true, false});
}

TEST_CASE("so it is in many programs, on links that lose frames and on those that do not",
          "[.][soak]") {
  const uint64_t first = number_of("EXRNIC_SEED", 100);
  for (uint64_t seed = first; seed < first + 40; ++seed) {
    const Plan plan = random_plan(seed, 60);
    compare(plan, make_rtl_core, {false, false});
    compare(plan, make_ref_core, {true, false});
  }
}

TEST_CASE("while the RTL waits for what it reads of its host, most of its cycles are left out") {
  const auto some = messages_seen_by({});
  const auto all = messages_seen_by({false, false});
  for (const size_t node : {0u, 1u}) CHECK((some[node].text == all[node].text));
  CHECK(2 * some[0].cycles < all[0].cycles);      // work requests and payload
  CHECK(4 * some[1].cycles < 3 * all[1].cycles);  // receives
}

}  // namespace
}  // namespace exrnic::testing
