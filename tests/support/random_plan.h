// SPDX-License-Identifier: BSD-2-Clause
// A seeded random program of work between two nodes, drawn as a whole before anything runs: so it
// can be run on any core, printed, and cut down to the part that fails.
//
// A plan is a list of rounds. In each, every pair of queue pairs (those of UC and UD only where the
// links lose nothing) gets a batch of operations on one
// side or on both, with the receives that they need posted before. Some batches hold hostile work
// requests; then only that side posts, so that it is determined who fails with what.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "exrnic_hw.h"
#include "rtl-model/systemc/core.h"

namespace exrnic::testing {

constexpr unsigned kReliablePairs = 4;  // of queue pairs, left and right
constexpr unsigned kPairs = 6;          // then one of UC, and one of UD
constexpr unsigned kDomains = 2;
constexpr uint64_t kRegionBytes = 140'000;

// What each node registers, with the same STags and bases on both. Bases are unaligned, above 32
// bits, and one region ends near 2^64.
enum class Memory : uint32_t {
  kSource,   // of a domain: read only, by its owner and by peers
  kSink,     // of a pair, as are those below: PUSHes go there
  kLanding,  // PULLed bytes come there
  kInbox,    // receives
  kVictim,   // for peers to invalidate
  kOwnVictim,
};
struct Place {
  uint32_t stag;
  uint64_t base;
};
Place place_of(Memory memory, unsigned pair_or_domain);
inline uint32_t domain_of(unsigned pair) { return 7 + pair % kDomains; }
// Of both ends of a pair; a small limit in some, so that it is met.
inline uint32_t max_reads_of(unsigned pair) { return pair % 2 ? 2 : EXRNIC_MAX_READS; }
inline exrnic_service service_of(unsigned pair) {
  if (pair < kReliablePairs) return EXRNIC_SERVICE_RC;
  return pair == kReliablePairs ? EXRNIC_SERVICE_UC : EXRNIC_SERVICE_UD;
}
inline bool is_sent_once(unsigned pair) { return service_of(pair) != EXRNIC_SERVICE_RC; }
inline uint32_t qpn_of(unsigned node, unsigned pair) { return 10 + 20 * node + pair; }
constexpr uint32_t kPlanQkey = 0x8000'2517;
inline bool shares_receives(unsigned pair) { return pair == 0; }

struct Operation {
  unsigned number = 0;  // in the plan
  exrnic_wqe header{};  // without elements
  std::vector<exrnic_sge> elements;
  Bytes inline_data;
  std::optional<std::vector<exrnic_sge>> receive;  // that the peer posts for it
  bool by_pio = false;  // posted by its block, if it has one slot, else with others by a doorbell
};

struct Batch {
  unsigned node = 0;
  unsigned pair = 0;
  bool hostile = false;
  std::vector<Operation> operations;
};

struct Round {
  std::array<bool, 2> arm{};  // by node
  std::vector<Batch> batches;
};

struct Plan {
  uint64_t seed = 0;
  std::string profile;
  double fault_rate = 0;  // of each kind of link fault
  uint32_t mtu = 0;
  uint32_t ring_log = 0;  // of send and receive queues
  std::vector<Round> rounds;
};

// At least `operations` of them.
Plan random_plan(uint64_t seed, unsigned operations);

std::vector<unsigned> numbers_of(const Plan& plan);  // of its operations, in order
// What is left of it when only these operations are posted.
Plan keep_only(const Plan& plan, const std::vector<unsigned>& numbers);

unsigned slot_count(const Operation& operation);  // that it takes in the ring, as the core counts
std::string to_string(const Operation& operation);

}  // namespace exrnic::testing
