// SPDX-License-Identifier: BSD-2-Clause
// More than two nodes: whole cores, through switches.
#include <catch2/catch_test_macros.hpp>
#include <string>

#include "tests/support/all_pairs.h"

namespace exrnic::testing {
namespace {

constexpr uint32_t kLength = 3000;

TEST_CASE("three nodes at a switch push to each other at the same time") {
  push_between_all(options_on("dc-25g", "star:3"), kLength, 1);
}

TEST_CASE("four nodes in a ring of switches push to each other at the same time") {
  push_between_all(options_on("dc-25g", "ring:4"), kLength, 2);
}

TEST_CASE("three nodes at a switch with credits push to each other at the same time") {
  push_between_all(options_on("rhinet2", "star:3"), kLength, 3);
}

TEST_CASE("what one link loses is sent again, and no other peer notices") {
  TestbedOptions options = options_on("dc-25g", "star:3");
  options.faults_at["node2"].rates.drop = 0.2;
  push_between_all(options, kLength, 4);
}

// The queue holds eight frames, two senders have up to sixteen under way each.
TEST_CASE("two send to one through a queue that marks and drops, and all arrives") {
  TestbedOptions options = options_on("dc-25g", "star:3");
  options.topology->switches[0].queue_bytes = 16'384;
  options.topology->switches[0].mark_bytes = 4'096;
  options.topology->links[0].megabits_per_second = 5'000;
  Cluster cluster(options, test_cores(), 65'536);
  for (unsigned from : {1u, 2u}) {
    cluster.connect(0, from);
    cluster[from].push(0, 0, 30'000, from * 30'000 - 30'000);
  }
  for (unsigned from : {1u, 2u}) CHECK(cluster[from].wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  cluster.rest();
  const Switch& ethernet_switch = cluster.testbed.fabric().ethernet_switch(0);
  CHECK(ethernet_switch.port_counters(0).dropped > 0);
  CHECK(ethernet_switch.port_counters(0).marked > 0);
  CHECK(cluster[0].rnic.counter(EXRNIC_COUNTER_RX_FCS_ERROR) == 0);
  CHECK(cluster[0].rnic.counter(EXRNIC_COUNTER_RX_MALFORMED) == 0);
  CHECK(cluster[0].rnic.counter(EXRNIC_COUNTER_SEGMENTS_PLACED) == 2 * 30);
}

}  // namespace
}  // namespace exrnic::testing
