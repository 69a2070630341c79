// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/random_wqe.h"

#include <algorithm>

namespace exrnic::testing {
namespace {

using Spoil = void (*)(exrnic_wqe& wqe, unsigned pair);

constexpr uint32_t kMaxBytes = 128 * 1024;
constexpr uint64_t kBatchBytes = 160 * 1024;  // most that one batch moves

// 0 B to 128 KiB, most of them small.
uint32_t random_size(std::mt19937_64& random) {
  const unsigned kind = random() % 100;
  if (kind < 10) return 0;
  if (kind < 60) return 1 + random() % 256;
  if (kind < 85) return 1 + random() % 4096;
  if (kind < 97) return 1 + random() % 16384;
  return 1 + random() % kMaxBytes;
}

uint64_t random_place(std::mt19937_64& random, uint64_t length) {
  return random() % (kRegionBytes - length + 1);
}

exrnic_wqe random_wqe(std::mt19937_64& random, unsigned pair, uint32_t size) {
  const unsigned domain = pair % kDomains;
  exrnic_wqe wqe{};
  wqe.opcode = EXRNIC_WQE_OPCODE_PUSH;
  wqe.flags = random() % 4 ? EXRNIC_WQE_FLAGS_SIGNALED : 0;
  wqe.num_slots = 1;
  wqe.num_sge = size == 0 ? random() % 3 : 1 + random() % 2;
  wqe.length = size;
  wqe.remote_stag = sink_stag(pair);
  wqe.remote_to = sink_base(pair) + random_place(random, size);
  wqe.sge0_length = wqe.num_sge == 2 ? random() % (size + 1) : size;
  wqe.sge1_length = wqe.num_sge == 2 ? size - wqe.sge0_length : 0;
  wqe.sge0_address = source_base(domain) + random_place(random, wqe.sge0_length);
  wqe.sge1_address = source_base(domain) + random_place(random, wqe.sge1_length);
  wqe.sge0_stag = wqe.sge1_stag = source_stag(domain);
  return wqe;
}

// Refused by the peer.
const std::vector<Spoil>& remote_spoils() {
  static const std::vector<Spoil> spoils = {
      [](exrnic_wqe& w, unsigned) { w.remote_stag ^= 1; },
      [](exrnic_wqe& w, unsigned) { w.remote_stag += 0x10000; },
      [](exrnic_wqe& w, unsigned) { w.remote_stag |= 0xffff'ff00; },
      [](exrnic_wqe& w, unsigned p) { w.remote_to = sink_base(p) - 1; },
      [](exrnic_wqe& w, unsigned p) { w.remote_to = sink_base(p) + kRegionBytes - w.length + 1; },
      [](exrnic_wqe& w, unsigned p) { w.remote_to = sink_base(p) + kRegionBytes - w.length / 2; },
      [](exrnic_wqe& w, unsigned) { w.remote_to = ~uint64_t{0}; },
      [](exrnic_wqe& w, unsigned p) { w.remote_stag = sink_stag((p + 1) % kPairs); },
      [](exrnic_wqe& w, unsigned p) {
        w.remote_stag = source_stag(p % kDomains);
        w.remote_to = source_base(p % kDomains);
      },
  };
  return spoils;
}

// Refused by the own core.
const std::vector<Spoil>& local_spoils() {
  static const std::vector<Spoil> spoils = {
      [](exrnic_wqe& w, unsigned) { w.opcode = 0; },
      [](exrnic_wqe& w, unsigned) { w.opcode = EXRNIC_WQE_OPCODE_RECV; },
      [](exrnic_wqe& w, unsigned) { w.flags |= 0x40; },
      [](exrnic_wqe& w, unsigned) { w.num_sge = 3; },
      [](exrnic_wqe& w, unsigned) { w.num_slots = 2; },
      [](exrnic_wqe& w, unsigned) { w.imm_data = 0x8000'0000; },
      [](exrnic_wqe& w, unsigned) { w.length += 1; },
      [](exrnic_wqe& w, unsigned) {
        w.num_sge = 1;
        w.length = w.sge0_length = EXRNIC_MESSAGE_MAX + 1;
      },
      [](exrnic_wqe& w, unsigned) { w.sge0_stag = w.sge1_stag ^= 1; },
      [](exrnic_wqe& w, unsigned) { w.sge1_stag |= 0xffff'ff00; },
      [](exrnic_wqe& w, unsigned p) { w.sge0_address = source_base(p % kDomains) - 1; },
      [](exrnic_wqe& w, unsigned p) { w.sge1_address = source_base(p % kDomains) + kRegionBytes; },
      [](exrnic_wqe& w, unsigned) { w.sge1_address = w.sge0_address = ~uint64_t{0}; },
      [](exrnic_wqe& w, unsigned p) { w.sge0_stag = source_stag((p + 1) % kDomains); },
  };
  return spoils;
}

}  // namespace

Batch random_batch(std::mt19937_64& random, unsigned pair, bool may_fail) {
  const unsigned depth = 1 + random() % (random() % 8 ? 4 : 64);
  const bool hostile = may_fail && random() % 2;
  const unsigned where = random() % depth;
  // Behind a refusal only more of the same kind: which of two kinds strikes first is a race.
  const auto& spoils = random() % 2 ? remote_spoils() : local_spoils();
  Batch batch;
  uint64_t bytes = 0;
  for (unsigned i = 0; i < depth; ++i) {
    uint32_t size = random_size(random);
    if (bytes + size > kBatchBytes) size = 0;
    bytes += size;
    batch.push_back(random_wqe(random, pair, size));
    if (hostile && (i == where || (i > where && random() % 4 == 0)))
      spoils[random() % spoils.size()](batch.back(), pair);
  }
  batch.back().flags |= EXRNIC_WQE_FLAGS_SIGNALED;
  return batch;
}

}  // namespace exrnic::testing
