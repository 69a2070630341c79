// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/random_plan.h"

#include <algorithm>
#include <random>
#include <set>

#include "tests/support/random_spoil.h"

namespace exrnic::testing {
namespace {

constexpr uint32_t kMaxBytes = 128 * 1024;
constexpr uint64_t kBatchBytes = 160 * 1024;  // most that one batch moves
constexpr uint32_t kMaxDepth = 64;
constexpr uint32_t kDeep = 1024;
constexpr uint32_t kOnceDepth = 10;  // of what is sent once: nothing holds it back, and a
constexpr uint32_t kOnceFrames = 3;  // receiver has room for so many messages of so many frames

struct Kind {
  exrnic_wqe_opcode opcode;
  unsigned weight;
};
constexpr Kind kKinds[] = {
    {EXRNIC_WQE_OPCODE_PUSH, 30},
    {EXRNIC_WQE_OPCODE_PUSH_IMM, 8},
    {EXRNIC_WQE_OPCODE_SEND, 20},
    {EXRNIC_WQE_OPCODE_SEND_IMM, 8},
    {EXRNIC_WQE_OPCODE_PULL, 28},
    {EXRNIC_WQE_OPCODE_SEND_INVALIDATE, 3},
    {EXRNIC_WQE_OPCODE_LOCAL_INVALIDATE, 3},
};

bool is_send(uint8_t opcode) {
  return opcode == EXRNIC_WQE_OPCODE_SEND || opcode == EXRNIC_WQE_OPCODE_SEND_IMM ||
         opcode == EXRNIC_WQE_OPCODE_SEND_INVALIDATE;
}

constexpr uint32_t kMtus = (EXRNIC_MTU_MAX - EXRNIC_MTU_MIN) / EXRNIC_MTU_STEP + 1;

class Drawing {
 public:
  Drawing(uint64_t seed, unsigned operations) : random_(seed) {
    plan_.seed = seed;
    plan_.profile = below(2) ? "dc-25g" : "ntb-gen3x8";
    plan_.fault_rate = below(2) ? 0 : 0.01;
    plan_.one_node = seed % 4 == 1;
    plan_.mtu = EXRNIC_MTU_MIN + EXRNIC_MTU_STEP * below(kMtus);
    plan_.ring_log = 9 + below(4);
    plan_.grh = below(2) != 0;
    while (number_ < operations) plan_.rounds.push_back(round());
    // Drawn apart: what seeds have shown once stays as it was.
    std::mt19937_64 more(seed);
    for (Round& round : plan_.rounds) round.resize = {more() % 3 == 0, more() % 3 == 0};
    for (unsigned pair = 0; pair < kPairs; ++pair)
      plan_.by_window[pair] = more() % 2 == 0 && service_of(pair) != EXRNIC_SERVICE_UD;
  }
  Plan take() { return std::move(plan_); }

 private:
  uint32_t below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }

  Round round() {
    Round round;
    round.arm = {below(2) != 0, below(2) != 0};
    // What is sent once is complete where nothing is lost.
    const unsigned pairs = plan_.fault_rate == 0 ? kPairs : kReliablePairs;
    for (unsigned pair = 0; pair < pairs; ++pair) {
      const unsigned sides = 1 + below(3);  // bit 0: left posts, bit 1: right
      for (const unsigned node : {0u, 1u})
        if (sides >> node & 1) round.batches.push_back(batch(node, pair, sides != 3));
    }
    return round;
  }

  // The last work request is signaled. Behind a hostile one only more of the same kind: which of
  // two kinds strikes first would be a race.
  Batch batch(unsigned node, unsigned pair, bool alone) {
    Batch batch;
    batch.node = node;
    batch.pair = pair;
    const bool once = is_sent_once(pair);
    batch.hostile = !once && alone && below(3) == 0;
    const uint32_t depth = 1 + below(once        ? kOnceDepth
                                     : below(8)  ? 4
                                     : below(12) ? kMaxDepth
                                                 : kDeep);
    const uint32_t where = below(depth);
    const SpoilKind kind = below(2) ? SpoilKind::kRemote : SpoilKind::kLocal;
    uint64_t bytes = 0;
    uint32_t slots = 0, receive_slots = 0;
    invalidated_ = own_invalidated_ = false;
    for (uint32_t i = 0; i < depth; ++i) {
      uint32_t size = depth > kMaxDepth ? below(64) : size_of_message();
      if (once) size = below(most_once(pair) + 1);
      if (bytes + size > kBatchBytes) size = 0;
      bytes += size;
      Operation operation = this->operation(node, pair, size);
      slots += slot_count(operation);
      receive_slots += EXRNIC_WQE_SLOTS_MAX;
      if (slots > 1u << plan_.ring_log || receive_slots > 1u << plan_.ring_log) break;
      if (batch.hostile && (i == where || (i > where && below(4) == 0)))
        spoil(random_, operation, pair, kind);
      operation.by_pio = below(4) == 0;
      operation.number = number_++;
      batch.operations.push_back(std::move(operation));
    }
    batch.operations.back().header.flags |= EXRNIC_WQE_FLAGS_SIGNALED;
    return batch;
  }

