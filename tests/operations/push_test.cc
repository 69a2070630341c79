// SPDX-License-Identifier: BSD-2-Clause
// PUSH from host memory to host memory, through two verilated cores.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "tests/support/pair.h"

namespace exrnic::testing {
namespace {

struct Transfer {
  explicit Transfer(uint64_t length, const TestbedOptions& options = options_for("dc-25g"))
      : pair(options), source(source_of(pair.left, length)), sink(sink_of(pair.right, length)) {}

  Push push(uint64_t from, uint64_t to, uint32_t length) const {
    return {&source, from, length, kSinkStag, kSinkBase + to, true};
  }

  Pair pair;
  Region source;
  Region sink;
};

TEST_CASE("a PUSH of 8 bytes arrives, and completes with every field of its CQE") {
  Transfer t(64);
  const Bytes data = {1, 2, 3, 4, 5, 6, 7, 8};
  t.pair.left.rnic.write(t.source, 5, data);
  t.pair.left.rnic.post(t.pair.left.qp, t.push(5, 9, 8));
  const exrnic_cqe cqe = t.pair.left.wait();
  CHECK(cqe.status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(cqe.opcode == EXRNIC_WQE_OPCODE_PUSH);
  CHECK(cqe.wqe_index == 0);
  CHECK(cqe.byte_length == 8);
  CHECK(cqe.qpn == Pair::kLeftQpn);
  CHECK(cqe.detail == 0);
  CHECK(cqe.imm_data == 0);
  CHECK(cqe.timestamp > 0);
  CHECK(cqe.timestamp <= t.pair.testbed.now_ns());
  CHECK(difference(t.pair.right.rnic.read(t.sink, 9, 8), data) == "");
}

TEST_CASE("a PUSH of any size and alignment places its bytes, no other, and nothing is refused") {
  Transfer t(70'000);
  std::mt19937_64 random(1);
  Bytes expected(70'000, 0);
  const uint32_t sizes[] = {1,    2,    7,    15,   16,   17,   63,   64,    65,    255,   256,
                            1023, 1024, 1025, 4095, 4096, 4097, 8192, 10000, 65535, 65536, 0};
  for (const uint32_t size : sizes) {
    const uint64_t from = random() % (70'000 - size), to = random() % (70'000 - size);
    const Bytes data = random_bytes(random, size);
    INFO("size " << size << " from " << from << " to " << to);
    t.pair.left.rnic.write(t.source, from, data);
    std::copy(data.begin(), data.end(), expected.begin() + to);
    t.pair.left.rnic.post(t.pair.left.qp, t.push(from, to, size));
    const exrnic_cqe cqe = t.pair.left.wait();
    REQUIRE(cqe.status == EXRNIC_CQE_STATUS_SUCCESS);
    REQUIRE(cqe.byte_length == size);
    REQUIRE(difference(t.pair.right.rnic.read(t.sink, 0, 70'000), expected) == "");
  }
  CHECK(t.pair.left.rnic.host().refused_reads() == 0);
  CHECK(t.pair.right.rnic.host().refused_reads() == 0);
  CHECK(t.pair.right.rnic.host().refused_writes().empty());
  CHECK(t.pair.left.rnic.host().refused_writes().empty());
}

TEST_CASE("a PUSH becomes visible in address order, with its last byte last") {
  Transfer t(5000);
  std::mt19937_64 random(2);
  t.pair.left.rnic.write(t.source, 0, random_bytes(random, 5000));
  t.pair.left.rnic.post(t.pair.left.qp, t.push(0, 0, 5000));
  t.pair.left.wait();
  uint64_t next = 0;  // offset in the sink of the byte that must come next
  for (const auto& write : t.pair.right.rnic.host().writes()) {
    const uint64_t at = kSinkBase % 4096 + next;
    REQUIRE(write.address == t.sink.memory.pages.at(at / 4096) + at % 4096);
    next += write.data.size();
  }
  CHECK(next == 5000);
}

TEST_CASE("two elements are gathered into one message") {
  Transfer t(9000);
  std::mt19937_64 random(3);
  const Bytes data = random_bytes(random, 9000);
  t.pair.left.rnic.write(t.source, 0, data);
  for (const auto& [first, second] : {std::pair{3000u, 3001u}, {1u, 2049u}, {0u, 77u}, {77u, 0u}}) {
    INFO("elements of " << first << " and " << second);
    exrnic_wqe wqe = RnicDriver::wqe(t.push(11, 0, first + second));
    wqe.num_sge = 2;
    wqe.sge0_address = kSourceBase + 11;
    wqe.sge0_length = first;
    wqe.sge0_stag = wqe.sge1_stag = kSourceStag;
    wqe.sge1_address = kSourceBase + 5000;
    wqe.sge1_length = second;
    t.pair.left.rnic.put(t.pair.left.qp, wqe);
    t.pair.left.rnic.ring(t.pair.left.qp);
    REQUIRE(t.pair.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    Bytes expected(data.begin() + 11, data.begin() + 11 + first);
    expected.insert(expected.end(), data.begin() + 5000, data.begin() + 5000 + second);
    CHECK(difference(t.pair.right.rnic.read(t.sink, 0, first + second), expected) == "");
  }
}

TEST_CASE("a full send queue wraps its ring many times, both ways at once, in order") {
  Pair pair;
  Region regions[2][2] = {{source_of(pair.left, 4096), sink_of(pair.left, 4096)},
                          {source_of(pair.right, 4096), sink_of(pair.right, 4096)}};
  Side* sides[2] = {&pair.left, &pair.right};
  std::mt19937_64 random(4);
  for (int side : {0, 1}) sides[side]->rnic.write(regions[side][0], 0, random_bytes(random, 4096));
  constexpr uint32_t kOperations = 300;  // rings hold 64
  uint32_t posted[2] = {}, completed[2] = {};
  while (completed[0] < kOperations || completed[1] < kOperations) {
    for (int s : {0, 1}) {
      while (posted[s] < kOperations && posted[s] - completed[s] < 64) {
        const uint32_t offset = posted[s] * 13 % 4000;
        sides[s]->rnic.put(sides[s]->qp, RnicDriver::wqe({&regions[s][0], offset, 90, kSinkStag,
                                                          kSinkBase + offset, true}));
        ++posted[s];
      }
      sides[s]->rnic.ring(sides[s]->qp);
    }
    for (int s : {0, 1}) {
      if (completed[s] == kOperations) continue;
      const exrnic_cqe cqe = sides[s]->wait();
      REQUIRE(cqe.status == EXRNIC_CQE_STATUS_SUCCESS);
      REQUIRE(cqe.wqe_index == completed[s]++);
    }
  }
  for (int s : {0, 1})
    CHECK(difference(sides[1 - s]->rnic.read(regions[1 - s][1], 0, kOperations * 13),
                     sides[s]->rnic.read(regions[s][0], 0, kOperations * 13)) == "");
}

TEST_CASE("unsignaled work requests complete silently") {
  Transfer t(64);
  Push push = t.push(0, 0, 8);
  push.signaled = false;
  for (int i = 0; i < 5; ++i) t.pair.left.rnic.put(t.pair.left.qp, RnicDriver::wqe(push));
  push.signaled = true;
  t.pair.left.rnic.post(t.pair.left.qp, push);
  CHECK(t.pair.left.wait().wqe_index == 5);
  t.pair.testbed.run_while_busy(1'000'000);
  CHECK_FALSE(t.pair.left.rnic.poll(t.pair.left.cq, Side::kPage).has_value());
}

TEST_CASE("an armed completion queue fires its vector once, behind the CQE") {
  Transfer t(64);
  auto& left = t.pair.left;
  const auto fired = [&] {
    const auto& all = left.rnic.host().interrupts();
    return std::count(all.begin(), all.end(), 1u);
  };
  left.rnic.post(left.qp, t.push(0, 0, 8));
  left.wait();
  t.pair.testbed.run_while_busy(1'000'000);
  CHECK(fired() == 0);
  left.rnic.store_doorbell(Side::kPage, EXRNIC_DOORBELL_CQ_ARM, Side::kCqn, left.cq.index);
  for (int i = 0; i < 2; ++i) left.rnic.put(left.qp, RnicDriver::wqe(t.push(0, 0, 8)));
  left.rnic.ring(left.qp);
  t.pair.testbed.run_until([&] { return fired() > 0; }, 1'000'000);
  CHECK(left.rnic.poll(left.cq, Side::kPage).has_value());
  t.pair.testbed.run_while_busy(1'000'000);
  CHECK(fired() == 1);
  // One CQE is still there: arming again fires at once.
  left.rnic.store_doorbell(Side::kPage, EXRNIC_DOORBELL_CQ_ARM, Side::kCqn, left.cq.index);
  t.pair.testbed.run_while_busy(1'000'000);
  CHECK(fired() == 2);
}

TEST_CASE("an idle pair of cores is not clocked") {
  Transfer t(64);
  t.pair.left.rnic.post(t.pair.left.qp, t.push(0, 0, 8));
  t.pair.left.wait();
  t.pair.testbed.run_while_busy(10'000'000);
  const uint64_t cycles = t.pair.testbed.node(0).rnic().cycles();
  t.pair.testbed.run_for(1'000'000);
  CHECK(t.pair.testbed.node(0).rnic().cycles() == cycles);
  CHECK_FALSE(t.pair.testbed.busy());
}

TEST_CASE("the driver may choose the MTU: frames carry no more payload") {
  for (const uint32_t mtu : {256u, 4096u}) {
    Transfer t(10'000);
    t.pair.left.rnic.write_register(EXRNIC_REG_MTU, mtu);
    t.pair.left.rnic.write_register(EXRNIC_REG_MTU, mtu + 1);  // no multiple of 16: ignored
    size_t longest = 0;
    t.pair.testbed.node(1).mac().observe(
        [&](auto, const Bytes& wire) { longest = std::max(longest, wire.size()); });
    std::mt19937_64 random(mtu);
    const Bytes data = random_bytes(random, 10'000);
    t.pair.left.rnic.write(t.source, 0, data);
    t.pair.left.rnic.post(t.pair.left.qp, t.push(0, 0, 10'000));
    REQUIRE(t.pair.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    CHECK(difference(t.pair.right.rnic.read(t.sink, 0, 10'000), data) == "");
    CHECK(longest == EXRNIC_HEADER_TAGGED_BYTES + mtu + 4);
  }
}

}  // namespace
}  // namespace exrnic::testing
