// SPDX-License-Identifier: BSD-2-Clause
// Transfers and patterns, whole and good.
#include <catch2/catch_test_macros.hpp>
#include <cstring>

#include "cluster_rig.h"

namespace exrnic {
namespace {

using vl::Bytes;
using vl::Cluster;
using vl::ClusterOperation;
using vl::Received;
using vl::Transfer;

constexpr ClusterOperation kAllOperations[] = {
    ClusterOperation::kSend, ClusterOperation::kSendWithImm, ClusterOperation::kWrite,
    ClusterOperation::kWriteWithImm};

bool HasImm(ClusterOperation operation) {
  return operation == ClusterOperation::kSendWithImm ||
         operation == ClusterOperation::kWriteWithImm;
}

void Require(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error(what);
}

void RequireMessage(const Received& received, ClusterOperation operation, size_t bytes,
                    uint32_t immediate) {
  Require(received.bytes == bytes, "has " + std::to_string(received.bytes) + " bytes");
  Require(received.immediate.has_value() == HasImm(operation), "immediate data or none");
  Require(!HasImm(operation) || *received.immediate == immediate, "other immediate data");
}

void CheckNoError(const std::vector<std::string>& errors) {
  for (size_t node = 0; node < errors.size(); ++node) {
    INFO("node " << node << ": " << errors[node]);
    CHECK(errors[node].empty());
  }
}

// Every pattern with every operation.
void Patterns(Cluster* cluster, size_t bytes) {
  const unsigned self = cluster->self(), nodes = cluster->nodes();
  for (const ClusterOperation operation : kAllOperations) {
    const auto mine = ClusterPattern(self, bytes);
    std::vector<std::vector<uint8_t>> buffers(nodes, std::vector<uint8_t>(bytes + 8));
    const std::vector<Bytes> into(buffers.begin(), buffers.end());
    const auto require = [&](const Received& received, unsigned node) {
      RequireMessage(received, operation, bytes, 7 + node);
      const auto expected = ClusterPattern(node, bytes);
      Require(std::equal(expected.begin(), expected.end(), buffers[node].begin()), "other bytes");
      std::fill(buffers[node].begin(), buffers[node].end(), 0);
    };
    const auto all = cluster->ManyToMany(operation, mine, into, 7 + self);
    for (unsigned node = 0; node < nodes; ++node)
      if (node != self) require(all[node], node);
    const unsigned root = nodes / 2;
    if (self == root) {
      cluster->OneToManySend(operation, mine, 7 + self);
      const auto gathered = cluster->ManyToOneReceive(into);
      for (unsigned node = 0; node < nodes; ++node)
        if (node != self) require(gathered[node], node);
    } else {
      require(cluster->OneToManyReceive(root, into[root]), root);
      cluster->ManyToOneSend(root, operation, mine, 7 + self);
    }
    cluster->Barrier();
  }
}

void PatternsOf(unsigned nodes, size_t bytes, const std::string& core = "ref") {
  ClusterRig rig(nodes, core);
  CheckNoError(rig.Run([bytes](Cluster* cluster) { Patterns(cluster, bytes); }));
}

TEST_CASE("all patterns and operations bring every byte and no other among four nodes") {
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{4096}, size_t{4097}, size_t{100001}}) {
    INFO(bytes << " bytes");
    PatternsOf(4, bytes);
  }
}

TEST_CASE("messages of 1 MB reach all of four nodes by every operation") {
  PatternsOf(4, size_t{1} << 20);
}

TEST_CASE("a message of 16 MB reaches all of three nodes down the chain") {
  constexpr size_t kLong = size_t{16} << 20;
  ClusterRig rig(3);
  CheckNoError(rig.Run([](Cluster* cluster) {
    std::vector<uint8_t> buffer(kLong);
    if (cluster->self() == 0) {
      cluster->OneToManySend(ClusterOperation::kWrite, ClusterPattern(0, kLong));
    } else {
      cluster->OneToManyReceive(0, buffer);
      Require(buffer == ClusterPattern(0, kLong), "other bytes");
    }
  }));
}

TEST_CASE("messages of 16 MB reach all of four nodes by every operation", "[.big]") {
  PatternsOf(4, size_t{16} << 20);
}

TEST_CASE("messages of 64 MB reach all of four nodes by every operation", "[.big]") {
  PatternsOf(4, size_t{64} << 20);
}

TEST_CASE("patterns work on the RTL") { PatternsOf(3, 10000, "rtl"); }

TEST_CASE("patterns work among two, three and nine nodes") {
  for (const unsigned nodes : {2u, 3u, 9u}) PatternsOf(nodes, 50000);
}

