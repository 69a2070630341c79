// SPDX-License-Identifier: BSD-2-Clause
// Every node of a cluster pushes to every other at the same time.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <random>
#include <string>
#include <vector>

#include "tests/support/cluster.h"

namespace exrnic::testing {

// Each pushes `length` bytes to each; every byte is compared, and every node must have placed what
// was sent to it exactly once.
inline void push_between_all(const TestbedOptions& options, uint32_t length, uint64_t seed) {
  INFO("seed " << seed);
  const uint64_t nodes = options.topology->nodes;
  Cluster cluster(options, test_cores(), nodes * length);
  cluster.connect_all();
  std::mt19937_64 random(seed);
  std::vector<Bytes> data;
  for (unsigned node = 0; node < nodes; ++node) {
    data.push_back(random_bytes(random, nodes * length));
    cluster[node].rnic.write(cluster[node].source, 0, data.back());
  }
  for (unsigned from = 0; from < nodes; ++from) {
    for (unsigned to = 0; to < nodes; ++to) {
      if (to != from) cluster[from].push(to, to * length, length, from * length);
    }
  }
  for (unsigned node = 0; node < nodes; ++node) {
    for (unsigned i = 1; i < nodes; ++i) {
      REQUIRE(cluster[node].wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    }
  }
  cluster.rest();
  const uint64_t frames = (length + EXRNIC_MTU_DEFAULT - 1) / EXRNIC_MTU_DEFAULT;
  for (unsigned to = 0; to < nodes; ++to) {
    INFO("node " << to);
    Bytes expected(nodes * length);
    for (unsigned from = 0; from < nodes; ++from) {
      if (from == to) continue;
      std::copy_n(data[from].begin() + to * length, length, expected.begin() + from * length);
    }
    Member& member = cluster[to];
    CHECK(difference(member.rnic.read(member.sink, 0, nodes * length), expected) == "");
    CHECK(member.rnic.counter(EXRNIC_COUNTER_SEGMENTS_PLACED) == (nodes - 1) * frames);
    CHECK(member.rnic.host().refused_writes().empty());
    CHECK_FALSE(member.rnic.poll(member.cq, Member::kPage).has_value());
  }
}

}  // namespace exrnic::testing
