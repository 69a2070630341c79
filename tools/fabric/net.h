// SPDX-License-Identifier: BSD-2-Clause
// A fabric as routes see it: switches by index, the lines between them, the nodes at them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "tools/fabric/map.h"
#include "tools/fabric/numbers.h"

namespace exrnic::fabric {

struct Net {
  struct Line {
    uint32_t to = 0;  // index of the switch there
    uint16_t port = 0;
    uint16_t port_there = 0;
  };
  struct Node {
    uint16_t number = kNoNumber;
    uint16_t port = 0;
  };
  struct Switch {
    uint64_t guid = 0;
    uint16_t number = kNoNumber;
    std::vector<Line> lines;  // to other switches, by port
    std::vector<Node> nodes;  // by port
  };

  std::vector<Switch> switches;  // by GUID
  bool credits = false;

  bool has_nodes(size_t index) const { return !switches[index].nodes.empty(); }
};

Net make_net(const Map& map, const Numbers& numbers);

constexpr uint32_t kNowhere = std::numeric_limits<uint32_t>::max();

// Lines from each switch to the nearest of `roots`.
std::vector<uint32_t> distances(const Net& net, const std::vector<uint32_t>& roots);

}  // namespace exrnic::fabric
