// SPDX-License-Identifier: BSD-2-Clause
// Peers of PEBs' ports: what they are to be, what they are, and what has to change. A device that
// is to be another port's is freed before it is given, and is not given while another port has it:
// a PEB has no peer twice, and no device two hosts.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
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
  // Likewise: of hosts whose device is not there, and of devices that are in no assignment, the
  // first time: somebody may have ended between freeing a port and its device.
  std::set<PortId> doubtful(const Map& map) const;

  // What a port has, as it was read or has been set.
  void is(const PortId& port, const AssignmentData& peer) { is_[port] = peer; }
  // All ports of that PEB have been read.
  void is_whole(uint64_t host) { whole_.insert(host); }
  // The host that a device names, if it is to be another one's, or nobody's; 0: there is none.
  uint64_t other_host(const Map& map, const PortId& port) const;

  // Ports to be freed, when all has been read.
  Changes to_free(const Map& map);
  // Devices whose host has lost them, and what they have then, if it is still that.
  const std::map<uint64_t, AssignmentData>& left() const { return left_; }
  void forget_left(uint64_t device) { left_.erase(device); }

  // Ports to be set, when those are free.
  Changes to_set(const Map& map) const;

 private:
  bool moves(const PortId& port, const AssignmentData& peer) const;
  bool has_no_device(const Map& map, const PortId& port, const AssignmentData& peer) const;
  void leave_forgotten(const Map& map);
  bool names(uint64_t host, uint16_t device) const;
  bool is_known(uint64_t host) const;
  bool is_held(const Map& map, const PortId& port, const PortId& end) const;
  void leave(const Map& map, uint64_t host, const AssignmentData& peer);

  Changes wanted_;
  Changes is_;
  std::set<PortId> absent_;                  // ports of hosts whose device is not there
  std::set<uint64_t> whole_;                 // hosts all of whose ports are in `is_`
  bool looked_ = false;                      // at all devices
  std::map<uint64_t, AssignmentData> left_;  // by GUID
};

// Without a peer the group means nothing.
bool same_peer(const AssignmentData& a, const AssignmentData& b);

}  // namespace exrnic::fabric
