// SPDX-License-Identifier: BSD-2-Clause
// A whole simulation: nodes, the Ethernet between them, and the clock. The simulator's main() and
// every test that crosses folders build theirs here. Any number may live in one process.
//
// A node has an RNIC, or a PEB: a host with slots, or a box with a device. In the network those
// with RNICs come first, then hosts, then boxes.
//
// Unless a topology is given, two nodes are joined back to back, or by a switch if the profile says
// so; more by one switch. One node alone has no link. Faults strike on the last line towards a
// node, so that each frame meets them once, and on any other line that has faults of its own.
//
// Threads: a testbed and everything in it belong to one thread; see TestbedOptions::threads about
// those of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rtl-model/ref/peb/peb.h"
#include "sim/ethernet/border.h"
#include "sim/ethernet/ethernet_link.h"
#include "sim/ethernet/faults.h"
#include "sim/node/node.h"
#include "sim/peb/peb_node.h"
#include "sim/profile/profile.h"
#include "sim/time/other_ranks.h"
#include "sim/time/sc_timeline.h"
#include "sim/time/sim_context.h"
#include "sim/topology/fabric.h"
#include "sim/topology/partition.h"
#include "sim/topology/topology.h"
#include "sim/trace/observer.h"

namespace exrnic {

// One of several processes, each with some of the nodes and switches. All outlive the testbed.
struct TestbedPart {
  const Partition& partition;
  unsigned rank = 0;
  Border& border;
  OtherRanks& others;
};

struct TestbedOptions {
  Profile profile;
  unsigned nodes = 2;  // with RNICs: node ids 0 to nodes - 1; at most kMostNodes of all kinds
  std::vector<unsigned> peb_hosts;           // slots of each; at most EXRNIC_PEB_PORTS
  std::vector<PcieDeviceFactory> peb_boxes;  // with a device each
  peb::PebFactory make_peb = peb::make_ref_peb;
  std::optional<Topology> topology;  // its number of nodes, of all kinds, counts then
  // Managed: nodes have no identifiers, switches no routes and PEBs no peers before a manager has
  // been there (FABRIC.md).
  Fabric::Control fabric = Fabric::Control::kStatic;
  uint64_t seed = 1;                               // of all faults
  FaultConfig faults;                              // on every direction
  std::map<unsigned, FaultConfig> faults_towards;  // node id: instead of `faults`
  std::map<std::string, FaultConfig> faults_at;    // the same for any line, by the name of its end
  trace::Observer* observer = nullptr;             // of everything; must outlive the testbed

  // That simulate at the same time, each some of the nodes and switches; the results are the same.
  // With more than one, make_core's cores share nothing; hosts and observers of a node are called
  // in its thread while others are in theirs; and run_until() asks a little later. An observer, and
  // lines without latency, leave one.
  unsigned threads = 1;

  // Only this part of it is made; nullptr: all. The results are the same. Then all ranks run their
  // testbeds to the same times, ask the same of busy() and next_event(), and are done at the same
  // time (run_until()). Its observer is told of this part; what one node tells of one moment may
  // come after what another tells of a later one, by less than the shortest latency of a line. No
  // line without latency.
  const TestbedPart* part = nullptr;

  bool measure_work = false;  // for worked_s(); some 50 ns for each node that does anything
};

enum class RunResult {
  kDone,       // the predicate holds
  kIdle,       // it does not, and nothing is in flight: only the host can change that
  kTimeLimit,  // it does not, and the limit is reached
};

class Testbed {
 public:
  // Throws DataFileError if the topology is none that frames can use (see compute_routes() and
  // refuse_deadlock()), or has no such line as a fault is to strike.
  Testbed(const TestbedOptions& options, const CoreFactory& make_core);
  ~Testbed();

