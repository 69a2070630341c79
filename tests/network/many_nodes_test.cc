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

}  // namespace
}  // namespace exrnic::testing
