// SPDX-License-Identifier: BSD-2-Clause
// Which ports of a switch lead on to a destination. Frames that wait for credits must not wait in a
// circle: they go up, then down, in one order of all switches (up*/down*: Schroeder et al., 1991).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tools/fabric/net.h"

namespace exrnic::fabric {

// Each switch's place in an order of all: a line to a higher one leads up.
using Ranks = std::vector<uint32_t>;

// The farther from nodes, the higher.
Ranks ranks_by_nodes(const Net& net);

// The nearer to the switch in whose neighbourhood the others are, the higher. Every pair of a
// fabric is joined by a way up and then down.
Ranks ranks_by_root(const Net& net);

class Ways {
 public:
  // Shortest ways; with ranks, those that go up and then down. Both outlive it.
  explicit Ways(const Net& net, const Ranks* ranks = nullptr);

  // From now on it is about ways to this switch.
  void towards(uint32_t target);

  // Lines on the way; kNowhere if there is none.
  uint32_t cost(uint32_t at) const { return cost_[at]; }

  // The lines that lead on from there, by port. Whoever follows any of them gets there.
  void lines_on(uint32_t at, std::vector<const Net::Line*>& lines) const;

  // All that have a way, the farthest first, without the target.
  const std::vector<uint32_t>& farthest_first() const { return order_; }

 private:
  bool leads_on(uint32_t at, const Net::Line& line) const;
  bool up(uint32_t at, const Net::Line& line) const { return (*ranks_)[line.to] > (*ranks_)[at]; }
  void add_ways_up();
  void sort();

  const Net& net_;
  const Ranks* const ranks_;
  std::vector<uint32_t> highest_first_;
  std::vector<uint32_t> cost_;
  std::vector<bool> down_;  // from here on all lines lead down
  std::vector<uint32_t> order_;
};

// Switches that have no way to, and so none from, some switch with nodes.
std::vector<uint32_t> cut_off(const Net& net, const Ranks& ranks);

// The same order, but for these: they are below all others, the farther from those the lower. So
// each has a line up that is on a way to all that the others have ways to.
Ranks lowered(const Net& net, const Ranks& ranks, const std::vector<uint32_t>& cut);

}  // namespace exrnic::fabric
