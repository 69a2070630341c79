// SPDX-License-Identifier: BSD-2-Clause
#include "sim/topology/routes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <numeric>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace exrnic {
namespace {

constexpr unsigned kNowhere = std::numeric_limits<unsigned>::max();

// A line out of a place: link `line / 2`, towards its end `line % 2`.
using Line = unsigned;

// The topology as a graph: nodes, then switches, are its places.
class Graph {
 public:
  explicit Graph(const Topology& topology) : topology_(topology), lines_(places()) {
    for (Line line = 0; line < 2 * topology.links.size(); ++line) {
      lines_[place_of(from(line))].push_back(line);
    }
    for (auto& lines : lines_) {
      std::sort(lines.begin(), lines.end(),
                [this](Line a, Line b) { return from(a).port < from(b).port; });
    }
  }

  size_t places() const { return topology_.nodes + topology_.switches.size(); }
  bool is_node(size_t place) const { return place < topology_.nodes; }
  size_t place_of(const LinkEnd& end) const {
    return end.at_switch ? topology_.nodes + end.index : end.index;
  }
  const LinkEnd& from(Line line) const { return topology_.links[line / 2].ends[1 - line % 2]; }
  const LinkEnd& to(Line line) const { return topology_.links[line / 2].ends[line % 2]; }
  size_t target(Line line) const { return place_of(to(line)); }
  const std::vector<Line>& lines(size_t place) const { return lines_[place]; }  // by port

  std::string name_of(size_t place) const {
    return is_node(place) ? topology_.name_of({false, static_cast<unsigned>(place), 0})
                          : topology_.switches[place - topology_.nodes].name;
  }

  // Steps from each place to `root`, which every line can be taken back to. A
  // node passes nothing on.
  std::vector<unsigned> distances(size_t root) const {
    std::vector<unsigned> result(places(), kNowhere);
    std::deque<size_t> next = {root};
    result[root] = 0;
    while (!next.empty()) {
      const size_t place = next.front();
      next.pop_front();
      if (is_node(place) && place != root) continue;
      for (const Line line : lines_[place]) {
        if (result[target(line)] != kNowhere) continue;
        result[target(line)] = result[place] + 1;
        next.push_back(target(line));
      }
    }
    return result;
  }

 private:
  const Topology& topology_;
  std::vector<std::vector<Line>> lines_;
};

void refuse_unreachable(const Topology& topology, const Graph& graph) {
  if (graph.places() == 1) return;
  for (size_t place = 0; place < graph.places(); ++place) {
    if (graph.lines(place).empty()) {
      throw DataFileError(fmt::format("topology {}: {} has no link; join it or leave it out",
                                      topology.name, graph.name_of(place)));
    }
  }
  const std::vector<unsigned> distance = graph.distances(0);
  for (size_t place = 0; place < graph.places(); ++place) {
    if (distance[place] == kNowhere) {
      throw DataFileError(fmt::format("topology {}: {} cannot be reached from node0; add a link",
                                      topology.name, graph.name_of(place)));
    }
  }
}

// The ports of every switch that lie on shortest ways to one of them.
class Choices {
 public:
  Choices(const Topology& topology, const Graph& graph)
      : topology_(topology), hops_(topology.switches.size()) {
    for (unsigned i = 0; i < hops_.size(); ++i) {
      for (const Line line : graph.lines(topology.nodes + i)) {
        const LinkEnd& to = graph.to(line);
        if (to.at_switch) hops_[i].push_back({graph.from(line).port, to.index});
      }
    }
  }

  void towards(unsigned root) {
    if (root == root_) return;
    root_ = root;
    search();
    first_.clear();
    ports_.clear();
    for (unsigned i = 0; i < hops_.size(); ++i) {
      first_.push_back(ports_.size());
      for (const Hop& hop : hops_[i]) {
        if (distance_[hop.to] < distance_[i]) ports_.push_back(hop.port);
      }
    }
    first_.push_back(ports_.size());
  }

  // Of the switch `index`, which is not the one that they lead to, for one of that one's nodes.
  unsigned port(unsigned index, unsigned node) const {
    const auto choices = static_cast<unsigned>(first_[index + 1] - first_[index]);
    return ports_[first_[index] + node / topology_.switches[index].spread % choices];
  }

 private:
  struct Hop {
    unsigned port;
    unsigned to;  // which switch
  };

  void search() {
    distance_.assign(hops_.size(), kNowhere);
    distance_[root_] = 0;
    next_ = {root_};
    for (size_t i = 0; i < next_.size(); ++i) {
      for (const Hop& hop : hops_[next_[i]]) {
        if (distance_[hop.to] != kNowhere) continue;
        distance_[hop.to] = distance_[next_[i]] + 1;
        next_.push_back(hop.to);
      }
    }
  }

