// SPDX-License-Identifier: BSD-2-Clause
// A link that loses, repeats, reorders, damages and delays frames: every work request still takes
// effect exactly once.
#include <catch2/catch_test_macros.hpp>
#include <string>

#include "tests/support/pair.h"

namespace exrnic::testing {
namespace {

constexpr uint64_t kLength = 8192;

// A reference exchange: both sides push, in messages of one and of several frames. Returns the
// frames that went towards each side.
std::pair<uint64_t, uint64_t> exchange(const TestbedOptions& options, uint64_t seed) {
  Pair pair(options);
  Side* sides[2] = {&pair.left, &pair.right};
  Region source[2] = {source_of(pair.left, kLength), source_of(pair.right, kLength)};
  Region sink[2] = {sink_of(pair.left, kLength), sink_of(pair.right, kLength)};
  std::mt19937_64 random(seed);
  const uint32_t sizes[] = {8, 3000, 1, 1024};
  Bytes expected[2];
  for (int s : {0, 1}) {
    sides[s]->rnic.write_register(EXRNIC_REG_RTO_CYCLES, 4096);
    const Bytes data = random_bytes(random, kLength);
    sides[s]->rnic.write(source[s], 0, data);
    expected[1 - s].assign(kLength, 0);
    uint64_t at = 0;
    for (const uint32_t size : sizes) {
      sides[s]->rnic.put(sides[s]->qp,
                         RnicDriver::wqe({&source[s], at, size, kSinkStag, kSinkBase + at, true}));
      std::copy_n(data.begin() + at, size, expected[1 - s].begin() + at);
      at += size;
    }
    sides[s]->rnic.ring(sides[s]->qp);
  }
  for (int s : {0, 1})
    for (uint32_t i = 0; i < std::size(sizes); ++i) {
      const exrnic_cqe cqe = sides[s]->wait(100'000'000);
      REQUIRE(cqe.status == EXRNIC_CQE_STATUS_SUCCESS);
      REQUIRE(cqe.wqe_index == i);
    }
  REQUIRE(pair.testbed.run_until([] { return false; }, 100'000'000) == RunResult::kIdle);
  for (int s : {0, 1}) {
    CHECK(difference(sides[s]->rnic.read(sink[s], 0, kLength), expected[s]) == "");
    CHECK_FALSE(sides[s]->rnic.poll(sides[s]->cq, Side::kPage).has_value());
    // Exactly once: as many segments as were cut, no byte placed a second time.
    CHECK(sides[s]->rnic.counter(EXRNIC_COUNTER_SEGMENTS_PLACED) == 6);
    uint64_t placed = 0;
    for (const auto& write : sides[s]->rnic.host().writes()) placed += write.data.size();
    CHECK(placed == 8 + 3000 + 1 + 1024 + std::size(sizes) * sizeof(exrnic_cqe));
    CHECK(sides[s]->rnic.host().refused_writes().empty());
  }
  return {pair.testbed.line_towards(0)->counters().frames,
          pair.testbed.line_towards(1)->counters().frames};
}

TEST_CASE("any one fault at any one frame of an exchange leaves it complete, exactly once") {
  const auto [left, right] = exchange(options_for("dc-25g"), 1);
  REQUIRE(left > 6);
  const std::pair<Fault, const char*> faults[] = {{Fault::kDrop, "drop"},
                                                  {Fault::kDuplicate, "duplicate"},
                                                  {Fault::kReorder, "reorder"},
                                                  {Fault::kCorrupt, "corrupt"},
                                                  {Fault::kDelay, "delay"}};
  for (const auto& [fault, name] : faults)
    for (const unsigned towards : {0u, 1u})
      for (uint64_t frame = 0; frame < (towards ? right : left); ++frame) {
        INFO(name << " of frame " << frame << " towards node " << towards);
        TestbedOptions options = options_for("dc-25g");
        options.faults_towards[towards].script[frame] = fault;
        exchange(options, 1);
      }
}

TEST_CASE("random faults of every kind leave an exchange complete, exactly once") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    TestbedOptions options = options_for("dc-25g");
    options.seed = seed;
    options.faults.rates = {0.05, 0.05, 0.05, 0.05, 0.05};
    exchange(options, seed);
  }
}

TEST_CASE("a peer that never answers ends the work with an error, the rest is flushed") {
  TestbedOptions options = options_for("dc-25g");
  options.faults.rates.drop = 1;
  Pair pair(options);
  const Region source = source_of(pair.left, kLength);
  for (int i = 0; i < 3; ++i)
    pair.left.rnic.put(pair.left.qp,
                       RnicDriver::wqe({&source, 0, 2000, kSinkStag, kSinkBase, true}));
  pair.left.rnic.ring(pair.left.qp);
  CHECK(pair.left.wait(100'000'000).status == EXRNIC_CQE_STATUS_RETRY_EXC_ERR);
  CHECK(pair.left.wait(100'000'000).status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
  CHECK(pair.left.wait(100'000'000).status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
  CHECK(pair.left.rnic.query(pair.left.qp.qpn).state == EXRNIC_QP_STATE_ERROR);
  CHECK(pair.left.rnic.counter(EXRNIC_COUNTER_PEERS_DEAD) == 1);
  CHECK(pair.testbed.run_until([] { return false; }, 100'000'000) == RunResult::kIdle);
}

TEST_CASE("after a reset of one device both sides work together again") {
  Pair pair;
  const Region source = source_of(pair.left, kLength);
  sink_of(pair.right, kLength);
  pair.left.rnic.post(pair.left.qp, {&source, 0, 2000, kSinkStag, kSinkBase, true});
  CHECK(pair.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  pair.testbed.node(0).device().reset();
  Side left(pair.testbed, 0, Pair::kLeftQpn);
  left.rnic.connect(left.qp, 1, Pair::kRightQpn);
  const Region again = source_of(left, kLength);
  left.rnic.post(left.qp, {&again, 0, 2000, kSinkStag, kSinkBase, true});
  CHECK(left.wait(100'000'000).status == EXRNIC_CQE_STATUS_SUCCESS);
}

}  // namespace
}  // namespace exrnic::testing
