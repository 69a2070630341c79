// SPDX-License-Identifier: BSD-2-Clause
#include "sim/topology/fabric.h"

#include <algorithm>
#include <cassert>
#include <set>
#include <utility>

#include "exrnic_hw.h"

namespace exrnic {
namespace {

// Each line has a generator of its own, so that traffic on one moves no fault on another. The odd
// factor spreads neighbouring seeds over the whole range (the 64-bit golden ratio).
uint64_t seed_towards(uint64_t seed, const LinkEnd& end) {
  constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;
  const uint64_t place =
      end.at_switch ? kMostNodes + uint64_t{end.index} * kMostPorts + end.port : end.index;
  return seed + kGolden * (place + 1);
}

const FaultConfig& faults_towards(const TopologyLink& link, const LinkEnd& to,
                                  const std::string& name, const FabricFaults& faults) {
  static const FaultConfig kNone;
  const auto own = faults.towards.find(name);
  if (own != faults.towards.end()) return own->second;
  const auto& of_link = link.faults_towards[link.ends[1] == to ? 1 : 0];
  if (of_link) return *of_link;
  return to.at_switch ? kNone : faults.everywhere;
}

uint32_t latency_ns(const Profile& profile, const TopologyLink& link) {
  return link.latency_ns.value_or(profile.ethernet.latency_ns);
}

uint32_t latency_ns(const Profile& profile, const TopologySwitch& item) {
  return item.latency_ns.value_or(profile.ethernet_switch.latency_ns);
}

// Latencies from one place of a topology to the others; places are nodes, then switches.
class Ways {
 public:
  Ways(const Profile& profile, const Topology& topology)
      : nodes_(topology.nodes), steps_(topology.nodes + topology.switches.size()) {
    for (const TopologyLink& link : topology.links) {
      for (const int i : {0, 1}) {
        const LinkEnd& to = link.ends[i];
        // A switch's own latency counts where it is entered.
        const uint64_t inside = to.at_switch ? latency_ns(profile, topology.switches[to.index]) : 0;
        steps_[place_of(link.ends[1 - i])].push_back(
            {place_of(to), (latency_ns(profile, link) + inside) * kPsPerNs});
      }
    }
  }

  // Dijkstra. A node passes nothing on.
  std::vector<SimTime> from(size_t start) const {
    std::vector<SimTime> least(steps_.size(), Fabric::kNoLines);
    std::set<std::pair<SimTime, size_t>> next = {{0, start}};
    least[start] = 0;
    while (!next.empty()) {
      const auto [time, place] = *next.begin();
      next.erase(next.begin());
      if (place < nodes_ && place != start) continue;
      for (const Step& step : steps_[place]) {
        if (time + step.latency >= least[step.to]) continue;
        next.erase({least[step.to], step.to});
        least[step.to] = time + step.latency;
        next.insert({least[step.to], step.to});
      }
    }
    return least;
  }

 private:
  struct Step {
    size_t to;
    SimTime latency;
  };

  size_t place_of(const LinkEnd& end) const {
    return end.at_switch ? nodes_ + end.index : end.index;
  }