TEST_CASE("sixty-four nodes meet, and one of them reaches all others") {
  constexpr unsigned kRoot = 5;
  ClusterRig rig(64);
  CheckNoError(rig.Run([](Cluster* cluster) {
    for (const size_t bytes : {size_t{300}, size_t{20000}}) {
      std::vector<uint8_t> buffer(bytes);
      if (cluster->self() == kRoot) {
        cluster->OneToManySend(ClusterOperation::kWrite, ClusterPattern(kRoot, bytes));
        continue;
      }
      cluster->OneToManyReceive(kRoot, buffer);
      Require(buffer == ClusterPattern(kRoot, bytes), "other bytes");
    }
    cluster->Barrier();
  }));
}

TEST_CASE("all patterns work among sixty-four nodes", "[.big]") { PatternsOf(64, 1000); }

TEST_CASE("messages between two nodes arrive in order, however many wait for a place") {
  ClusterRig rig(2);
  CheckNoError(rig.Run([](Cluster* cluster) {
    constexpr unsigned kMessages = 200;  // more than receives, sends and work requests
    std::vector<std::vector<uint8_t>> buffers;
    std::vector<Transfer> transfers;
    for (unsigned i = 0; i < kMessages; ++i) {
      const ClusterOperation operation = kAllOperations[i % 4];
      if (cluster->self() == 0) {
        buffers.push_back(ClusterPattern(0, i * 7, i));
        transfers.push_back(cluster->Send(1, operation, buffers.back(), i));
      } else {
        buffers.emplace_back(i * 7);
        transfers.push_back(cluster->Receive(0, buffers.back()));
      }
    }
    for (unsigned i = 0; i < kMessages; ++i) {
      const Received received = transfers[i].Wait();
      Require(transfers[i].Done(), "not done behind Wait");
      if (cluster->self() == 0) continue;
      RequireMessage(received, kAllOperations[i % 4], i * 7, i);
      Require(buffers[i] == ClusterPattern(0, i * 7, i), "other bytes");
    }
  }));
}

TEST_CASE(
    "memory that is registered once serves many transfers, and read-only memory can be sent") {
  static const char kText[] = "kept where no program writes";
  ClusterRig rig(2);
  CheckNoError(rig.Run([](Cluster* cluster) {
    std::vector<uint8_t> buffer(1000);
    const vl::Registration registration = cluster->Register(buffer);
    for (size_t at = 0; at < 1000; at += 100) {
      if (cluster->self() == 0) {
        std::fill(buffer.begin(), buffer.end(), static_cast<uint8_t>(at));
        cluster->Send(1, ClusterOperation::kWrite, vl::ConstBytes(&buffer[at], 100)).Wait();
      } else {
        cluster->Receive(0, Bytes(&buffer[at], 100)).Wait();
        Require(buffer[at] == static_cast<uint8_t>(at) && buffer[at + 99] == buffer[at], "bytes");
      }
    }
    if (cluster->self() == 0) {
      cluster->OneToManySend(ClusterOperation::kSend, vl::ConstBytes(kText, sizeof(kText)));
    } else {
      cluster->OneToManyReceive(0, buffer);
      Require(memcmp(buffer.data(), kText, sizeof(kText)) == 0, "text");
    }
  }));
}

TEST_CASE("what a node sent before it left is received behind its leaving") {
  ClusterRig rig(2);
  CheckNoError(rig.Run([](Cluster* cluster) {
    std::vector<uint8_t> buffer(100000);
    if (cluster->self() == 0) {
      cluster->Send(1, ClusterOperation::kWrite, ClusterPattern(0, buffer.size())).Wait();
      return;
    }
    const Transfer receive = cluster->Receive(0, buffer);
    while (cluster->WhyGone(0).empty()) sched_yield();
    Transfer(receive).Wait();
    Require(buffer == ClusterPattern(0, buffer.size()), "other bytes");
  }));
}

TEST_CASE("long messages go down a chain, and none takes longer than sent to each in turn") {
  for (const unsigned nodes : {2u, 3u, 4u, 16u, 64u}) {
    CHECK(vl::ChooseClusterTree(nodes, size_t{64} << 20).fan_out == 1);
    for (const size_t bytes : {size_t{1}, size_t{5000}, size_t{1} << 20}) {
      const vl::ClusterTree tree = vl::ChooseClusterTree(nodes, bytes);
      CHECK(tree.fan_out >= 1);
      CHECK(tree.fan_out < nodes);
      CHECK(tree.chunk >= 16384);
    }
  }
  CHECK(vl::ChooseClusterTree(64, 5000).fan_out > 1);
}

}  // namespace
}  // namespace exrnic
