// SPDX-License-Identifier: BSD-2-Clause
// Two nodes, each with a completion queue and a queue pair that is connected to
// the other's. Node 0 is called left, node 1 right.
#pragma once

#include <algorithm>
#include <random>
#include <string>

#include "rtl-model/systemc/core.h"
#include "sim/testbed.h"
#include "tests/support/rnic_driver.h"
#include "tests/support/test_cores.h"

namespace exrnic::testing {

inline TestbedOptions options_for(const char* profile, unsigned nodes = 2) {
  TestbedOptions options;
  options.profile = load_profile(profile);
  options.nodes = nodes;
  return options;
}

inline Bytes random_bytes(std::mt19937_64& random, size_t count) {
  Bytes bytes(count);
  for (auto& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

// Empty if equal, else where and how they differ first: Catch2 would print every byte.
inline std::string difference(const Bytes& got, const Bytes& want) {
  const auto [g, w] = std::mismatch(got.begin(), got.end(), want.begin(), want.end());
  if (g == got.end() && w == want.end()) return "";
  const std::string at = "byte " + std::to_string(g - got.begin());
  if (g == got.end() || w == want.end()) return at + ": one of the two ends";
  return at + " is " + std::to_string(*g) + ", not " + std::to_string(*w);
}

// One side: what a process has opened.
struct Side {
  static constexpr uint32_t kPage = 3;
  static constexpr uint32_t kPd = 7;
  static constexpr uint32_t kCqn = 5;

  Side(Testbed& testbed, unsigned node, uint32_t qpn)
      : rnic(testbed, node),
        cq(rnic.create_cq(kCqn, kPage)),
        qp(rnic.create_qp(qpn, kPage, kPd, cq)) {}

  exrnic_cqe wait(uint64_t limit_ns = 10'000'000) { return rnic.wait(cq, kPage, limit_ns); }

  RnicDriver rnic;
  Queue cq;
  QueuePair qp;
};

struct Pair {
  static constexpr uint32_t kLeftQpn = 11;
  static constexpr uint32_t kRightQpn = 22;

  explicit Pair(const TestbedOptions& options = options_for("dc-25g"),
                const CoreFactory& make_core = test_cores())
      : testbed(options, make_core), left(testbed, 0, kLeftQpn), right(testbed, 1, kRightQpn) {
    left.rnic.connect(left.qp, 1, kRightQpn);
    right.rnic.connect(right.qp, 0, kLeftQpn);
  }

  Testbed testbed;
  Side left;
  Side right;
};

// What may be pushed into, and what is pushed from; bases are unaligned and above 32 bits.
constexpr uint32_t kSinkStag = 0x000234'56;
constexpr uint32_t kSourceStag = 0x000077'01;
constexpr uint64_t kSinkBase = 0x7f00'0000'0ab1;
constexpr uint64_t kSourceBase = 0x5500'0000'0123;

inline Region sink_of(Side& side, uint64_t length) {
  return side.rnic.create_region(kSinkStag, Side::kPd, kSinkBase, length,
                                 EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_REMOTE_WRITE);
}
inline Region source_of(Side& side, uint64_t length) {
  return side.rnic.create_region(kSourceStag, Side::kPd, kSourceBase, length, 0);
}

}  // namespace exrnic::testing
