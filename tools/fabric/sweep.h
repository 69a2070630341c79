// SPDX-License-Identifier: BSD-2-Clause
// A look at all devices of a map: each is asked how it is, and told that its manager lives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>

#include "tools/fabric/map.h"
#include "tools/fabric/requests.h"

namespace exrnic::fabric {

class Sweep {
 public:
  // Both outlive it.
  Sweep(Requests& requests, Map& map) : requests_(requests), map_(map) {}

  // `tries` of a routed request, before the device is asked along its path. The own node is left
  // out.
  void begin(uint16_t manager, unsigned tries);
  bool done() const { return asked_ == 0; }

  // So many are gone that it is no use to wait for the others.
  bool hopeless() const { return lost_ >= kMostLost; }

  // Forgets what it has seen. The requests have been cleared.
  void stop();

  // Devices that have changed: worth a look.
  const std::set<uint64_t>& changed() const { return changed_; }
  // Somebody is gone.
  bool lost() const { return lost_ > 0; }
  // Somebody answers along a path, and with his number twice not; told once for each device.
  bool misrouted() const { return misrouted_; }
  void forget_misrouted() { by_path_.clear(); }

 private:
  static constexpr unsigned kMostLost = 8;

  void ask_device(uint64_t guid, bool routed, bool again = false);
  void take_device(uint64_t guid, bool routed, const Answer& answer);
  void ask_silent_ports();

  Requests& requests_;
  Map& map_;
  uint16_t manager_ = kNoNumber;
  unsigned tries_ = 1;
  size_t asked_ = 0;
  std::set<uint64_t> changed_;
  unsigned lost_ = 0;
  bool misrouted_ = false;
  std::map<uint64_t, unsigned> by_path_;  // how often a device did not answer with its number
  PortId last_silent_;                    // port that was asked
};

}  // namespace exrnic::fabric