  // With RNICs.
  unsigned nodes() const { return static_cast<unsigned>(nodes_.size()); }
  // Whether it is in this part.
  bool has(unsigned id) const { return nodes_.at(id) != nullptr; }
  Node& node(unsigned id) { return *nodes_.at(id); }
  const Node& node(unsigned id) const { return *nodes_.at(id); }

  // Others.
  unsigned peb_hosts() const { return static_cast<unsigned>(peb_hosts_.size()); }
  unsigned peb_boxes() const { return static_cast<unsigned>(peb_boxes_.size()); }
  peb::PebHost& peb_host(unsigned index) { return *peb_hosts_.at(index); }
  const peb::PebHost& peb_host(unsigned index) const { return *peb_hosts_.at(index); }
  peb::PebBox& peb_box(unsigned index) { return *peb_boxes_.at(index); }
  const peb::PebBox& peb_box(unsigned index) const { return *peb_boxes_.at(index); }

  // The box with this node identifier; nullptr if there is none.
  const peb::PebBox* peb_box_with(unsigned number) const;

  // Which box's device is in a slot from now on; nobody's: std::nullopt. It is taken from the slot
  // that it was in, and whose device was there has no host any more. In a managed fabric its
  // manager says that.
  void assign(unsigned peb_host, unsigned slot, std::optional<unsigned> peb_box);

  // For hosts outside of the simulation, which may know of each other by other ways: with several
  // threads, too, writes, interrupts and answers of loads come in the order of simulated time, in
  // the thread that runs the testbed. Reads come in the node's.
  void connect_outside_host(unsigned id, HostPort* host);
  void connect_outside_host(unsigned peb_host, unsigned slot, HostPort* host);

  Fabric& fabric() { return *fabric_; }
  const Fabric& fabric() const { return *fabric_; }
  // The last line towards a node of the topology; nullptr when it has none.
  const EthernetLink* line_towards(unsigned node) const;

  SimTime now() const { return context_.now(); }
  uint64_t now_ns() const { return context_.now() / kPsPerNs; }

  // True while anything is in flight: a packet, a timer, a core that is not idle.
  bool busy();
  // The same as when the last run ended. Ranks need not ask each other.
  bool was_busy() const { return context_.pending(); }

  // Threads that simulate.
  unsigned threads() const { return timeline_->threads(); }

  // What has happened: actions of the schedulers that have run. The same with any number of
  // threads.
  uint64_t actions() const { return timeline_->actions(); }

  // Seconds of wall-clock time in which each node and switch that is here was simulated, by its
  // name. Empty if that is not measured, or if they do not run in windows.
  std::map<std::string, double> worked_s() const;

  // When something happens next; kNothing if nothing is in flight.
  static constexpr SimTime kNothing = ~SimTime{0};
  SimTime next_event();

  // Simulates what is due up to and including `time`, at which it then stands.
  void run_to(SimTime time);

  // Simulates exactly `ns`.
  void run_for(uint64_t ns);

  // Simulates `ns`, or less if everything comes to rest before.
  void run_while_busy(uint64_t ns);

  // Simulates until `done()` holds, asking after each point in time at which anything happened, for
  // at most `limit_ns`. With several threads: after all that happens within the least latency of a
  // line from there.
  RunResult run_until(const std::function<bool()>& done, uint64_t limit_ns);

 private:
  void add_stations(const TestbedOptions& options, const Topology& topology,
                    const CoreFactory& make_core);
  void release(std::optional<peb::Peer> peer);
  std::unique_ptr<Scheduler::Entrance> entrance_of_outside();
  void agree();
  void run_to(SimTime time, bool stop_when_idle);

  SimContext context_;
  std::unique_ptr<ScTimeline> timeline_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<peb::PebHost>> peb_hosts_;
  std::vector<std::unique_ptr<peb::PebBox>> peb_boxes_;
  std::vector<Station*> stations_;  // of the topology; nullptr: of another rank
  std::unique_ptr<Fabric> fabric_;
};

}  // namespace exrnic
