// SPDX-License-Identifier: BSD-2-Clause
// A seeded random program of work between two nodes, or within one, drawn as a whole before
// anything runs: so it can be run on any core, printed, and cut down to the part that fails.
//
// A plan is a list of rounds. In each, every pair of queue pairs (those of UC and UD only where the
// links lose nothing) gets a batch of operations on one
// side or on both, with the receives that they need posted before. Some batches hold hostile work
// requests; then only that side posts, so that it is determined who fails with what.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/random_operation.h"

namespace exrnic::testing {

struct Batch {
  unsigned node = 0;
  unsigned pair = 0;
  bool hostile = false;
  std::vector<Operation> operations;
};

struct Round {
  std::array<bool, 2> arm{};     // by node
  std::array<bool, 2> resize{};  // its completion queue, while work is under way
  std::vector<Batch> batches;
};

struct Plan {
  uint64_t seed = 0;
  std::string profile;
  double fault_rate = 0;  // of each kind of link fault
  uint32_t mtu = 0;
  bool one_node = false;                 // what the two nodes have is on one: all frames go round
  uint32_t ring_log = 0;                 // of send and receive queues
  bool grh = false;                      // datagrams leave room for one
  std::array<bool, kPairs> by_window{};  // the peers of a pair PUSH to memory windows
  std::vector<Round> rounds;
};

// At least `operations` of them.
Plan random_plan(uint64_t seed, unsigned operations);

std::vector<unsigned> numbers_of(const Plan& plan);  // of its operations, in order
// What is left of it when only these operations are posted.
Plan keep_only(const Plan& plan, const std::vector<unsigned>& numbers);

}  // namespace exrnic::testing
