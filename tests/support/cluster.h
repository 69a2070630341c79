// SPDX-License-Identifier: BSD-2-Clause
// Any number of nodes on in-process hosts, each with a queue pair to every peer that it is
// connected to. Two nodes alone are a Pair (pair.h) or an Exchange (exchange.h).
#pragma once

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/capture.h"
#include "tests/support/pair.h"

namespace exrnic::testing {

// What a process at one node has opened: memory to push from and to be pushed into, and one
// completion queue for all.
struct Member {
  static constexpr uint32_t kPage = Side::kPage;
  static constexpr uint32_t kPd = Side::kPd;
  static constexpr uint32_t kFirstQpn = 16;

  Member(Testbed& testbed, unsigned node, uint64_t bytes)
      : rnic(testbed, node),
        cq(rnic.create_cq(Side::kCqn, kPage, 10)),
        source(rnic.create_region(kSourceStag, kPd, kSourceBase, bytes, 0)),
        sink(rnic.create_region(kSinkStag, kPd, kSinkBase, bytes,
                                EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_REMOTE_WRITE)) {}

  // Pushes `length` bytes from `from_offset` of the source to `to_offset` of the peer's sink.
  void push(unsigned peer, uint64_t from_offset, uint32_t length, uint64_t to_offset) {
    rnic.post(qps.at(peer), {&source, from_offset, length, kSinkStag, kSinkBase + to_offset, true});
  }
  exrnic_cqe wait(uint64_t limit_ns = 100'000'000) { return rnic.wait(cq, kPage, limit_ns); }

  RnicDriver rnic;
  Queue cq;
  Region source;
  Region sink;
  std::map<unsigned, QueuePair> qps;  // by peer
};

struct Cluster {
  // `bytes`: of each node's source and sink. `capture` sees every frame.
  Cluster(const TestbedOptions& options, const CoreFactory& make_core, uint64_t bytes,
          Capture* capture = nullptr)
      : testbed(options, make_core) {
    if (capture != nullptr) capture->attach(testbed);
    for (unsigned node = 0; node < testbed.nodes(); ++node) {
      members.push_back(std::make_unique<Member>(testbed, node, bytes));
    }
  }

  unsigned size() const { return testbed.nodes(); }
  Member& operator[](unsigned node) { return *members.at(node); }

  void connect(unsigned a, unsigned b) {
    for (const auto& [node, peer] : {std::pair(a, b), std::pair(b, a)}) {
      Member& member = (*this)[node];
      QueuePair qp =
          member.rnic.create_qp(Member::kFirstQpn + peer, Member::kPage, Member::kPd, member.cq);
      member.rnic.connect(qp, peer, Member::kFirstQpn + node);
      member.qps.emplace(peer, qp);
    }
  }
  void connect_all() {
    for (unsigned a = 0; a < size(); ++a) {
      for (unsigned b = a + 1; b < size(); ++b) connect(a, b);
    }
  }

  // Until nothing is in flight; throws std::runtime_error when that takes longer.
  void rest(uint64_t limit_ns = 1'000'000'000) {
    if (testbed.run_until([] { return false; }, limit_ns) != RunResult::kIdle) {
      throw std::runtime_error("waited in vain for a cluster to come to rest, " +
                               std::to_string(limit_ns) + " ns");
    }
  }

  Testbed testbed;
  std::vector<std::unique_ptr<Member>> members;
};

inline TestbedOptions options_on(const char* profile, const std::string& topology) {
  TestbedOptions options;
  options.profile = load_profile(profile);
  options.topology = load_topology(topology, options.nodes);
  return options;
}

}  // namespace exrnic::testing
