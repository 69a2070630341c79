// SPDX-License-Identifier: BSD-2-Clause
// Two nodes with memory for every operation: a queue pair each, connected, with one completion
// queue for its work and one for its receives.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <random>
#include <vector>

#include "tests/support/pair.h"

namespace exrnic::testing {

constexpr uint32_t kMtu = EXRNIC_MTU_DEFAULT;
constexpr uint32_t kRecvCqn = 6;
constexpr uint32_t kFarStag = 0x0003'21'77;  // any rights, for peers and for receives
constexpr uint32_t kNearStag = 0x0001'99'13;
constexpr uint64_t kFarBase = 0x6600'0000'0f35;
constexpr uint64_t kNearBase = 0x7700'0000'0207;
constexpr uint32_t kAllRights = EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_REMOTE_WRITE |
                                EXRNIC_ACCESS_REMOTE_READ | EXRNIC_ACCESS_REMOTE_ATOMIC;

using Elements = std::vector<exrnic_sge>;

// What one side of an exchange has.
struct End {
  static constexpr uint32_t kPage = Side::kPage;
  static constexpr uint32_t kPd = Side::kPd;

  End(Testbed& testbed, unsigned node, uint32_t qpn, uint64_t bytes,
      const QueuePairOptions& wanted = {})
      : rnic(testbed, node),
        cq(rnic.create_cq(Side::kCqn, kPage, 8)),
        recv_cq(rnic.create_cq(kRecvCqn, kPage, 8, 2)),
        far(rnic.create_region(kFarStag, kPd, kFarBase, bytes, kAllRights)),
        near(rnic.create_region(kNearStag, kPd, kNearBase, bytes, EXRNIC_ACCESS_LOCAL_WRITE)) {
    QueuePairOptions options = wanted;
    options.recv_cq = &recv_cq;
    qp = rnic.create_qp(qpn, kPage, kPd, cq, options);
  }

  void post(const Work& work) { rnic.post(qp, work); }
  void receive(const Elements& elements) { rnic.post_receive(qp, elements); }
  exrnic_cqe wait(uint64_t limit_ns = 20'000'000) { return rnic.wait(cq, kPage, limit_ns); }
  exrnic_cqe wait_receive(uint64_t limit_ns = 20'000'000) {
    return rnic.wait(recv_cq, kPage, limit_ns);
  }
  uint32_t state() { return rnic.query(qp.qpn).state; }

  void write(const Region& region, const Elements& elements, const Bytes& data) {
    size_t done = 0;
    for (const exrnic_sge& element : elements) {
      const auto first = data.begin() + static_cast<ptrdiff_t>(done);
      rnic.write(region, element.address - region.base, Bytes(first, first + element.length));
      done += element.length;
    }
  }
  Bytes read(const Region& region, const Elements& elements) {
    Bytes data;
    for (const exrnic_sge& element : elements) {
      const Bytes piece = rnic.read(region, element.address - region.base, element.length);
      data.insert(data.end(), piece.begin(), piece.end());
    }
    return data;
  }

  RnicDriver rnic;
  Queue cq;
  Queue recv_cq;
  Region far;   // what peers PUSH to and PULL from
  Region near;  // what own work uses; peers have no right to it
  QueuePair qp;
};

struct Exchange {
  static constexpr uint32_t kLeftQpn = Pair::kLeftQpn;
  static constexpr uint32_t kRightQpn = Pair::kRightQpn;

  explicit Exchange(uint64_t bytes = 20'000, const QueuePairOptions& options = {},
                    const TestbedOptions& testbed_options = options_for("dc-25g"),
                    const CoreFactory& make_core = test_cores(),
                    const std::function<void(Testbed&)>& before = nullptr)
      : testbed(testbed_options, make_core),
        left(testbed, 0, kLeftQpn, bytes, options),
        right(testbed, 1, kRightQpn, bytes, options) {
    if (before) before(testbed);  // anything is sent
    connect();
  }

  void connect() {
    left.rnic.connect(left.qp, 1, kRightQpn);
    right.rnic.connect(right.qp, 0, kLeftQpn);
  }

  void rest(uint64_t limit_ns = 50'000'000) {
    REQUIRE(testbed.run_until([] { return false; }, limit_ns) == RunResult::kIdle);
  }

  void expect_nothing_refused() {
    for (End* end : {&left, &right}) {
      CHECK(end->rnic.host().refused_reads() == 0);
      CHECK(end->rnic.host().refused_writes().empty());
    }
  }

  Testbed testbed;
  End left;
  End right;
};

// `length` bytes in `count` elements of different sizes, in an order that is not that of their
// addresses, with gaps between them. The region must be a third longer.
inline Elements scattered(const Region& region, uint32_t length, uint32_t count) {
  const auto stripe = static_cast<uint32_t>(region.length / count);
  const uint32_t even = length / count;
  Elements elements;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t part = i + 1 == count ? length : i % 2 ? even + even / 9 : even - even / 9;
    const uint32_t place = count % 5 ? i * 5 % count : i;
    elements.push_back(element(region, uint64_t{place} * stripe + i % 7, part));
    length -= part;
  }
  return elements;
}

inline uint32_t length_of(const Elements& elements) {
  uint32_t length = 0;
  for (const exrnic_sge& element : elements) length += element.length;
  return length;
}

// ---- Work requests, signaled

inline Work send_of(const Elements& elements, uint8_t more_flags = 0) {
  Work work;
  work.elements = elements;
  work.flags = static_cast<uint8_t>(EXRNIC_WQE_FLAGS_SIGNALED | more_flags);
  return work;
}

inline Work with_imm(Work work, uint8_t opcode, uint32_t imm_data) {
  work.opcode = opcode;
  work.imm_data = imm_data;
  return work;
}

// To or from `offset` in the peer's far region.
inline Work remote_work(uint8_t opcode, const Elements& elements, uint64_t offset) {
  Work work = send_of(elements);
  work.opcode = opcode;
  work.remote_stag = kFarStag;
  work.remote_to = kFarBase + offset;
  return work;
}
inline Work push_of(const Elements& elements, uint64_t offset) {
  return remote_work(EXRNIC_WQE_OPCODE_PUSH, elements, offset);
}
inline Work pull_of(const Elements& elements, uint64_t offset) {
  return remote_work(EXRNIC_WQE_OPCODE_PULL, elements, offset);
}
// On the 8 bytes there; what was before comes to `element`.
inline Work fetch_add_of(const exrnic_sge& element, uint64_t offset, uint64_t data) {
  Work work = remote_work(EXRNIC_WQE_OPCODE_FETCH_ADD, {element}, offset);
  work.atomic_data = data;
  return work;
}
inline Work compare_swap_of(const exrnic_sge& element, uint64_t offset, uint64_t compare,
                            uint64_t data) {
  Work work = remote_work(EXRNIC_WQE_OPCODE_COMPARE_SWAP, {element}, offset);
  work.atomic_data = data;
  work.atomic_compare = compare;
  return work;
}
inline Work local_invalidate_of(uint32_t stag) {
  return with_imm(send_of({}), EXRNIC_WQE_OPCODE_LOCAL_INVALIDATE, stag);
}
inline Work inlined(Work work, const Bytes& data) {
  work.flags |= EXRNIC_WQE_FLAGS_INLINE;
  work.inline_data = data;
  return work;
}

}  // namespace exrnic::testing
