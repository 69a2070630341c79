// SPDX-License-Identifier: BSD-2-Clause
// Peers of PEBs' ports: what they are to be, what they are, and what has to change. A port that is
// to be another one's is freed before anything is given, as a PEB has no peer twice.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tools/fabric/map.h"
#include "tools/fabric/numbers.h"

namespace exrnic::fabric {

// A port of a host's PEB, and whose it is to be. `device` 0: nobody's.
struct Assignment {
  uint64_t host = 0;  // GUID of the PEB at the host
  uint16_t port = 0;
  uint64_t device = 0;  // GUID of the PEB at the device; its port 0
};

class Peers {
 public:
  using Changes = std::map<PortId, AssignmentData>;

  // Takes the list for the devices of the map. Who cannot have what it says is told in `problems`.
  void begin(const Map& map, const std::vector<Assignment>& assignments,
             std::vector<std::string>& problems);

  // Ports to read; and whether all other ports of that PEB are, too.
  const Changes& wanted() const { return wanted_; }
  bool gets_device(uint64_t host) const;

  // What a port has, as it was read or has been set.
  void is(const PortId& port, const AssignmentData& peer) { is_[port] = peer; }

  // Ports to be freed, when all has been read.
  Changes to_free(const Map& map);
  // Devices whose host has lost them, and what they have then, if it is still that.
  const std::map<uint64_t, AssignmentData>& left() const { return left_; }
  void forget_left(uint64_t device) { left_.erase(device); }

  // Ports to be set, when those are free.
  Changes to_set() const;

 private:
  bool moves(const PortId& port, const AssignmentData& peer) const;
  void leave(const Map& map, uint64_t host, const AssignmentData& peer);

  Changes wanted_;
  Changes is_;
  std::map<uint64_t, AssignmentData> left_;  // by GUID
};

// Without a peer the group means nothing.
bool same_peer(const AssignmentData& a, const AssignmentData& b);

}  // namespace exrnic::fabric