  size_t nodes_;
  std::vector<std::vector<Step>> steps_;  // by the place that they leave
};

}  // namespace

Fabric::Fabric(const std::function<Scheduler&(unsigned)>& island, const Profile& profile,
               const Topology& topology, const Routes& routes, const FabricFaults& faults,
               const Nodes& nodes, const FabricPart* part, Control control)
    : profile_(profile),
      topology_(topology),
      nodes_(nodes),
      part_(part == nullptr ? std::nullopt : std::optional(*part)),
      control_(control) {
  assert(nodes.size() == topology.nodes);
  for (const TopologySwitch& item : topology_.switches)
    add_switch(item, island(static_cast<unsigned>(switches_.size())));
  for (const TopologyLink& link : topology_.links) add_link(link, faults);
  if (control_ == Control::kStatic) add_routes(routes);
}

// As of an EUI-64 whose first half is that of all MAC addresses here.
uint64_t Fabric::guid_of_node(unsigned index) { return uint64_t{EXRNIC_MAC_PREFIX} << 32 | index; }

uint64_t Fabric::guid_of_switch(unsigned index) { return guid_of_node(index) | uint64_t{1} << 31; }

Fabric::~Fabric() {
  if (!part_) return;
  for (uint32_t number = 0; number < 2 * topology_.links.size(); ++number) {
    part_->border.set_far_half(number, nullptr);
    part_->border.set_near_half(number, nullptr);
  }
}

SimTime Fabric::least_latency(const Profile& profile, const Topology& topology) {
  SimTime least = kNoLines;
  for (const TopologyLink& link : topology.links)
    least = std::min(least, latency_ns(profile, link) * kPsPerNs);
  return least;
}

SimTime Fabric::least_way(const Profile& profile, const Topology& topology, unsigned hosts) {
  const Ways ways(profile, topology);
  SimTime least = kNoLines;
  for (unsigned host = 0; host < hosts; ++host) {
    const std::vector<SimTime> found = ways.from(host);
    for (unsigned other = 0; other < hosts; ++other) {
      if (other != host) least = std::min(least, found[other]);
    }
  }
  return least;
}

Scheduler& Fabric::island_of(const LinkEnd& end) {
  return end.at_switch ? switch_islands_[end.index].get() : nodes_[end.index]->scheduler();
}

void Fabric::add_switch(const TopologySwitch& item, Scheduler& island) {
  Switch::Config config = profile_.ethernet_switch;
  config.latency_ns = latency_ns(profile_, item);
  if (item.queue_bytes) config.queue_bytes = *item.queue_bytes;
  if (item.mark_bytes) config.mark_bytes = *item.mark_bytes;
  const bool is_here = here({true, static_cast<unsigned>(switches_.size()), 0});
  switch_islands_.push_back(island);
  const uint64_t guid = guid_of_switch(static_cast<unsigned>(switches_.size()));
  switches_.push_back(
      is_here ? std::make_unique<Switch>(island, config, guid, control_ == Control::kManaged)
              : nullptr);
}

// Both lines first: each end needs the one that leaves it, and the receiver of the one that comes.
void Fabric::add_link(const TopologyLink& link, const FabricFaults& faults) {
  const auto number = static_cast<uint32_t>(2 * (&link - topology_.links.data()));
  for (const uint32_t i : {0u, 1u}) add_line(link, number + i, faults);
  for (int i : {0, 1}) {
    const LinkEnd& from = link.ends[i];
    if (!here(from)) continue;
    EthernetLink& line = *lines_.at(topology_.name_of(link.ends[1 - i]));
    if (from.at_switch) {
      switches_[from.index]->connect(from.port, line);
    } else {
      nodes_[from.index]->mac().connect(line);
    }
  }
}

EthernetLink::Config Fabric::config_of(const TopologyLink& link, const LinkEnd& to) const {
  EthernetLink::Config config = profile_.ethernet;
  if (link.megabits_per_second) config.megabits_per_second = *link.megabits_per_second;
  config.latency_ns = latency_ns(profile_, link);
  if (!to.at_switch) return config;
  if (profile_.ethernet_switch.cut_through) config.head_bytes = kCutThroughBytes;
  const std::optional<uint64_t>& own = topology_.switches[to.index].queue_bytes;
  if (profile_.ethernet_switch.flow_control && own) config.buffer_bytes = *own;
  return config;
}

WireReceiver& Fabric::receiver_at(const LinkEnd& end, uint64_t megabits_per_second) {
  if (end.at_switch) return switches_[end.index]->add_port(end.port, megabits_per_second);
  return nodes_[end.index]->mac();
}

// `number`: of all lines; two to a link, in the order of the ends that they go to.
void Fabric::add_line(const TopologyLink& link, uint32_t number, const FabricFaults& faults) {
  const LinkEnd& to = link.ends[number % 2];
  const LinkEnd& from = link.ends[1 - number % 2];
  if (!here(from) && !here(to)) return;
  const EthernetLink::Config config = config_of(link, to);
  const std::string name = topology_.name_of(to);
  std::unique_ptr<EthernetLink>& line = lines_[name];
  if (!here(to)) {
    const unsigned rank = part_->partition.rank_of(to);
    line = std::make_unique<EthernetLink>(island_of(from), config,
                                          part_->border.far_half(number, rank));
    part_->border.set_near_half(number, line->sender());
    return;
  }
  WireReceiver& receiver = receiver_at(to, config.megabits_per_second);
  const FaultConfig& strike = faults_towards(link, to, name, faults);
  const uint64_t seed = seed_towards(faults.seed, to);
  if (here(from)) {
    line = std::make_unique<EthernetLink>(island_of(from), island_of(to), config, strike, seed,
                                          receiver);
    return;
  }
  const unsigned rank = part_->partition.rank_of(from);
  line = std::make_unique<EthernetLink>(island_of(to), config, strike, seed, receiver,
                                        part_->border.near_half(number, rank));
  part_->border.set_far_half(number, line->receiver());
}

void Fabric::add_routes(const Routes& routes) {
  for (size_t i = 0; i < switches_.size(); ++i) {
    if (switches_[i] == nullptr) continue;
    switches_[i]->set_routes(routes.ports[i]);
    for (const unsigned port : routes.tree_ports[i]) switches_[i]->flood_through(port);
  }
}

const EthernetLink* Fabric::line_towards(const std::string& end) const {
  const auto line = lines_.find(end);
  return line == lines_.end() ? nullptr : line->second.get();
}

EthernetLink* Fabric::line_towards(const std::string& end) {
  return const_cast<EthernetLink*>(std::as_const(*this).line_towards(end));
}

void Fabric::set_up(const TopologyLink& link, bool up) {
  for (const LinkEnd& end : link.ends) {
    if (!here(end)) continue;
    lines_.at(topology_.name_of(end))->set_up(up);
    end.at_switch ? switches_[end.index]->set_carrier(end.port, up)
                  : nodes_[end.index]->set_link(up);
  }
}

void Fabric::set_faults(const LinkEnd& end, const FaultConfig& faults, uint64_t seed) {
  if (here(end)) lines_.at(topology_.name_of(end))->set_faults(faults, seed_towards(seed, end));
}

void Fabric::set_extra_latency(const LinkEnd& end, uint64_t ns) {
  EthernetLink* const line = line_towards(topology_.name_of(end));
  if (line != nullptr && line->has_sender()) line->set_extra_latency(ns);
}

void Fabric::partition(const std::vector<std::set<unsigned>>& groups) {
  partition_ = groups;
  const auto group_of = [&](unsigned node) {
    return std::find_if(groups.begin(), groups.end(),
                        [&](const auto& group) { return group.count(node) != 0; });
  };
  for (unsigned to = 0; to < topology_.nodes; ++to) {
    EthernetLink* line = line_towards(topology_.name_of({false, to, 0}));
    if (line == nullptr || !line->has_receiver()) continue;
    std::set<uint64_t> blocked;
    for (unsigned from = 0; from < topology_.nodes; ++from) {
      if (group_of(from) != group_of(to)) blocked.insert(mac_address(topology_.id_of(from)));
    }
    line->block_senders(std::move(blocked));
  }
}

}  // namespace exrnic
