// SPDX-License-Identifier: BSD-2-Clause
// Several threads simulate what one does, to the picosecond.
#include <catch2/catch_test_macros.hpp>
#include <random>
#include <vector>

#include "tests/support/cluster.h"

namespace exrnic::testing {
namespace {

struct Seen {
  SimTime at;
  bool sent;
  size_t bytes;
  bool operator==(const Seen& other) const {
    return at == other.at && sent == other.sent && bytes == other.bytes;
  }
};

// What each MAC saw while every node pushed to every other, and where all ended.
struct Run {
  std::vector<std::vector<Seen>> frames;
  std::vector<Bytes> memory;
  uint64_t end_ns = 0;
  unsigned threads = 0;
};

// All work is posted at one point in time, at which nothing else happens: how long it took to come
// there is another matter, since a host looks after each window.
Run push_among(TestbedOptions options, const FaultConfig& faults, unsigned threads) {
  constexpr uint32_t kLength = 3000;
  constexpr uint64_t kStartNs = 20'000'000;
  options.threads = threads;
  const unsigned nodes = options.topology->nodes;
  Cluster cluster(options, test_cores(), nodes * kLength);
  // One pair after the other: how the first frames of a session went is remembered.
  for (unsigned a = 0; a < nodes; ++a)
    for (unsigned b = a + 1; b < nodes; ++b) {
      cluster.connect(a, b);
      cluster.rest();
    }
  std::mt19937_64 random(7);
  for (unsigned node = 0; node < nodes; ++node)
    cluster[node].rnic.write(cluster[node].source, 0, random_bytes(random, nodes * kLength));
  cluster.rest();
  REQUIRE(cluster.testbed.now_ns() < kStartNs);
  cluster.testbed.run_to(kStartNs * kPsPerNs);

  Run run;
  run.threads = cluster.testbed.threads();
  run.frames.resize(nodes);
  for (unsigned id = 0; id < nodes; ++id) {
    Node& node = cluster.testbed.node(id);
    node.mac().observe([&frames = run.frames[id], &node](Mac::Direction way, const Bytes& wire) {
      frames.push_back({node.scheduler().now(), way == Mac::Direction::kTransmit, wire.size()});
    });
    cluster.testbed.fabric().set_faults({false, id, 0}, faults, 9);
    for (unsigned to = 0; to < nodes; ++to) {
      if (to != id) cluster[id].push(to, to * kLength, kLength, id * kLength);
    }
  }
  cluster.testbed.run_while_busy(1'000'000'000);
  REQUIRE_FALSE(cluster.testbed.busy());
  run.end_ns = cluster.testbed.now_ns();
  for (unsigned id = 0; id < nodes; ++id) {
    for (unsigned i = 1; i < nodes; ++i)
      CHECK(cluster[id].wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    run.memory.push_back(cluster[id].rnic.read(cluster[id].sink, 0, nodes * kLength));
  }
  return run;
}

void compare(const TestbedOptions& options, const FaultConfig& faults = {}) {
  const Run alone = push_among(options, faults, 1);
  REQUIRE(alone.threads == 1);
  for (const unsigned threads : {2u, 3u}) {
    INFO(threads << " threads");
    const Run several = push_among(options, faults, threads);
    CHECK(several.threads == threads);
    CHECK(several.end_ns == alone.end_ns);
    CHECK(several.memory == alone.memory);
    for (unsigned node = 0; node < alone.frames.size(); ++node) {
      INFO("node " << node);
      REQUIRE(alone.frames[node].size() > 10);
      CHECK((several.frames[node] == alone.frames[node]));
    }
  }
}

TEST_CASE("behind a switch that drops, and lines that fail, several threads see what one does") {
  FaultConfig faults;
  faults.rates = {0.02, 0.02, 0.02, 0.02, 0.02};
  compare(options_on("dc-25g", "star:4"), faults);
}

TEST_CASE("with credits and switches that cut through, several threads see what one does") {
  compare(options_on("rhinet2", "two-levels:6"));
}

TEST_CASE("back to back, several threads see what one does") {
  TestbedOptions options = options_for("ntb-gen3x8");
  options.topology = back_to_back();
  const Run alone = push_among(options, {}, 1);
  const Run several = push_among(options, {}, 4);
  CHECK(several.threads == 2);  // as many as there are nodes
  CHECK((several.frames == alone.frames));
  CHECK(several.end_ns == alone.end_ns);
}

TEST_CASE("lines without latency, and a node alone, leave one thread") {
  TestbedOptions options = options_on("dc-25g", "star:3");
  options.threads = 3;
  options.topology->links.front().latency_ns = 0;
  CHECK(Testbed(options, test_cores()).threads() == 1);
  options.topology.reset();
  options.nodes = 1;
  CHECK(Testbed(options, test_cores()).threads() == 1);
}

}  // namespace
}  // namespace exrnic::testing