  // Bytes of one message.
  uint32_t most_once(unsigned pair) const {
    return service_of(pair) == EXRNIC_SERVICE_UD ? plan_.mtu : kOnceFrames * plan_.mtu;
  }

  // 0 B to 128 KiB, most of them small.
  uint32_t size_of_message() {
    const uint32_t kind = below(100);
    if (kind < 10) return 0;
    if (kind < 60) return 1 + below(256);
    if (kind < 85) return 1 + below(4096);
    if (kind < 97) return 1 + below(16384);
    return 1 + below(kMaxBytes);
  }

  // What its service can do.
  exrnic_wqe_opcode opcode(unsigned pair) {
    for (;;) {
      const exrnic_wqe_opcode opcode = this->opcode();
      const bool push = opcode == EXRNIC_WQE_OPCODE_PUSH || opcode == EXRNIC_WQE_OPCODE_PUSH_IMM;
      const bool uc =
          opcode != EXRNIC_WQE_OPCODE_PULL && opcode != EXRNIC_WQE_OPCODE_SEND_INVALIDATE;
      if (!is_sent_once(pair) || (uc && !(push && service_of(pair) == EXRNIC_SERVICE_UD)))
        return opcode;
    }
  }

  exrnic_wqe_opcode opcode() {
    for (;;) {
      uint32_t draw = below(100);
      for (const Kind& kind : kKinds) {
        if (draw < kind.weight) return kind.opcode;
        draw -= kind.weight;
      }
    }
  }

  uint64_t offset(uint64_t length) { return random_() % (kRegionBytes - length + 1); }

  // `length` bytes in up to `most` elements, some of them empty.
  std::vector<exrnic_sge> elements(Memory memory, unsigned which, uint32_t length, uint32_t most) {
    const uint32_t count = below(4) ? 1 + below(2) : 1 + below(EXRNIC_MAX_SGE);
    const Place place = place_of(memory, which);
    std::vector<exrnic_sge> list;
    for (uint32_t i = 0; i < std::min(count, most); ++i) {
      const bool last = i + 1 == std::min(count, most);
      const uint32_t part = last ? length : below(length + 1);
      exrnic_sge element{};
      element.address = place.base + offset(part);
      element.length = part;
      element.stag = place.stag;
      list.push_back(element);
      length -= part;
    }
    return list;
  }

  Operation operation(unsigned node, unsigned pair, uint32_t size) {
    Operation operation;
    exrnic_wqe& header = operation.header;
    header.opcode = opcode(pair);
    const bool repeats = (header.opcode == EXRNIC_WQE_OPCODE_SEND_INVALIDATE && invalidated_) ||
                         (header.opcode == EXRNIC_WQE_OPCODE_LOCAL_INVALIDATE && own_invalidated_);
    if (repeats) header.opcode = EXRNIC_WQE_OPCODE_SEND;
    header.flags =
        (below(4) ? EXRNIC_WQE_FLAGS_SIGNALED : 0) | (below(8) ? 0 : EXRNIC_WQE_FLAGS_FENCE);
    header.length = size;
    switch (header.opcode) {
      case EXRNIC_WQE_OPCODE_LOCAL_INVALIDATE:
        own_invalidated_ = true;
        header.length = 0;
        header.imm_data = place_of(Memory::kOwnVictim, pair).stag;
        break;
      case EXRNIC_WQE_OPCODE_PULL:
        fill_pull(operation, pair);
        break;
      default:
        fill_outgoing(operation, pair);
        if (service_of(pair) != EXRNIC_SERVICE_UD) break;
        header.remote_to =
            uint64_t{1 - node} << EXRNIC_DATAGRAM_NODE_SHIFT | qpn_of(1 - node, pair);
        // That of the own queue pair is the same.
        header.remote_stag =
            below(2) ? kPlanQkey : EXRNIC_QKEY_CONTROLLED | static_cast<uint32_t>(random_());
    }
    header.num_sge = static_cast<uint8_t>(operation.elements.size());
    header.num_slots = static_cast<uint8_t>(slots_for(operation));
    return operation;
  }

