// SPDX-License-Identifier: BSD-2-Clause
#include "tools/fabric/net.h"

#include <map>

namespace exrnic::fabric {

Net make_net(const Map& map, const Numbers& numbers) {
  Net net;
  net.credits = map.credits();
  const auto number_of = [&](uint64_t guid) {
    const auto found = numbers.of.find(guid);
    return found == numbers.of.end() ? kNoNumber : found->second;
  };
  std::map<uint64_t, uint32_t> index;
  for (const auto& [guid, device] : map.devices) {
    if (!device.is_switch()) continue;
    index[guid] = static_cast<uint32_t>(net.switches.size());
    net.switches.push_back({guid, number_of(guid), {}, {}});
  }
  for (Net::Switch& item : net.switches) {
    const std::vector<MapPort>& ports = map.devices.at(item.guid).ports;
    for (size_t i = 0; i < ports.size(); ++i) {
      const std::optional<PortId>& neighbour = ports[i].neighbour;
      if (!neighbour || map.find(neighbour->guid) == nullptr) continue;
      const auto port = static_cast<uint16_t>(i);
      const auto found = index.find(neighbour->guid);
      if (found == index.end()) {
        item.nodes.push_back({number_of(neighbour->guid), port});
      } else if (neighbour->guid != item.guid) {
        item.lines.push_back({found->second, port, neighbour->port});
      }
    }
  }
  return net;
}

std::vector<uint32_t> distances(const Net& net, const std::vector<uint32_t>& roots) {
  std::vector<uint32_t> result(net.switches.size(), kNowhere);
  std::vector<uint32_t> next = roots;
  for (const uint32_t root : roots) result[root] = 0;
  for (size_t i = 0; i < next.size(); ++i) {
    for (const Net::Line& line : net.switches[next[i]].lines) {
      if (result[line.to] != kNowhere) continue;
      result[line.to] = result[next[i]] + 1;
      next.push_back(line.to);
    }
  }
  return result;
}

}  // namespace exrnic::fabric
