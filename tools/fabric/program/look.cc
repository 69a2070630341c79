// SPDX-License-Identifier: BSD-2-Clause
#include "tools/fabric/program/look.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "tools/fabric/discovery.h"
#include "tools/fabric/program/clock.h"
#include "tools/fabric/requests.h"

namespace exrnic::fabric {
namespace {

constexpr unsigned kTries = 3;
// Nobody tells of a frame that has come: it is looked for as often.
constexpr uint64_t kLookNs = 20'000;

}  // namespace

Map look_at_fabric(ManagementPort& port, uint64_t key, double timeout_ms) {
  const auto timeout_ns = static_cast<uint64_t>(timeout_ms * kNsPerMs);
  Requests requests(port, {key, timeout_ns, kTries, std::nullopt}, [](const Trap& /*trap*/) {});
  Discovery discovery(requests, {});
  discovery.begin_all();
  while (!discovery.advance()) {
    const uint64_t now = now_ns();
    const uint64_t due = std::max(requests.poll(now), now);
    std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(due - now, kLookNs)));
  }
  if (discovery.failed())
    throw std::runtime_error("the own RNIC does not answer: has the fabric a key? Give --key-file");
  return discovery.map();
}

}  // namespace exrnic::fabric