  void fill_pull(Operation& operation, unsigned pair) {
    const Place source = place_of(Memory::kSource, pair % kDomains);
    operation.elements =
        elements(Memory::kLanding, pair, operation.header.length, max_reads_of(pair));
    operation.header.remote_stag = source.stag;
    operation.header.remote_to = source.base + offset(operation.header.length);
  }

  void fill_outgoing(Operation& operation, unsigned pair) {
    exrnic_wqe& header = operation.header;
    if (header.length <= EXRNIC_INLINE_MAX && below(3) == 0) {
      header.flags |= EXRNIC_WQE_FLAGS_INLINE;
      for (uint32_t i = 0; i < header.length; ++i)
        operation.inline_data.push_back(static_cast<uint8_t>(random_()));
    } else {
      operation.elements =
          elements(Memory::kSource, pair % kDomains, header.length, EXRNIC_MAX_SGE);
    }
    if (header.opcode == EXRNIC_WQE_OPCODE_PUSH_IMM || header.opcode == EXRNIC_WQE_OPCODE_SEND_IMM)
      header.imm_data = static_cast<uint32_t>(random_());
    if (header.opcode == EXRNIC_WQE_OPCODE_SEND_INVALIDATE) {
      invalidated_ = true;
      header.imm_data = place_of(Memory::kVictim, pair).stag;
    }
    if (is_send(header.opcode)) {
      if (plan_.grh && service_of(pair) == EXRNIC_SERVICE_UD)
        operation.left_free = EXRNIC_GRH_BYTES;
      operation.receive =
          elements(Memory::kInbox, pair,
                   operation.left_free + header.length + below(2) * below(300), EXRNIC_MAX_SGE);
    } else {
      const Place sink = place_of(Memory::kSink, pair);
      header.remote_stag = sink.stag;
      header.remote_to = sink.base + offset(header.length);
      if (header.opcode == EXRNIC_WQE_OPCODE_PUSH_IMM) operation.receive.emplace();
    }
    if (operation.receive && below(3) == 0) header.flags |= EXRNIC_WQE_FLAGS_SOLICITED;
  }

  static uint32_t slots_for(const Operation& operation) {
    if (!operation.inline_data.empty())
      return operation.inline_data.size() > EXRNIC_WQE_SGES * sizeof(exrnic_sge) ? 2 : 1;
    const size_t more = operation.elements.size() > EXRNIC_WQE_SGES
                            ? operation.elements.size() - EXRNIC_WQE_SGES
                            : 0;
    return static_cast<uint32_t>(1 + (more + EXRNIC_WQE_SLOT_SGES - 1) / EXRNIC_WQE_SLOT_SGES);
  }

  std::mt19937_64 random_;
  Plan plan_;
  unsigned number_ = 0;
  bool invalidated_ = false;  // in this batch: a victim serves once
  bool own_invalidated_ = false;
};

}  // namespace

Plan random_plan(uint64_t seed, unsigned operations) { return Drawing(seed, operations).take(); }

Plan keep_only(const Plan& plan, const std::vector<unsigned>& numbers) {
  const std::set<unsigned> kept(numbers.begin(), numbers.end());
  Plan part = plan;
  for (Round& round : part.rounds) {
    for (Batch& batch : round.batches) {
      auto& list = batch.operations;
      const auto dropped = [&](const Operation& one) { return kept.count(one.number) == 0; };
      list.erase(std::remove_if(list.begin(), list.end(), dropped), list.end());
      if (!list.empty()) list.back().header.flags |= EXRNIC_WQE_FLAGS_SIGNALED;
    }
    auto& batches = round.batches;
    const auto empty = [](const Batch& batch) { return batch.operations.empty(); };
    batches.erase(std::remove_if(batches.begin(), batches.end(), empty), batches.end());
  }
  const auto idle = [](const Round& round) { return round.batches.empty(); };
  part.rounds.erase(std::remove_if(part.rounds.begin(), part.rounds.end(), idle),
                    part.rounds.end());
  return part;
}

std::vector<unsigned> numbers_of(const Plan& plan) {
  std::vector<unsigned> numbers;
  for (const Round& round : plan.rounds)
    for (const Batch& batch : round.batches)
      for (const Operation& operation : batch.operations) numbers.push_back(operation.number);
  return numbers;
}

}  // namespace exrnic::testing