  const Topology& topology_;
  std::vector<std::vector<Hop>> hops_;  // by switch, in the order of ports
  unsigned root_ = kNowhere;
  std::vector<unsigned> distance_;  // to root_
  std::vector<unsigned> next_;
  std::vector<size_t> first_;  // by switch: of its ports
  std::vector<unsigned> ports_;
};

// One of all blocks that are equal.
class BlockPool {
 public:
  PortTable::SharedBlock shared(const PortTable::Block& block) {
    return *blocks_.insert(std::make_shared<const PortTable::Block>(block)).first;
  }

 private:
  struct Hash {
    size_t operator()(const PortTable::SharedBlock& block) const {
      return std::hash<std::string_view>()(
          {reinterpret_cast<const char*>(block->data()), sizeof *block});
    }
  };
  struct Equal {
    bool operator()(const PortTable::SharedBlock& a, const PortTable::SharedBlock& b) const {
      return *a == *b;
    }
  };
  std::unordered_set<PortTable::SharedBlock, Hash, Equal> blocks_;
};

// Nodes whose numbers are in one block of the tables, one after the other, all
// switches at a time. Those of one switch mostly follow each other, and have
// all ways but the last line in common.
std::vector<PortTable> port_tables(const Topology& topology, const Graph& graph) {
  std::vector<PortTable> tables(topology.switches.size());
  if (tables.empty()) return tables;
  std::vector<unsigned> nodes(topology.nodes);
  std::iota(nodes.begin(), nodes.end(), 0);
  const auto id = [&](unsigned node) { return topology.id_of(node); };
  std::sort(nodes.begin(), nodes.end(), [&](unsigned a, unsigned b) { return id(a) < id(b); });
  Choices choices(topology, graph);
  BlockPool pool;
  for (auto node = nodes.begin(); node != nodes.end();) {
    const unsigned block = id(*node) / PortTable::kBlockNumbers;
    std::vector<PortTable::Block> columns(tables.size(), PortTable::empty_block());
    for (; node != nodes.end() && id(*node) / PortTable::kBlockNumbers == block; ++node) {
      const LinkEnd& end = graph.from(graph.lines(*node).front() ^ 1);
      choices.towards(end.index);
      const unsigned place = id(*node) % PortTable::kBlockNumbers;
      for (unsigned i = 0; i < tables.size(); ++i) {
        columns[i][place] =
            static_cast<uint16_t>(i == end.index ? end.port : choices.port(i, *node));
      }
    }
    for (unsigned i = 0; i < tables.size(); ++i)
      tables[i].set_block(block, pool.shared(columns[i]));
  }
  return tables;
}

// Of the first switch: the lines of every shortest way to it, one per place.
std::vector<std::vector<unsigned>> spanning_tree(const Topology& topology, const Graph& graph) {
  std::vector<std::vector<unsigned>> ports(topology.switches.size());
  if (topology.switches.empty()) return ports;
  const size_t root = topology.nodes;
  const std::vector<unsigned> distance = graph.distances(root);
  for (size_t place = 0; place < graph.places(); ++place) {
    if (place == root) continue;
    const std::vector<Line>& lines = graph.lines(place);
    const Line line = *std::find_if(lines.begin(), lines.end(), [&](Line line) {
      return distance[graph.target(line)] < distance[place];
    });
    for (const LinkEnd& end : {graph.from(line), graph.to(line)}) {
      if (end.at_switch) ports[end.index].push_back(end.port);
    }
  }
  for (auto& list : ports) std::sort(list.begin(), list.end());
  return ports;
}

// Which line's buffer empties into which line. Lines at nodes are in no circle: those to nodes are
// left out, and of those from the nodes of a switch the first one stands for all.
class Dependencies {
 public:
  Dependencies(const Topology& topology, const Graph& graph, const Routes& routes)
      : after_(2 * topology.links.size()),
        into_(after_.size(), kNowhere),
        line_of_(topology.switches.size()),
        entry_(topology.switches.size(), kNowhere) {
    for (Line line = 0; line < after_.size(); ++line) add_line(graph, line);
    std::vector<unsigned> seen(after_.size(), kNowhere);  // on a way to which node, last
    for (unsigned to = 0; to < topology.nodes; ++to) {
      for (const Line entry : entry_) {
        if (entry != kNowhere) add_way(routes, entry, to, topology.id_of(to), seen);
      }
    }
    for (unsigned i = 0; i < topology.switches.size(); ++i) add_flood(i, routes.tree_ports[i]);
  }

