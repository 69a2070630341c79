// SPDX-License-Identifier: BSD-2-Clause
#include "sim/ethernet/border.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <memory>
#include <string>
#include <vector>

#include "sim/ethernet/ethernet_link.h"
#include "sim/testing/test_kernel.h"

namespace exrnic {
namespace {

struct Seen {
  SimTime at;
  size_t bytes;
  bool operator==(const Seen& other) const { return at == other.at && bytes == other.bytes; }
};

class End final : public WireReceiver {
 public:
  explicit End(TestKernel& kernel) : kernel_(kernel) {}
  void receive_wire(Bytes&& wire) override { seen.push_back({kernel_.context.now(), wire.size()}); }
  std::vector<Seen> seen;

 private:
  TestKernel& kernel_;
};

// Sends, and lets both sides exchange whenever nothing is left to be done by one.
std::vector<Seen> over_a_border(const EthernetLinkConfig& config, const FaultConfig& faults) {
  constexpr uint32_t kLine = 7;
  TestKernel here, there;
  Border border_here, border_there;
  End end(there);
  EthernetLink near(here.scheduler(), config, border_here.far_half(kLine, 1));
  border_here.set_near_half(kLine, near.sender());
  EthernetLink far(there.scheduler(), config, faults, 1, end, border_there.near_half(kLine, 0));
  border_there.set_far_half(kLine, far.receiver());
  for (unsigned i = 0; i < 20; ++i) near.send(Bytes(64 + i));
  for (int round = 0; round < 50; ++round) {
    here.run_all();
    border_there.give(border_here.take(1));
    there.run_all();
    border_here.give(border_there.take(0));
  }
  CHECK(near.counters().frames == 20);
  CHECK(far.counters().frames == 0);
  CHECK(border_here.neighbours() == std::vector<unsigned>{1});
  return end.seen;
}

std::vector<Seen> in_one(const EthernetLinkConfig& config, const FaultConfig& faults) {
  TestKernel kernel;
  End end(kernel);
  EthernetLink line(kernel.scheduler(), kernel.scheduler(), config, faults, 1, end);
  for (unsigned i = 0; i < 20; ++i) line.send(Bytes(64 + i));
  kernel.run_all();
  return end.seen;
}

TEST_CASE("a line between two ranks does what it does in one: times, faults, credits") {
  FaultConfig faults;
  EthernetLinkConfig config{8000, 500, 0, 0};
  SECTION("as it is") {}
  SECTION("faults") {
    faults.script[3] = Fault::kDrop;
    faults.script[5] = Fault::kDuplicate;
    faults.script[7] = Fault::kReorder;
  }
  SECTION("credits") { config.buffer_bytes = 200; }
  SECTION("cut-through") { config.head_bytes = 64; }
  const std::vector<Seen> seen = in_one(config, faults);
  REQUIRE(seen.size() >= 19);
  CHECK(over_a_border(config, faults) == seen);
}

TEST_CASE("what is said to a line that is not here is refused with its number") {
  Border border;
  Border other;
  border.far_half(3, 0).arrive_at(1, Bytes(5));
  CHECK_THROWS_WITH(other.give(border.take(0)), Catch::Matchers::ContainsSubstring("line 3"));
  CHECK(border.take(0).empty());
  border.near_half(4, 0).credit_at(1, 5);
  CHECK_THROWS_WITH(other.give(border.take(0)), Catch::Matchers::ContainsSubstring("line 4"));
  CHECK_THROWS(other.give(Bytes(5)));
}

}  // namespace
}  // namespace exrnic
