// SPDX-License-Identifier: BSD-2-Clause
// Two connected nodes on in-process hosts, with memory to carry bytes between, for one profile.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "tests/support/pair.h"

namespace exrnic::bench {

constexpr uint64_t kWaitNs = 1'000'000'000;

// What the left node posts, again and again.
enum class Carrier {
  kPush,      // left to right
  kPull,      // right to left
  kSend,      // left to right, each with a receive that the right node has posted before
  kFetchAdd,  // at the right node, whose firmware runs
};

class Path {
 public:
  Path(const std::string& profile, uint64_t region_bytes, const CoreFactory& make_core);
  Path(const TestbedOptions& options, uint64_t region_bytes, const CoreFactory& make_core);

  testing::Pair pair;
  testing::Region source;   // of the left node
  testing::Region landing;  // of the left node, for PULLs
  testing::Region sink;     // of the right node: PUSH target, PULL source, room for receives

  testing::Work work(Carrier carrier, uint32_t size) const;

  // Into the send queue of the left node, and a receive into the right one's where it needs one.
  void put(Carrier carrier, uint32_t size);
  void ring();  // what was put

  // The next completion of the left node; throws std::runtime_error if it is no success.
  exrnic_cqe complete();
  void rest();  // until both nodes are

  // Keeps the send queue full for `operations`; returns how many end in a second, between the
  // completion that ends the first quarter and the last of all.
  double stream(Carrier carrier, uint32_t size, uint32_t operations);
};

// Enough of them to be in a steady state, few enough to be simulated soon.
uint32_t operations_for(uint32_t size);

}  // namespace exrnic::bench