  // One circle of lines that wait for each other; empty if there is none.
  std::vector<Line> circle() {
    std::vector<Line> path;
    std::vector<int> state(after_.size(), 0);
    for (Line line = 0; line < after_.size(); ++line) {
      if (state[line] == 0 && visit(line, state, path)) return path;
    }
    return {};
  }

 private:
  void add_line(const Graph& graph, Line line) {
    const LinkEnd& from = graph.from(line);
    const LinkEnd& to = graph.to(line);
    if (to.at_switch) into_[line] = to.index;
    if (from.at_switch) {
      std::vector<Line>& lines = line_of_[from.index];
      if (from.port >= lines.size()) lines.resize(from.port + 1, kNowhere);
      lines[from.port] = line;
    } else if (to.at_switch && entry_[to.index] == kNowhere) {
      entry_[to.index] = line;
    }
  }

  // Ways to one node that have met stay together.
  void add_way(const Routes& routes, Line line, unsigned to, uint16_t id,
               std::vector<unsigned>& seen) {
    while (seen[line] != to) {
      seen[line] = to;
      const unsigned at = into_[line];
      const Line next = line_of_[at][routes.ports[at].at(id)];
      if (into_[next] == kNowhere) return;
      add(line, next);
      line = next;
    }
  }

  // A group's frame goes from each of a switch's lines in the tree into all the others.
  void add_flood(unsigned index, const std::vector<unsigned>& ports) {
    std::vector<Line> out;
    for (const unsigned port : ports) {
      const Line line = line_of_[index][port];
      if (into_[line] != kNowhere) out.push_back(line);
    }
    for (const Line next : out) {
      if (entry_[index] != kNowhere) add(entry_[index], next);
      for (const Line in : out) {
        if (next != in) add(in ^ 1, next);
      }
    }
  }

  void add(Line line, Line next) {
    std::vector<Line>& lines = after_[line];
    const auto place = std::lower_bound(lines.begin(), lines.end(), next);
    if (place == lines.end() || *place != next) lines.insert(place, next);
  }

  // Depth first: 0 not seen, 1 on the path, 2 done. True: `path` is a circle.
  bool visit(Line line, std::vector<int>& state, std::vector<Line>& path) {
    state[line] = 1;
    path.push_back(line);
    for (const Line next : after_[line]) {
      if (state[next] == 1) {
        path.erase(path.begin(), std::find(path.begin(), path.end(), next));
        return true;
      }
      if (state[next] == 0 && visit(next, state, path)) return true;
    }
    state[line] = 2;
    path.pop_back();
    return false;
  }

  std::vector<std::vector<Line>> after_;    // sorted
  std::vector<unsigned> into_;              // by line: to which switch; kNowhere: to a node
  std::vector<std::vector<Line>> line_of_;  // by switch and port: the line that leaves there
  std::vector<Line> entry_;                 // by switch: the first line from a node
};

}  // namespace

unsigned Routes::hops(const Topology& topology, unsigned from, unsigned to) const {
  if (from == to) return 0;
  const Graph graph(topology);
  return graph.distances(to)[from];
}

Routes compute_routes(const Topology& topology) {
  const Graph graph(topology);
  refuse_unreachable(topology, graph);
  Routes routes;
  routes.ports = port_tables(topology, graph);
  routes.tree_ports = spanning_tree(topology, graph);
  return routes;
}

void refuse_deadlock(const Topology& topology, const Routes& routes) {
  const Graph graph(topology);
  const std::vector<Line> circle = Dependencies(topology, graph, routes).circle();
  if (circle.empty()) return;
  std::vector<std::string> places;
  for (const Line line : circle) places.push_back(graph.name_of(graph.place_of(graph.from(line))));
  places.push_back(places.front());
  constexpr size_t kMostShown = 10, kFirstShown = 8;
  if (places.size() > kMostShown) {
    places.erase(places.begin() + kFirstShown, places.end() - 1);
    places.insert(places.end() - 1, fmt::format("... ({} in all)", circle.size()));
  }
  throw DataFileError(
      fmt::format("topology {}: with credits, frames on the circle {} may wait "
                  "for each other for ever; open "
                  "it, or take a profile without credits",
                  topology.name, fmt::join(places, " -> ")));
}

Routes usable_routes(const Topology& topology, bool credits) {
  Routes routes = compute_routes(topology);
  if (credits) refuse_deadlock(topology, routes);
  return routes;
}

void refuse_unusable(const Topology& topology, bool credits) {
  if (credits) {
    usable_routes(topology, credits);
  } else {
    refuse_unreachable(topology, Graph(topology));
  }
}

}  // namespace exrnic
