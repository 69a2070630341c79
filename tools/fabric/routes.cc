// SPDX-License-Identifier: BSD-2-Clause
#include "tools/fabric/routes.h"

#include <algorithm>
#include <tuple>

namespace exrnic::fabric {
namespace {

constexpr uint16_t kUndecided = kNoPort - 1;

// What a port has been given so far.
struct Given {
  uint64_t frames = 0;  // nodes from which frames come by, summed over destinations
  uint64_t destinations = 0;
};

class Spreader {
 public:
  Spreader(const Net& net, const Ranks* ranks)
      : net_(net),
        ways_(net, ranks),
        given_(net.switches.size()),
        lines_(net.switches.size()),
        frames_(net.switches.size()) {
    for (uint32_t i = 0; i < net_.switches.size(); ++i) {
      given_[i].resize(net_.switches[i].lines.size());
      first_place_.push_back(numbers_.size());
      for (const Net::Node& node : net_.switches[i].nodes) numbers_.push_back(node.number);
      numbers_.push_back(net_.switches[i].number);
    }
    tables_.assign(net_.switches.size(), std::vector<uint16_t>(numbers_.size(), kNoPort));
  }

  void run() {
    for (uint32_t to = 0; to < net_.switches.size(); ++to) {
      if (net_.has_nodes(to)) follow_frames(to);
    }
    for (uint32_t to = 0; to < net_.switches.size(); ++to) fill_nodes(to);
    for (uint32_t to = 0; to < net_.switches.size(); ++to) fill_switch(to);
  }

  void add_to(SwitchPlan& plan, uint32_t at) const {
    for (size_t place = 0; place < numbers_.size(); ++place) {
      if (tables_[at][place] == kNoPort) continue;
      const auto [block, fresh] = plan.routes.try_emplace(numbers_[place] / kRoutesOfBlock);
      if (fresh) block->second.fill(kNoPort);
      block->second[numbers_[place] % kRoutesOfBlock] = tables_[at][place];
    }
  }

 private:
  void begin(uint32_t to) {
    ways_.towards(to);
    for (const uint32_t at : ways_.farthest_first()) ways_.lines_on(at, lines_[at]);
  }

  // Frames of all nodes, from the farthest switch on: which of the next ones they come to depends
  // on what those before have chosen. Where none comes by is decided later.
  void follow_frames(uint32_t to) {
    begin(to);
    const std::vector<Net::Node>& nodes = net_.switches[to].nodes;
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].number == kNoNumber) continue;
      const size_t place = first_place_[to] + i;
      tables_[to][place] = nodes[i].port;
      for (uint32_t at = 0; at < frames_.size(); ++at) frames_[at] = net_.switches[at].nodes.size();
      for (const uint32_t at : ways_.farthest_first()) {
        if (frames_[at] == 0 && lines_[at].size() > 1) {
          tables_[at][place] = kUndecided;
        } else {
          frames_[give(at, place, frames_[at])] += frames_[at];
        }
      }
    }
  }

  void fill_nodes(uint32_t to) {
    begin(to);
    const size_t first = first_place_[to];
    const size_t end = first + net_.switches[to].nodes.size();
    for (const uint32_t at : ways_.farthest_first()) {
      for (size_t place = first; place < end; ++place) {
        if (tables_[at][place] == kUndecided) give(at, place, 0);
      }
    }
  }

  // The way to the switch itself.
  void fill_switch(uint32_t to) {
    if (net_.switches[to].number == kNoNumber) return;
    begin(to);
    const size_t place = first_place_[to] + net_.switches[to].nodes.size();
    for (const uint32_t at : ways_.farthest_first()) give(at, place, 0);
  }

  // The port that has least gets one more destination. Returns the switch there.
  uint32_t give(uint32_t at, size_t place, uint64_t frames) {
    const Net::Line* const first = net_.switches[at].lines.data();
    const auto load = [&](const Net::Line* line) {
      const Given& given = given_[at][line - first];
      return std::make_tuple(frames == 0 ? 0 : given.frames, given.destinations, line->port);
    };
    const Net::Line& line = **std::min_element(lines_[at].begin(), lines_[at].end(),
                                               [&](auto* a, auto* b) { return load(a) < load(b); });
    given_[at][&line - first].frames += frames;
    ++given_[at][&line - first].destinations;
    tables_[at][place] = line.port;
    return line.to;
  }

  const Net& net_;
  Ways ways_;
  std::vector<std::vector<Given>> given_;             // by switch and line
  std::vector<std::vector<const Net::Line*>> lines_;  // that lead on, of each switch
  std::vector<uint64_t> frames_;                      // for a destination that come to each switch
  std::vector<uint16_t> numbers_;    // of the nodes of each switch, then its own, and so on
  std::vector<size_t> first_place_;  // of each switch in these
  std::vector<std::vector<uint16_t>> tables_;  // by switch and place: a port
};

void add_floods(SwitchPlan& plan, const std::vector<uint16_t>& ports) {
  for (const uint16_t port : ports) {
    set_flood_bit(plan.floods[port / kFloodsOfBlock], port % kFloodsOfBlock);
  }
}

bool all_empty(const std::vector<std::vector<uint16_t>>& ports) {
  return std::all_of(ports.begin(), ports.end(), [](const auto& list) { return list.empty(); });
}

// An order in which all nodes have ways to all devices.
Ranks ranks_up_down(const Net& net) {
  Ranks ranks = ranks_by_nodes(net);
  std::vector<uint32_t> cut = cut_off(net, ranks);
  const bool nodes_are =
      std::any_of(cut.begin(), cut.end(), [&](uint32_t at) { return net.has_nodes(at); });
  if (!cut.empty() && !nodes_are) {
    ranks = lowered(net, ranks, cut);
    cut = cut_off(net, ranks);
  }
  const bool joins_all = cut.empty() && !all_empty(flood_ports(net, ranks, true));
  return joins_all ? ranks : ranks_by_root(net);
}

}  // namespace

RoutesPlan plan_routes(const Net& net) {
  RoutesPlan plan;
  if (net.switches.empty()) return plan;
  plan.up_down = net.credits;
  const Ranks ranks = plan.up_down ? ranks_up_down(net) : ranks_by_nodes(net);
  const std::vector<std::vector<uint16_t>> floods = flood_ports(net, ranks, plan.up_down);
  Spreader spreader(net, plan.up_down ? &ranks : nullptr);
  spreader.run();
  for (uint32_t i = 0; i < net.switches.size(); ++i) {
    SwitchPlan& item = plan.switches[net.switches[i].guid];
    item.rank = ranks[i];
    for (const Net::Line& line : net.switches[i].lines) {
      if (ranks[line.to] > ranks[i]) item.up.insert(line.port);
    }
    spreader.add_to(item, i);
    add_floods(item, floods[i]);
  }
  return plan;
}

}  // namespace exrnic::fabric
