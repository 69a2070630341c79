// SPDX-License-Identifier: BSD-2-Clause
#include "sim/testbed.h"

#include <fmt/format.h>

#include <cassert>

#include "rtl-model/systemc/clock.h"

namespace exrnic {
namespace {

unsigned pebs_of(const TestbedOptions& options) {
  return static_cast<unsigned>(options.peb_hosts.size() + options.peb_boxes.size());
}

Topology topology_of(const TestbedOptions& options) {
  if (options.topology) return *options.topology;
  const unsigned nodes = options.nodes + pebs_of(options);
  if (nodes == 1) return single_node();
  if (nodes == 2 && !options.profile.two_nodes_switched) return back_to_back();
  return star(nodes);
}

FabricFaults faults_of(const TestbedOptions& options) {
  FabricFaults faults{options.seed, options.faults, options.faults_at};
  for (const auto& [node, own] : options.faults_towards) {
    faults.towards[fmt::format("node{}", node)] = own;
  }
  return faults;
}

// One island of time for each node and each switch, or one for all.
std::unique_ptr<ScTimeline> make_timeline(const TestbedOptions& options, const Topology& topology,
                                          SimContext& context) {
  const SimTime lookahead = Fabric::least_latency(options.profile, topology);
  const bool can = lookahead > 0 && lookahead != Fabric::kNoLines;
  assert(can || options.part == nullptr);
  const unsigned threads = options.observer == nullptr ? options.threads : 1;
  const bool several = can && (threads > 1 || options.part != nullptr);
  if (!several) return std::make_unique<ScTimeline>("timeline", context);
  const auto islands = static_cast<unsigned>(topology.nodes + topology.switches.size());
  OtherRanks* const others = options.part == nullptr ? nullptr : &options.part->others;
  return std::make_unique<ScTimeline>("timeline", context, islands, threads, lookahead, others);
}

void watch_losses(trace::Observer& observer, Fabric& fabric) {
  const Topology& topology = fabric.topology();
  for (const TopologyLink& link : topology.links) {
    for (const LinkEnd& end : link.ends) {
      const std::string name = topology.name_of(end);
      const LossObserver tell = [&observer, name](Loss loss, SimTime now, const Bytes& wire) {
        observer.lost(now, name, loss, Frame{wire});
      };
      EthernetLink* const line = fabric.line_towards(name);
      if (line != nullptr && line->has_receiver()) line->observe_losses(tell);
      if (end.at_switch && fabric.has_switch(end.index))
        fabric.ethernet_switch(end.index).observe_losses(end.port, tell);
    }
  }
}

}  // namespace

// What may be refused is refused before anything is built.
Testbed::Testbed(const TestbedOptions& options, const CoreFactory& make_core) {
  const Topology topology = topology_of(options);
  assert(topology.nodes >= 1 && topology.nodes <= kMostNodes);
  const bool managed = options.fabric == Fabric::Control::kManaged;
  const bool credits = !managed && options.profile.ethernet_switch.flow_control;
  const Routes routes = usable_routes(topology, credits);
  const FabricFaults faults = faults_of(options);
  for (const auto& item : faults.towards) topology.end_named(item.first);
  SimContext::Scope scope(context_);
  timeline_ = make_timeline(options, topology, context_);
  if (options.measure_work) timeline_->measure();
  add_stations(options, topology, make_core);
  if (options.observer != nullptr)
    options.observer->start(Clock::period_of(options.profile.clock_khz), nodes());
  const TestbedPart* const part = options.part;
  std::optional<FabricPart> fabric_part;
  if (part != nullptr) fabric_part.emplace(FabricPart{part->partition, part->rank, part->border});
  fabric_ = std::make_unique<Fabric>(
      [&](unsigned index) -> Scheduler& {
        return timeline_->island((topology.nodes + index) % timeline_->islands());
      },
      options.profile, topology, routes, faults, stations_, fabric_part ? &*fabric_part : nullptr,
      options.fabric);
  if (options.observer != nullptr && options.observer->watches_losses())
    watch_losses(*options.observer, *fabric_);
}

void Testbed::add_stations(const TestbedOptions& options, const Topology& topology,
                           const CoreFactory& make_core) {
  const bool link_up = !topology.links.empty();
  assert(topology.ids.empty() ||
         (topology.ids.size() == topology.nodes && options.observer == nullptr));
  assert(topology.nodes >= pebs_of(options) && (pebs_of(options) == 0 || options.part == nullptr));
  const auto place = [&] { return static_cast<unsigned>(stations_.size()); };
  const auto island = [&]() -> Scheduler& {
    return timeline_->island(place() % timeline_->islands());
  };
  const TestbedPart* const part = options.part;
  const bool managed = options.fabric == Fabric::Control::kManaged;
  while (place() < topology.nodes - pebs_of(options)) {
    nodes_.emplace_back();
    if (part == nullptr || part->partition.nodes.at(place()) == part->rank)
      nodes_.back() = std::make_unique<Node>(
          island(), place(), managed ? EXRNIC_NODE_NONE : topology.id_of(place()),
          Fabric::guid_of_node(place()), link_up, options.profile, make_core, options.observer);
    stations_.push_back(nodes_.back().get());
  }
  const auto place_of_peb = [&] {
    return peb::Place{place(), managed ? EXRNIC_NODE_NONE : topology.id_of(place()),
                      Fabric::guid_of_node(place()), link_up};
  };
  for (const unsigned slots : options.peb_hosts) {
    peb_hosts_.push_back(std::make_unique<peb::PebHost>(island(), place_of_peb(), options.profile,
                                                        slots, options.make_peb));
    stations_.push_back(peb_hosts_.back().get());
  }
  for (const PcieDeviceFactory& make_device : options.peb_boxes) {
    peb_boxes_.push_back(std::make_unique<peb::PebBox>(island(), place_of_peb(), options.profile,
                                                       make_device, options.make_peb));
    stations_.push_back(peb_boxes_.back().get());
  }
}

// SystemC modules go before the kernel, and under it.
Testbed::~Testbed() {
  SimContext::Scope scope(context_);
  fabric_.reset();
  nodes_.clear();
  peb_hosts_.clear();
  peb_boxes_.clear();
  timeline_.reset();
}

std::unique_ptr<Scheduler::Entrance> Testbed::entrance_of_outside() {
  Scheduler* const outside = timeline_->outside();
  return outside == nullptr ? nullptr : outside->entrance();
}

void Testbed::connect_outside_host(unsigned id, HostPort* host) {
  node(id).connect_host(host, timeline_->outside());
}

void Testbed::connect_outside_host(unsigned peb_host, unsigned slot, HostPort* host) {
  peb_hosts_.at(peb_host)->connect_host(slot, host, entrance_of_outside());
}

const peb::PebBox* Testbed::peb_box_with(unsigned number) const {
  for (const auto& box : peb_boxes_)
    if (box->peb().number() == number) return box.get();
  return nullptr;
}

void Testbed::assign(unsigned peb_host, unsigned slot, std::optional<unsigned> peb_box) {
  assert(fabric_->control() == Fabric::Control::kStatic);
  peb::PebHost& host = *peb_hosts_.at(peb_host);
  release(host.slot(slot).peer());
  if (!peb_box) return;
  peb::PebBox& box = *peb_boxes_.at(*peb_box);
  release(peb::Peer{static_cast<uint16_t>(box.id()), 0});
  peb::join(host, slot, box);
}

// Of this box, whatever the group.
void Testbed::release(std::optional<peb::Peer> peer) {
  if (!peer) return;
  for (const auto& host : peb_hosts_)
    for (unsigned slot = 0; slot < host->slots(); ++slot) {
      const auto has = host->slot(slot).peer();
      if (has && has->node == peer->node) host->slot(slot).assign(std::nullopt);
    }
  for (const auto& box : peb_boxes_)
    if (box->id() == peer->node && box->slot().peer()) box->slot().assign(std::nullopt);
}

const EthernetLink* Testbed::line_towards(unsigned node) const {
  return fabric_->line_towards(fmt::format("node{}", node));
}

bool Testbed::busy() {
  agree();
  return context_.pending();
}

std::map<std::string, double> Testbed::worked_s() const {
  const Topology& topology = fabric_->topology();
  std::map<std::string, double> worked;
  if (timeline_->islands() == 1) return worked;
  for (unsigned i = 0; i < timeline_->islands(); ++i) {
    const bool is_node = i < topology.nodes;
    const double seconds = timeline_->worked_s(i);
    if (seconds > 0)
      worked[is_node ? fmt::format("node{}", i) : topology.switches[i - topology.nodes].name] =
          seconds;
  }
  return worked;
}

void Testbed::agree() {
  SimContext::Scope scope(context_);
  timeline_->agree();
}

SimTime Testbed::next_event() {
  SimContext::Scope scope(context_);
  timeline_->agree();
  return context_.next_event();
}

void Testbed::run_to(SimTime time, bool stop_when_idle) {
  agree();
  context_.run_to(time, stop_when_idle);
}

void Testbed::run_to(SimTime time) { run_to(time, false); }

void Testbed::run_for(uint64_t ns) { run_to(context_.now() + ns * kPsPerNs, false); }

void Testbed::run_while_busy(uint64_t ns) { run_to(context_.now() + ns * kPsPerNs, true); }

RunResult Testbed::run_until(const std::function<bool()>& done, uint64_t limit_ns) {
  const SimTime end = context_.now() + limit_ns * kPsPerNs;
  while (!done()) {
    if (!busy()) return RunResult::kIdle;
    if (!context_.run_next(end)) {
      run_to(end, false);
      return RunResult::kTimeLimit;
    }
  }
  return RunResult::kDone;
}

}  // namespace exrnic
