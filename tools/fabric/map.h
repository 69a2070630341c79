// SPDX-License-Identifier: BSD-2-Clause
// What a fabric is found to be: devices by GUID, and who is at the other end of each line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "tools/fabric/frames.h"

namespace exrnic::fabric {

// A port of a device; a node has port 0.
struct PortId {
  uint64_t guid = 0;
  uint16_t port = 0;

  bool operator==(const PortId& other) const { return guid == other.guid && port == other.port; }
  bool operator!=(const PortId& other) const { return !(*this == other); }
  bool operator<(const PortId& other) const {
    return std::tie(guid, port) < std::tie(other.guid, other.port);
  }
};

struct MapPort {
  PortData data;
  std::optional<PortId> neighbour;
  bool silent = false;  // its line is up, but nobody answers: a foreign key, or no agent
};

struct Device {
  DeviceData data;
  std::vector<MapPort> ports;  // of lines: of a node one, of a switch those that it has
  Path path;                   // from the own node

  bool is_switch() const { return data.kind == EXRNIC_MANAGEMENT_KIND_SWITCH; }
};

class Map {
 public:
  using Devices = std::map<uint64_t, Device>;

  uint64_t own = 0;  // GUID of the own node; 0 while it has not answered
  Devices devices;
  // GUIDs that more than one device has, and ports that lead to one of these.
  std::map<uint64_t, std::set<PortId>> duplicates;
  std::set<uint64_t> deaf;  // switches that answer questions, and nothing that they are told
  std::set<uint64_t> mute;  // switches that do not say what is at their ports
  bool full = false;        // there is more than the limits of discovery allow

  const Device* find(uint64_t guid) const;
  Device* find(uint64_t guid);

  // Joins two ports. False if one of them has another neighbour already, or there is no such port.
  bool join(const PortId& a, const PortId& b);

  // Both ends forget each other.
  void part(const PortId& port);

  // Drops what cannot be reached from the own node, duplicates, deaf and mute switches among it,
  // and finds shortest paths anew. Returns the GUIDs that are gone.
  std::vector<uint64_t> settle();

  // A duplicate, deaf or mute.
  bool is_left_out(uint64_t guid) const;

  // Whether some line has credit-based flow control.
  bool credits() const;
};

// Whether what is planned for one is right for the other one, too.
bool same_fabric(const Map& a, const Map& b);

// "switch 00000000000000a1 (32769)"
std::string name_of(const Device& device);
std::string name_of_guid(uint64_t guid);
const char* name_of_kind(uint8_t kind);

}  // namespace exrnic::fabric
