// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <optional>

#include "tools/fabric/routes.h"

namespace exrnic::fabric {
namespace {

struct Tree {
  std::vector<uint32_t> order;       // the root first
  std::vector<const Net::Line*> by;  // the line from the parent
  std::vector<uint32_t> parent;
};

// Everything that can be reached from `root`, by lines down only if `ranks` are given.
Tree grow(const Net& net, uint32_t root, const Ranks* ranks) {
  Tree tree{{root}, {}, {}};
  tree.by.resize(net.switches.size());
  tree.parent.assign(net.switches.size(), kNowhere);
  for (size_t i = 0; i < tree.order.size(); ++i) {
    const uint32_t at = tree.order[i];
    for (const Net::Line& line : net.switches[at].lines) {
      const bool up = ranks != nullptr && (*ranks)[line.to] > (*ranks)[at];
      if (up || line.to == root || tree.by[line.to] != nullptr) continue;
      tree.by[line.to] = &line;
      tree.parent[line.to] = at;
      tree.order.push_back(line.to);
    }
  }
  return tree;
}

bool reaches_nodes(const Net& net, const Tree& tree) {
  std::vector<bool> in(net.switches.size());
  for (const uint32_t at : tree.order) in[at] = true;
  for (uint32_t i = 0; i < net.switches.size(); ++i) {
    if (net.has_nodes(i) && !in[i]) return false;
  }
  return true;
}

std::optional<Tree> spanning_tree(const Net& net, const Ranks& ranks, bool up_down) {
  constexpr size_t kMostTrees = 256;  // that are tried
  std::vector<uint32_t> highest_first(ranks.size());
  for (uint32_t i = 0; i < ranks.size(); ++i) highest_first[ranks.size() - 1 - ranks[i]] = i;
  if (highest_first.size() > kMostTrees) highest_first.resize(kMostTrees);
  for (const uint32_t root : highest_first) {
    Tree tree = grow(net, root, up_down ? &ranks : nullptr);
    if (reaches_nodes(net, tree)) return tree;
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::vector<uint16_t>> flood_ports(const Net& net, const Ranks& ranks, bool up_down) {
  std::vector<std::vector<uint16_t>> ports(net.switches.size());
  const std::optional<Tree> tree = spanning_tree(net, ranks, up_down);
  if (!tree) return ports;
  // From the leaves on: a branch without nodes is left out.
  for (auto at = tree->order.rbegin(); at != tree->order.rend(); ++at) {
    for (const Net::Node& node : net.switches[*at].nodes) ports[*at].push_back(node.port);
    const Net::Line* const by = tree->by[*at];
    if (by == nullptr || ports[*at].empty()) continue;
    ports[*at].push_back(by->port_there);
    ports[tree->parent[*at]].push_back(by->port);
  }
  for (auto& list : ports) std::sort(list.begin(), list.end());
  return ports;
}

}  // namespace exrnic::fabric
