// SPDX-License-Identifier: BSD-2-Clause
// The checks of exrnic-guest-test themselves, with both ends in one process on software devices:
// they pass on a device that is right, and fail on one that is not. Checks that need a kernel
// module are left to the guests.
#include <catch2/catch_test_macros.hpp>

#include "bench.h"
#include "both_ends.h"
#include "fake_fabric.h"

namespace exrnic {
namespace {

CheckOutcome RunBoth(FakeFabric* fabric, const std::vector<GuestCheck>& checks) {
  const CheckOutcome outcome =
      RunBothEnds(checks, [=](uint32_t node) { return fabric->Open(node); });
  INFO(outcome.peer_output);
  CHECK(outcome.peer_failed == outcome.failed);
  return outcome;
}

std::vector<GuestCheck> WithoutKernel() {
  std::vector<GuestCheck> checks;
  for (GuestCheck& check : AllChecks()) {
    if (!check.needs_kernel && !check.needs_rnic) checks.push_back(std::move(check));
  }
  return checks;
}

TEST_CASE("the guest checks pass on a device that is right") {
  FakeFabric fabric(2);
  fabric.Start();
  const std::vector<GuestCheck> checks = WithoutKernel();
  const CheckOutcome outcome = RunBoth(&fabric, checks);
  INFO(outcome.output);
  CHECK(outcome.error.empty());
  CHECK(outcome.failed == 0);
  CHECK(outcome.passed() == checks.size());
}

TEST_CASE("the gather checks fail on a device that writes one byte too many") {
  FakeFabric fabric(2);
  fabric.Tamper([](uint8_t* placed, uint32_t length) {
    if (length == 4096 + 16) placed[length] ^= 1;
  });
  fabric.Start();
  const CheckOutcome outcome = RunBoth(&fabric, GatherChecks());
  INFO(outcome.output);
  CHECK(outcome.failed == 1);
  CHECK(outcome.output.find("not ok - two gathered") != std::string::npos);
}

}  // namespace
}  // namespace exrnic
