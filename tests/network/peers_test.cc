// SPDX-License-Identifier: BSD-2-Clause
// One node with several peers: none of them keeps the others from their share.
#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <vector>

#include "tests/support/pair.h"

namespace exrnic::testing {
namespace {

constexpr uint32_t kMessage = 8192;
constexpr uint32_t kMessages = 40;
constexpr uint32_t kFirstQpn = 30;

// Node 0 pushes to nodes 1 and up; it has a queue pair and a completion queue for each.
struct Star {
  explicit Star(const TestbedOptions& options)
      : testbed(options, test_cores()), hub(testbed, 0), source(make_source(hub)) {
    for (unsigned node = 1; node < options.nodes; ++node) {
      peers.push_back(std::make_unique<Side>(testbed, node, kFirstQpn));
      sink_of(*peers.back(), kMessage);
      cqs.push_back(hub.create_cq(node, Side::kPage));
      qps.push_back(hub.create_qp(kFirstQpn + node, Side::kPage, Side::kPd, cqs.back()));
      hub.connect(qps.back(), node, kFirstQpn);
      peers.back()->rnic.connect(peers.back()->qp, 0, kFirstQpn + node);
    }
  }

  static Region make_source(RnicDriver& rnic) {
    return rnic.create_region(kSourceStag, Side::kPd, kSourceBase, kMessage, 0);
  }

  void push(unsigned node, uint32_t count, uint32_t length = kMessage) {
    for (uint32_t i = 0; i < count; ++i)
      hub.put(qps[node - 1], RnicDriver::wqe({&source, 0, length, kSinkStag, kSinkBase, true}));
    hub.ring(qps[node - 1]);
  }

  // Awaits the completions of `count` pushes, and returns how long that took.
  uint64_t await(unsigned node, uint32_t count) {
    const uint64_t begin = testbed.now_ns();
    for (uint32_t i = 0; i < count; ++i)
      REQUIRE(hub.wait(cqs[node - 1], Side::kPage).status == EXRNIC_CQE_STATUS_SUCCESS);
    return testbed.now_ns() - begin;
  }

  Testbed testbed;
  RnicDriver hub;
  Region source;
  std::vector<std::unique_ptr<Side>> peers;
  std::vector<Queue> cqs;
  std::vector<QueuePair> qps;
};

uint64_t time_alone() {
  Star star(options_for("dc-25g", 3));
  star.push(1, kMessages);
  return star.await(1, kMessages);
}

TEST_CASE(
    "a peer behind a cut link leaves the others their rate, before and after it is given up") {
  const uint64_t alone = time_alone();
  TestbedOptions options = options_for("dc-25g", 3);
  options.faults_towards[2].rates.drop = 1;
  Star star(options);
  star.push(2, 60, 4096);
  star.testbed.run_for(10'000);  // what it is allowed to take it has taken
  star.push(1, kMessages);
  const uint64_t beside = star.await(1, kMessages);
  INFO("alone " << alone << " ns, beside a dead peer " << beside << " ns");
  CHECK(beside < alone + alone / 5);
  CHECK(star.hub.wait(star.cqs[1], Side::kPage).status == EXRNIC_CQE_STATUS_RETRY_EXC_ERR);
  for (int i = 1; i < 60; ++i)
    CHECK(star.hub.wait(star.cqs[1], Side::kPage).status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
  CHECK(star.hub.counter(EXRNIC_COUNTER_PEERS_DEAD) == 1);
  star.push(1, 1);
  star.await(1, 1);
}

TEST_CASE("two dead peers with much to get leave a third its rate") {
  const uint64_t alone = time_alone();
  TestbedOptions options = options_for("dc-25g", 4);
  options.faults_towards[2].rates.drop = 1;
  options.faults_towards[3].rates.drop = 1;
  Star star(options);
  star.push(2, 60, 4096);
  star.push(3, 60, 4096);
  star.testbed.run_for(30'000);
  star.push(1, kMessages);
  const uint64_t beside = star.await(1, kMessages);
  INFO("alone " << alone << " ns, beside two dead peers " << beside << " ns");
  CHECK(beside < alone + alone / 4);
}

TEST_CASE("three peers get their bytes at the same rate") {
  Star star(options_for("dc-25g", 4));
  star.push(1, 60, 8192);
  star.push(2, 60, 8192);
  star.push(3, 60, 8192);
  star.await(1, 60);
  const uint64_t first = star.testbed.now_ns();
  star.await(2, 60);
  star.await(3, 60);
  const uint64_t last = star.testbed.now_ns() - first;
  INFO("the last peer has its bytes " << last << " ns after the first");
  CHECK(last < 30'000);  // 480 KiB for each take 480 us on the one line
}

}  // namespace
}  // namespace exrnic::testing
