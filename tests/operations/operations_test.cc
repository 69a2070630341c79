// SPDX-License-Identifier: BSD-2-Clause
// Every operation moves every size, from and to lists of elements, and says so on both sides.
#include <catch2/generators/catch_generators.hpp>
#include <string>

#include "tests/support/exchange.h"

namespace exrnic::testing {
namespace {

constexpr uint64_t kBytes = 100'000;
constexpr uint32_t kImm = 0xfeed'0b0e;
const uint32_t kSizes[] = {0, 1, kMtu - 1, kMtu, kMtu + 1, 3 * kMtu + 5, 65536};

struct Kind {
  std::string name;
  uint8_t opcode;
  bool receives;  // takes a receive of the peer
  bool scatters;  // the receive's elements take the bytes, else the peer's far region
  uint8_t flags;  // of the receive's completion
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> kinds = {
      {"PUSH", EXRNIC_WQE_OPCODE_PUSH, false, false, 0},
      {"PUSH with immediate", EXRNIC_WQE_OPCODE_PUSH_IMM, true, false,
       EXRNIC_CQE_FLAGS_IMM | EXRNIC_CQE_FLAGS_WRITTEN},
      {"SEND", EXRNIC_WQE_OPCODE_SEND, true, true, 0},
      {"SEND with immediate", EXRNIC_WQE_OPCODE_SEND_IMM, true, true, EXRNIC_CQE_FLAGS_IMM},
  };
  return kinds;
}

bool has_imm(const Kind& kind) { return kind.flags & EXRNIC_CQE_FLAGS_IMM; }

Work work_of(const Kind& kind, const Elements& elements, uint64_t remote_offset) {
  Work work = kind.scatters ? send_of(elements) : push_of(elements, remote_offset);
  work.opcode = kind.opcode;
  if (has_imm(kind)) work.imm_data = kImm;
  return work;
}

void expect_completion(const exrnic_cqe& cqe, const Work& work, uint32_t last_slot) {
  CHECK(cqe.status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(cqe.opcode == work.opcode);
  CHECK(cqe.byte_length == length_of(work.elements) + work.inline_data.size());
  CHECK(cqe.wqe_index == last_slot);
  CHECK(cqe.qpn == Exchange::kLeftQpn);
  CHECK(cqe.flags == 0);
  CHECK(cqe.imm_data == 0);
  CHECK(cqe.detail == 0);
}

void expect_receive(const exrnic_cqe& cqe, const Kind& kind, uint32_t length, uint32_t last_slot) {
  CHECK(cqe.status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(cqe.opcode == EXRNIC_WQE_OPCODE_RECV);
  CHECK(cqe.byte_length == length);
  CHECK(cqe.wqe_index == last_slot);
  CHECK(cqe.qpn == Exchange::kRightQpn);
  CHECK(cqe.flags == kind.flags);
  CHECK(cqe.imm_data == (has_imm(kind) ? kImm : 0));
  CHECK(cqe.detail == 0);
}

void move_to_peer(Exchange& e, std::mt19937_64& random, const Kind& kind, uint32_t size,
                  uint32_t count) {
  INFO(kind.name << " of " << size << " bytes in " << count << " elements");
  constexpr uint64_t kOffset = 77;
  const Elements from = scattered(e.left.near, size, count);
  const Elements to = kind.scatters ? scattered(e.right.near, size, 17 - count)
                                    : Elements{element(e.right.far, kOffset, size)};
  const Region& sink = kind.scatters ? e.right.near : e.right.far;
  const Bytes data = random_bytes(random, size);
  e.left.write(e.left.near, from, data);
  if (kind.receives) e.right.receive(kind.scatters ? to : Elements{});
  const Work work = work_of(kind, from, kOffset);
  e.left.post(work);
  expect_completion(e.left.wait(), work, e.left.qp.sq.index - 1);
  if (kind.receives) expect_receive(e.right.wait_receive(), kind, size, e.right.qp.rq.index - 1);
  e.rest();  // what is placed may be on its way through PCIe
  CHECK(difference(e.right.read(sink, to), data) == "");
}

TEST_CASE("every operation moves every size, gathered and scattered, and completes on both sides") {
  Exchange e(kBytes, {}, options_for(GENERATE("dc-25g", "ntb-gen3x8")));  // both data paths
  std::mt19937_64 random(21);
  for (const Kind& kind : kinds())
    for (const uint32_t count : {1u, 16u})
      for (const uint32_t size : kSizes) move_to_peer(e, random, kind, size, count);
  e.expect_nothing_refused();
}

TEST_CASE("a PULL fetches every size into one element and into sixteen") {
  Exchange e(kBytes, {}, options_for(GENERATE("dc-25g", "ntb-gen3x8")));
  std::mt19937_64 random(22);
  for (const uint32_t count : {1u, 2u, 3u, 16u})
    for (const uint32_t size : kSizes) {
      INFO(size << " bytes into " << count << " elements");
      const Elements to = scattered(e.left.near, size, count);
      const Bytes data = random_bytes(random, size);
      e.right.rnic.write(e.right.far, 300, data);
      const Work work = pull_of(to, 300);
      e.left.post(work);
      expect_completion(e.left.wait(), work, e.left.qp.sq.index - 1);
      CHECK(difference(e.left.read(e.left.near, to), data) == "");
    }
  CHECK(e.right.rnic.counter(EXRNIC_COUNTER_READS_SERVED) > 0);
  e.expect_nothing_refused();
}

TEST_CASE("inline data of any size up to the limit travels in the work request") {
  Exchange e(20'000, {}, options_for(GENERATE("dc-25g", "ntb-gen3x8")));
  std::mt19937_64 random(23);
  for (uint32_t size = 0; size <= EXRNIC_INLINE_MAX; ++size)
    for (const Kind& kind : kinds()) {
      INFO(kind.name << " of " << size << " bytes inline");
      const Bytes data = random_bytes(random, size);
      const Elements to{element(kind.scatters ? e.right.near : e.right.far, 500, size)};
      if (kind.receives) e.right.receive(kind.scatters ? to : Elements{});
      const Work work = inlined(work_of(kind, {}, 500), data);
      e.left.post(work);
      expect_completion(e.left.wait(), work, e.left.qp.sq.index - 1);
      if (kind.receives)
        expect_receive(e.right.wait_receive(), kind, size, e.right.qp.rq.index - 1);
      e.rest();
      CHECK(difference(e.right.read(kind.scatters ? e.right.near : e.right.far, to), data) == "");
    }
  CHECK(e.left.rnic.host().refused_reads() == 0);
}

TEST_CASE("messages of 5 MiB arrive whole, by PUSH, SEND and PULL") {
  constexpr uint32_t kLong = 5u << 20;
  Exchange e(kLong + 4096, {}, options_for("ntb-gen3x8"));
  std::mt19937_64 random(24);
  const Bytes data = random_bytes(random, kLong);
  const Elements near{element(e.left.near, 9, kLong)};
  e.left.write(e.left.near, near, data);
  constexpr uint64_t kLimitNs = 200'000'000;

  e.left.post(push_of(near, 3));
  CHECK(e.left.wait(kLimitNs).status == EXRNIC_CQE_STATUS_SUCCESS);
  e.rest();
  CHECK(difference(e.right.rnic.read(e.right.far, 3, kLong), data) == "");

  constexpr uint32_t kFirst = 1u << 20;
  e.right.receive(
      {element(e.right.near, 1, kFirst), element(e.right.near, 1 + kFirst, kLong - kFirst)});
  e.left.post(send_of(near));
  CHECK(e.left.wait(kLimitNs).status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(e.right.wait_receive().byte_length == kLong);
  CHECK(difference(e.right.rnic.read(e.right.near, 1, kLong), data) == "");

  const Elements back{element(e.left.near, 4001, kLong)};
  e.left.post(pull_of(back, 3));
  CHECK(e.left.wait(kLimitNs).byte_length == kLong);
  CHECK(difference(e.left.read(e.left.near, back), data) == "");
  e.expect_nothing_refused();
}

TEST_CASE("work requests of many slots stand across the end of the ring, in both queues") {
  QueuePairOptions options;
  options.log_slots = 4;
  Exchange e(50'000, options);
  std::mt19937_64 random(25);
  for (uint32_t round = 0; round < 40; ++round) {
    const uint32_t count = 1 + round * 7 % 16;  // 1 to 5 slots: every place around the ring's end
    const uint32_t size = count * 90;
    INFO("round " << round << ": " << count << " elements");
    const Elements from = scattered(e.left.near, size, count);
    const Elements to = scattered(e.right.near, size, 17 - count);
    const Bytes data = random_bytes(random, size);
    e.left.write(e.left.near, from, data);
    e.right.receive(to);
    e.left.post(send_of(from));
    const exrnic_cqe sent = e.left.wait();
    REQUIRE(sent.status == EXRNIC_CQE_STATUS_SUCCESS);
    REQUIRE(sent.wqe_index == ((e.left.qp.sq.index - 1) & 0xffff));
    const exrnic_cqe received = e.right.wait_receive();
    REQUIRE(received.wqe_index == ((e.right.qp.rq.index - 1) & 0xffff));
    REQUIRE(difference(e.right.read(e.right.near, to), data) == "");
  }
}

// One of 8 bytes whose effect is seen by its completion only.
Work random_work(std::mt19937_64& random, Exchange& e) {
  const Elements eight{element(e.left.near, 8 * (random() % 100), 8)};
  const auto some = static_cast<uint32_t>(1 + random() % 3000);
  switch (random() % 6) {
    case 0:
      return pull_of(eight, 16);
    case 1:
      return pull_of(scattered(e.left.near, some, 1 + random() % 9), 0);
    case 2:
      return push_of({element(e.left.near, 0, some)}, 5000);
    case 3:
      return inlined(push_of({}, 6000), Bytes(random() % 65, 1));
    case 4:
      return with_imm(push_of(eight, 0), EXRNIC_WQE_OPCODE_PUSH_IMM, some);
    default:
      return send_of(scattered(e.left.near, some, 1 + random() % 16));
  }
}

bool takes_receive(const Work& work) {
  return work.opcode == EXRNIC_WQE_OPCODE_SEND || work.opcode == EXRNIC_WQE_OPCODE_PUSH_IMM;
}

TEST_CASE("completions of a send queue come in the order of posting, whatever is mixed") {
  Exchange e;
  const uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 12; ++round) {
    std::vector<uint32_t> expected;  // last slots of the signaled ones
    uint32_t receives = 0;
    for (uint32_t slots = 0; slots < 50 && receives < 10;) {
      Work work = random_work(random, e);
      if (random() % 3 == 0) work.flags |= EXRNIC_WQE_FLAGS_FENCE;
      if (random() % 4 == 0) work.flags &= ~EXRNIC_WQE_FLAGS_SIGNALED;
      if (takes_receive(work)) {
        e.right.receive(scattered(e.right.near, 3100, 1 + random() % 16));
        ++receives;
      }
      const uint32_t before = e.left.qp.sq.index;
      e.left.rnic.put(e.left.qp, work);
      slots += e.left.qp.sq.index - before;
      if (work.flags & EXRNIC_WQE_FLAGS_SIGNALED) expected.push_back(e.left.qp.sq.index - 1);
    }
    e.left.rnic.ring(e.left.qp);
    for (const uint32_t slot : expected) {
      const exrnic_cqe cqe = e.left.wait();
      REQUIRE(cqe.status == EXRNIC_CQE_STATUS_SUCCESS);
      REQUIRE(cqe.wqe_index == (slot & 0xffff));
    }
    while (receives-- > 0) REQUIRE(e.right.wait_receive().status == EXRNIC_CQE_STATUS_SUCCESS);
    e.rest();
    CHECK_FALSE(e.left.rnic.poll(e.left.cq, End::kPage).has_value());
  }
}

TEST_CASE("a long message holds up no other queue pair's, nor the answer to a peer's PULL") {
  constexpr uint32_t kLong = 300'000;
  Exchange e(kLong);
  QueuePairOptions options;
  options.recv_cq = &e.right.recv_cq;
  QueuePair left = e.left.rnic.create_qp(80, End::kPage, End::kPd, e.left.cq);
  QueuePair right = e.right.rnic.create_qp(81, End::kPage, End::kPd, e.right.cq, options);
  e.left.rnic.connect(left, 1, 81);
  e.right.rnic.connect(right, 0, 80);
  e.left.post(push_of({element(e.left.near, 0, kLong)}, 0));
  e.testbed.run_for(10'000);
  e.left.rnic.post(left, push_of({element(e.left.near, 0, 8)}, 0));
  e.right.post(pull_of({element(e.right.near, 0, 8)}, 0));
  CHECK(e.right.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  const uint64_t answered = e.testbed.now_ns();
  const exrnic_cqe short_one = e.left.wait(), long_one = e.left.wait();
  CHECK(short_one.qpn == 80);
  CHECK(short_one.status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(long_one.qpn == Exchange::kLeftQpn);
  CHECK(long_one.status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(short_one.timestamp + 20'000 < long_one.timestamp);
  CHECK(answered + 20'000 < long_one.timestamp);
}

TEST_CASE("what is behind a PULL uses its bytes, with a fence and without") {
  Exchange e;
  std::mt19937_64 random(26);
  for (const uint8_t fence : {uint8_t{EXRNIC_WQE_FLAGS_FENCE}, uint8_t{0}}) {
    const Bytes data = random_bytes(random, 5000);
    e.right.rnic.write(e.right.far, 0, data);
    const Elements landing{element(e.left.near, 40, 5000)};
    Work push = push_of(landing, 7000);
    push.flags |= fence;
    e.left.rnic.put(e.left.qp, pull_of(landing, 0));
    e.left.rnic.put(e.left.qp, push);
    e.left.rnic.ring(e.left.qp);
    CHECK(e.left.wait().opcode == EXRNIC_WQE_OPCODE_PULL);
    CHECK(e.left.wait().opcode == EXRNIC_WQE_OPCODE_PUSH);
    e.rest();
    CHECK(difference(e.right.rnic.read(e.right.far, 7000, 5000), data) == "");
  }
}

}  // namespace
}  // namespace exrnic::testing
