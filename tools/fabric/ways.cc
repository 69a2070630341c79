// SPDX-License-Identifier: BSD-2-Clause
#include "tools/fabric/ways.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace exrnic::fabric {
namespace {

constexpr size_t kMostRoots = 512;  // that are tried

// Places by level, and by GUID where that is the same: switches are in the order of their GUIDs.
Ranks ranks_of(const std::vector<uint32_t>& levels) {
  std::vector<uint32_t> order(levels.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return levels[a] < levels[b]; });
  Ranks ranks(levels.size());
  for (uint32_t i = 0; i < order.size(); ++i) ranks[order[i]] = i;
  return ranks;
}

std::vector<uint32_t> with_nodes(const Net& net) {
  std::vector<uint32_t> result;
  for (uint32_t i = 0; i < net.switches.size(); ++i) {
    if (net.has_nodes(i)) result.push_back(i);
  }
  return result;
}

}  // namespace

Ranks ranks_by_nodes(const Net& net) { return ranks_of(distances(net, with_nodes(net))); }

Ranks ranks_by_root(const Net& net) {
  const size_t count = net.switches.size();
  const size_t step = std::max<size_t>(1, count / kMostRoots);
  std::vector<uint32_t> best;
  std::tuple<uint32_t, uint64_t> best_size;
  for (size_t root = 0; root < count; root += step) {
    std::vector<uint32_t> levels = distances(net, {static_cast<uint32_t>(root)});
    const uint32_t most = *std::max_element(levels.begin(), levels.end());
    const auto size =
        std::make_tuple(most, std::accumulate(levels.begin(), levels.end(), uint64_t{0}));
    if (!best.empty() && size >= best_size) continue;
    best_size = size;
    best = std::move(levels);
  }
  for (uint32_t& level : best) level = kNowhere - level;
  return ranks_of(best);
}

Ways::Ways(const Net& net, const Ranks* ranks)
    : net_(net), ranks_(ranks), cost_(net.switches.size()), down_(net.switches.size()) {
  if (ranks_ == nullptr) return;
  highest_first_.resize(ranks_->size());
  for (uint32_t i = 0; i < ranks_->size(); ++i) {
    highest_first_[ranks_->size() - 1 - (*ranks_)[i]] = i;
  }
}

void Ways::towards(uint32_t target) {
  std::fill(cost_.begin(), cost_.end(), kNowhere);
  std::fill(down_.begin(), down_.end(), false);
  order_ = {target};
  cost_[target] = 0;
  down_[target] = true;
  for (size_t i = 0; i < order_.size(); ++i) {
    const uint32_t at = order_[i];
    for (const Net::Line& line : net_.switches[at].lines) {
      if (cost_[line.to] != kNowhere || (ranks_ != nullptr && !up(at, line))) continue;
      cost_[line.to] = cost_[at] + 1;
      down_[line.to] = true;
      order_.push_back(line.to);
    }
  }
  if (ranks_ != nullptr) add_ways_up();
  sort();
}

// Who has no way down goes up to the nearest who has.
void Ways::add_ways_up() {
  for (const uint32_t at : highest_first_) {
    if (down_[at]) continue;
    for (const Net::Line& line : net_.switches[at].lines) {
      if (up(at, line) && cost_[line.to] != kNowhere) {
        cost_[at] = std::min(cost_[at], cost_[line.to] + 1);
      }
    }
    if (cost_[at] != kNowhere) order_.push_back(at);
  }
}

void Ways::sort() {
  order_.erase(order_.begin());  // the target
  if (ranks_ == nullptr) {
    std::reverse(order_.begin(), order_.end());
    return;
  }
  std::stable_sort(order_.begin(), order_.end(),
                   [this](uint32_t a, uint32_t b) { return cost_[a] > cost_[b]; });
}

bool Ways::leads_on(uint32_t at, const Net::Line& line) const {
  if (cost_[line.to] == kNowhere || cost_[line.to] + 1 != cost_[at]) return false;
  if (ranks_ == nullptr) return true;
  return down_[at] ? down_[line.to] && !up(at, line) : up(at, line);
}

void Ways::lines_on(uint32_t at, std::vector<const Net::Line*>& lines) const {
  lines.clear();
  if (cost_[at] == kNowhere || cost_[at] == 0) return;
  for (const Net::Line& line : net_.switches[at].lines) {
    if (leads_on(at, line)) lines.push_back(&line);
  }
}

std::vector<uint32_t> cut_off(const Net& net, const Ranks& ranks) {
  Ways ways(net, &ranks);
  std::vector<bool> cut(net.switches.size());
  for (const uint32_t to : with_nodes(net)) {
    ways.towards(to);
    for (uint32_t from = 0; from < cut.size(); ++from) {
      if (ways.cost(from) == kNowhere) cut[from] = true;
    }
  }
  std::vector<uint32_t> result;
  for (uint32_t i = 0; i < cut.size(); ++i) {
    if (cut[i]) result.push_back(i);
  }
  return result;
}

Ranks lowered(const Net& net, const Ranks& ranks, const std::vector<uint32_t>& cut) {
  std::vector<bool> is_cut(net.switches.size());
  for (const uint32_t at : cut) is_cut[at] = true;
  std::vector<uint32_t> others;
  for (uint32_t i = 0; i < is_cut.size(); ++i) {
    if (!is_cut[i]) others.push_back(i);
  }
  std::vector<uint32_t> levels = distances(net, others);
  const auto most = static_cast<uint32_t>(levels.size());
  for (uint32_t i = 0; i < levels.size(); ++i) {
    levels[i] = is_cut[i] ? most - std::min(levels[i], most) : most + ranks[i];
  }
  return ranks_of(levels);
}

}  // namespace exrnic::fabric
