// SPDX-License-Identifier: BSD-2-Clause
// Networks as large as only the reference model carries in a test.
#include <catch2/catch_test_macros.hpp>

#include "tests/support/all_pairs.h"

namespace exrnic::testing {
namespace {

TEST_CASE("sixteen nodes in two levels push to each other, all pairs at the same time") {
  push_between_all(options_on("dc-25g", "two-levels:16"), 5000, 1);
}

TEST_CASE("twelve nodes in a ring push to each other, all pairs at the same time") {
  push_between_all(options_on("dc-25g", "ring:12"), 5000, 2);
}

TEST_CASE(
    "sixteen nodes in two levels with credits push to each other, all pairs at the same time") {
  push_between_all(options_on("rhinet2", "two-levels:16"), 5000, 3);
}

// Eight senders, 2 MiB in all through one line and on to a bus that is slower still: a queue of
// credits is never too short, and those who wait behind it are not taken for dead.
TEST_CASE("with credits eight send to one: no frame is dropped or out of order, no peer given up") {
  constexpr uint32_t kLength = 256 << 10;
  Cluster cluster(options_on("rhinet2", "star:9"), test_cores(), 8 * kLength);
  for (unsigned from = 1; from < 9; ++from) {
    cluster.connect(0, from);
    cluster[from].push(0, 0, kLength, (from - 1) * kLength);
  }
  for (unsigned from = 1; from < 9; ++from) {
    CHECK(cluster[from].wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    CHECK(cluster[from].rnic.counter(EXRNIC_COUNTER_PEERS_DEAD) == 0);
  }
  cluster.rest();
  CHECK(cluster.testbed.fabric().ethernet_switch(0).counters().dropped == 0);
  CHECK(cluster[0].rnic.counter(EXRNIC_COUNTER_RX_OUT_OF_ORDER) == 0);
  CHECK(cluster[0].rnic.counter(EXRNIC_COUNTER_SEGMENTS_PLACED) == 8 * kLength / 1024);
}

// As many as one process holds; who does nothing costs little. Each pair that talks is far apart.
TEST_CASE("some of 4,096 nodes push to each other, through all levels of the network") {
  constexpr uint32_t kLength = 3000;
  Testbed testbed(options_on("dc-25g", "two-levels:4096"), test_cores());
  const std::vector<unsigned> talkers = {0, 255, 256, 3000, 4095};
  std::vector<std::unique_ptr<Member>> members;
  std::mt19937_64 random(4);
  for (const unsigned node : talkers) {
    members.push_back(std::make_unique<Member>(testbed, node, talkers.size() * kLength));
    CHECK(members.back()->rnic.read_register(EXRNIC_REG_NODE_ID) == node);
    CHECK(members.back()->rnic.read_register(EXRNIC_REG_MAX_NODE) >= 4096);
  }
  const auto count = static_cast<unsigned>(talkers.size());
  for (unsigned a = 0; a < count; ++a) {
    for (unsigned b = 0; b < count; ++b) {
      if (a == b) continue;
      QueuePair qp = members[a]->rnic.create_qp(Member::kFirstQpn + b, Member::kPage, Member::kPd,
                                                members[a]->cq);
      members[a]->rnic.connect(qp, talkers[b], Member::kFirstQpn + a);
      members[a]->qps.emplace(b, qp);
    }
  }
  for (unsigned a = 0; a < count; ++a) {
    const Bytes data = random_bytes(random, kLength);
    members[a]->rnic.write(members[a]->source, 0, data);
    for (const auto& [b, qp] : members[a]->qps) members[a]->push(b, 0, kLength, a * kLength);
    for (unsigned i = 1; i < count; ++i)
      REQUIRE(members[a]->wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    for (const auto& [b, qp] : members[a]->qps)
      CHECK(difference(members[b]->rnic.read(members[b]->sink, a * kLength, kLength), data) == "");
  }
}

}  // namespace
}  // namespace exrnic::testing
