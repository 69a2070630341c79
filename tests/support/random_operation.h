// SPDX-License-Identifier: BSD-2-Clause
// One work request of a random plan, and what both nodes have for it.
#pragma once

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
constexpr uint32_t kPlanQkey = 0x2517;
inline bool shares_receives(unsigned pair) { return pair == 0; }

struct Operation {
  unsigned number = 0;  // in the plan
  exrnic_wqe header{};  // without elements
  std::vector<exrnic_sge> elements;
  Bytes inline_data;
  std::optional<std::vector<exrnic_sge>> receive;  // that the peer posts for it
  uint32_t left_free = 0;                          // bytes of that before the message
  bool by_pio = false;  // posted by its block, if it has one slot, else with others by a doorbell
};

unsigned slot_count(const Operation& operation);  // that it takes in the ring, as the core counts
std::string to_string(const Operation& operation);

}  // namespace exrnic::testing
