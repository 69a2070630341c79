// SPDX-License-Identifier: BSD-2-Clause
// What most tests of a manager need.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "tools/fabric/testing/check.h"
#include "tools/fabric/testing/fake_fabric.h"
#include "tools/fabric/testing/topologies.h"

namespace exrnic::fabric::testing {

constexpr uint64_t kMs = 1'000'000;

// Short times: a line of a fake fabric takes 500 ns.
inline ManagerOptions options() {
  ManagerOptions result;
  result.timeout_ns = 100'000;
  result.sweep_ns = 5 * kMs;
  result.takeover_ns = 40 * kMs;
  result.pause_ns = kMs;
  result.seed = 1;
  return result;
}

// Active, with nothing left to do, and after a look at everything.
inline bool settled(const Manager& manager) {
  return manager.state() == ManagerState::kActive && manager.times().swept_ns != kNever &&
         manager.times().swept_ns > manager.times().routed_ns;
}

inline void settle(FakeFabric& fabric, int node, uint64_t within_ns = 2'000 * kMs) {
  Manager& manager = fabric.manager(node);
  fabric.run(fabric.now() + within_ns, [&] { return settled(manager); });
  INFO(manager.reason());
  REQUIRE(settled(manager));
}

inline void check_all(const FakeFabric& fabric, const Built& built) {
  CHECK(trouble_of_nodes(fabric, built.nodes) == "");
  CHECK(trouble_of_switches(fabric, built.nodes, built.switches) == "");
  CHECK(trouble_of_floods(fabric, built.nodes) == "");
}

constexpr unsigned kHeaderAt = EXRNIC_ETH_BYTES;

inline bool about(const Frame& frame, uint16_t attribute) {
  return exrnic_management_header_attribute(&frame[kHeaderAt]) == attribute;
}

// It answers whoever asks, and nobody who sets.
inline void ignore_sets(FakeDevice& device, uint16_t tells = kNoNumber) {
  device.lie = [&device, tells, seen = device.sets](Frame& frame) mutable {
    const bool set = device.sets != seen;
    seen = device.sets;
    if (about(frame, EXRNIC_MANAGEMENT_ATTRIBUTE_DEVICE)) {
      exrnic_management_device_set_number(&frame[EXRNIC_MANAGEMENT_DATA_AT], tells);
      exrnic_management_device_set_manager(&frame[EXRNIC_MANAGEMENT_DATA_AT], kNoNumber);
    }
    return !set;
  };
}

inline bool mentions(const std::vector<std::string>& problems, const std::string& text) {
  for (const std::string& problem : problems) {
    if (problem.find(text) != std::string::npos) return true;
  }
  return false;
}

}  // namespace exrnic::fabric::testing
