// SPDX-License-Identifier: BSD-2-Clause
#include "sim/control/parts.h"

#include <map>

namespace exrnic {

nlohmann::ordered_json nodes_of(const std::vector<nlohmann::ordered_json>& parts) {
  std::map<unsigned, nlohmann::ordered_json> nodes;
  for (const auto& part : parts)
    for (const auto& node : part["nodes"]) nodes[node["id"]] = node;
  auto all = nlohmann::ordered_json::array();
  for (const auto& [id, node] : nodes) all.push_back(node);
  return all;
}

}  // namespace exrnic
