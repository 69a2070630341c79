// SPDX-License-Identifier: BSD-2-Clause
// STags that a peer cannot guess (RFC 5042, 5.3.1): how many it would have to try.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <deque>
#include <vector>

#include "exrnic_hw.h"
#include "sim/sim_numbers.h"

namespace exrnic {
namespace {

constexpr uint32_t kAllocations = 1'000'000;
constexpr uint32_t kLive = 256;  // regions at one time
constexpr uint32_t kStags = EXRNIC_MAX_STAG << EXRNIC_STAG_INDEX_SHIFT;

// Collision (Rényi) entropy, in bits: of any two draws, how likely are they the same. The Shannon
// entropy is no less, and a sample of a million is enough for it.
class CollisionEntropy {
 public:
  void Add(uint32_t value) {
    pairs_ += seen_.at(value)++;
    ++count_;
  }
  double bits() const {
    const double all = static_cast<double>(count_) * static_cast<double>(count_ - 1) / 2;
    return std::log2(all / static_cast<double>(pairs_));
  }

 private:
  std::vector<uint32_t> seen_ = std::vector<uint32_t>(kStags);
  uint64_t pairs_ = 0;
  uint64_t count_ = 0;
};

TEST_CASE("over a million allocations, STags and their distances have more than 20 bits") {
  SimStags stags(EXRNIC_MAX_STAG);
  std::deque<uint32_t> live;
  CollisionEntropy whole, distance;
  uint32_t last = 0;
  for (uint32_t i = 0; i < kAllocations; ++i) {
    if (live.size() == kLive) {
      stags.Give(live.front());
      live.pop_front();
    }
    const uint32_t stag = stags.Take();
    live.push_back(stag);
    whole.Add(stag);
    distance.Add((stag - last) % kStags);
    last = stag;
  }
  INFO(whole.bits() << " bits, of distances " << distance.bits());
  CHECK(whole.bits() > 20);
  CHECK(distance.bits() > 20);
}

TEST_CASE("two starts hand out different STags") {
  SimStags first(EXRNIC_MAX_STAG), second(EXRNIC_MAX_STAG);
  unsigned equal = 0;
  for (int i = 0; i < 64; ++i) equal += first.Take() == second.Take();
  CHECK(equal < 2);
}

}  // namespace
}  // namespace exrnic
