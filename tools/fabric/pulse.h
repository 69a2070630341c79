// SPDX-License-Identifier: BSD-2-Clause
// Shows all nodes that their manager lives while it has no time to look at them: who stands by sees
// nothing of a fabric but the beats of his own node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <utility>

#include "tools/fabric/map.h"
#include "tools/fabric/requests.h"

namespace exrnic::fabric {

class Pulse {
 public:
  using OwnIs = std::function<void(const DeviceData& own)>;

  // `requests` outlives it. `own_is` hears how the own node is, each time.
  Pulse(Requests& requests, OwnIs own_is) : requests_(requests), own_is_(std::move(own_is)) {}

  // Counts at the nodes of `map`.
  void begin(Map& map);
  bool at_work() const { return asked_ != 0; }
  uint64_t begun() const { return begun_; }

  // Those that have not answered are asked again.
  void forget_silent() { silent_.clear(); }

 private:
  void ask(uint64_t guid, Device& device, bool own);

  Requests& requests_;
  const OwnIs own_is_;
  size_t asked_ = 0;
  uint64_t begun_ = 0;
  std::set<uint64_t> silent_;
};

}  // namespace exrnic::fabric
