// SPDX-License-Identifier: BSD-2-Clause
// A look at all devices of a map: each is asked how it is, and told that its manager lives. Behind
// it go questions at ports that are silent, for which nobody waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
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

  // Forgets what it has seen of devices.
  void forget();
  // Likewise, and its questions. The requests have been cleared.
  void stop();

  // Devices that have changed: worth a look.
  const std::set<uint64_t>& changed() const { return changed_; }
  // Devices at whose silent ports somebody has answered since the last call.
  std::set<uint64_t> take_found();
  // Somebody is gone.
  bool lost() const { return lost_ > 0; }
  // Somebody answers along a path, and with his number twice not; told once for each device.
  bool misrouted() const { return misrouted_; }
  void forget_misrouted() { by_path_.clear(); }

 private:
  static constexpr unsigned kMostLost = 8;

  void ask_device(uint64_t guid, bool routed, bool again = false);
  void take_device(uint64_t guid, bool routed, const Answer& answer);
  void choose_silent_ports();
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
  std::deque<PortId> silent_;             // ports, to ask
  size_t silent_asked_ = 0;
  std::map<uint64_t, uint16_t> last_silent_;  // port that was asked, of each device
  uint64_t last_turn_ = 0;                    // the device that had the last turn
  std::set<uint64_t> found_;
};

}  // namespace exrnic::fabric
