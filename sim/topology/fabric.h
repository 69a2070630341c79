// SPDX-License-Identifier: BSD-2-Clause
// The network of a simulation: the links and switches of a topology between the MACs of its nodes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rtl-model/systemc/scheduler.h"
#include "sim/ethernet/border.h"
#include "sim/ethernet/ethernet_link.h"
#include "sim/ethernet/faults.h"
#include "sim/ethernet/switch.h"
#include "sim/node/station.h"
#include "sim/profile/profile.h"
#include "sim/topology/partition.h"
#include "sim/topology/routes.h"
#include "sim/topology/topology.h"

namespace exrnic {

// Which faults strike where. Without any of its own, a line that ends at a node has those of
// `everywhere`, so that each frame meets them once; one that ends at a switch has none.
struct FabricFaults {
  uint64_t seed = 1;
  FaultConfig everywhere;
  std::map<std::string, FaultConfig> towards;  // by the line's end; before those of the topology
};

// What of a network is in this process. Of a line whose ends are in two there is one half, and the
// border has the way to the other one.
struct FabricPart {
  const Partition& partition;
  unsigned rank;
  Border& border;
};

class Fabric {
 public:
  using Nodes = std::vector<Station*>;

  // Whose the routes are: the topology's, or of a manager that has to find out (FABRIC.md).
  enum class Control { kStatic, kManaged };

  // `island`: the scheduler of the switch of this index. `nodes` has as many as the topology, which
  // outlive the fabric; those of other ranks are nullptr. Every end in faults.towards is one of
  // the topology. `part`: nullptr for all of it; what it names outlives the fabric.
  Fabric(const std::function<Scheduler&(unsigned)>& island, const Profile& profile,
         const Topology& topology, const Routes& routes, const FabricFaults& faults,
         const Nodes& nodes, const FabricPart* part = nullptr, Control control = Control::kStatic);
  ~Fabric();

  // The shortest latency of its lines: no end of one notices the other one sooner. kNoLines without
  // any.
  static SimTime least_latency(const Profile& profile, const Topology& topology);
  static constexpr SimTime kNoLines = ~SimTime{0};

  // The same of two of the first `hosts` nodes: the latencies of lines and switches on the way that
  // has least of them, whatever way frames take. kNoLines if there are no two.
  static SimTime least_way(const Profile& profile, const Topology& topology, unsigned hosts);

  // What a fabric's manager knows a device by.
  static uint64_t guid_of_node(unsigned index);
  static uint64_t guid_of_switch(unsigned index);

  Control control() const { return control_; }
  const Topology& topology() const { return topology_; }

  // The line that ends at "node3" or "leaf0.4"; nullptr when there is none, or no half of it here.
  const EthernetLink* line_towards(const std::string& end) const;
  EthernetLink* line_towards(const std::string& end);

  // ---- While it runs. Of what is at other ranks nothing changes; they are told the same.

  // Both directions of a link of the topology. Who is at its ends sees the carrier come and go.
  void set_up(const TopologyLink& link, bool up);

  // Other faults on the line that ends there, from its next frame on. Lines with one seed draw
  // differently.
  void set_faults(const LinkEnd& end, const FaultConfig& faults, uint64_t seed);

  // Of the line that ends there, on top of its latency, for frames that enter from now on.
  void set_extra_latency(const LinkEnd& end, uint64_t ns);

  // From now on a node hears only senders of its own group; nodes of no group are one more. No
  // group at all: everybody hears everybody. Every number is a node of the topology.
  void partition(const std::vector<std::set<unsigned>>& groups);
  const std::vector<std::set<unsigned>>& partition() const { return partition_; }

  // In the order of the topology; of other ranks' there is no more than the place.
  bool has_switch(size_t index) const { return switches_.at(index) != nullptr; }
  size_t switches() const { return switches_.size(); }
  Switch& ethernet_switch(size_t index) { return *switches_.at(index); }
  const Switch& ethernet_switch(size_t index) const { return *switches_.at(index); }

 private:
  void add_switch(const TopologySwitch& item, Scheduler& island);
  void add_link(const TopologyLink& link, const FabricFaults& faults);
  void add_line(const TopologyLink& link, uint32_t number, const FabricFaults& faults);
  bool here(const LinkEnd& end) const {
    return !part_ || part_->partition.rank_of(end) == part_->rank;
  }
  WireReceiver& receiver_at(const LinkEnd& end, uint64_t megabits_per_second);
  EthernetLink::Config config_of(const TopologyLink& link, const LinkEnd& to) const;
  void add_routes(const Routes& routes);
  Scheduler& island_of(const LinkEnd& end);

  const Profile profile_;
  const Topology topology_;
  const Nodes nodes_;
  const std::optional<FabricPart> part_;
  const Control control_;
  std::vector<std::reference_wrapper<Scheduler>> switch_islands_;
  std::vector<std::unique_ptr<Switch>> switches_;
  std::map<std::string, std::unique_ptr<EthernetLink>> lines_;  // by the name of their end
  std::vector<std::set<unsigned>> partition_;
};

}  // namespace exrnic
