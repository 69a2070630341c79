// SPDX-License-Identifier: BSD-2-Clause
#include "sim/testbed.h"

#include <cassert>

#include "exrnic_hw.h"

namespace exrnic {
namespace {

// Each direction has a generator of its own, so that traffic on one moves no fault on another. The
// odd factor spreads neighbouring seeds over the whole range (the 64-bit golden ratio).
uint64_t seed_towards(uint64_t seed, unsigned node) {
  constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;
  return seed + kGolden * (node + 1);
}

const FaultConfig& faults_towards(const TestbedOptions& options, unsigned node) {
  const auto own = options.faults_towards.find(node);
  return own == options.faults_towards.end() ? options.faults : own->second;
}

}  // namespace

Testbed::Testbed(const TestbedOptions& options, const CoreFactory& make_core)
    : profile_(options.profile) {
  assert(options.nodes >= 1 && options.nodes <= EXRNIC_MAX_NODE);
  SimContext::Scope scope(context_);
  scheduler_ = std::make_unique<ScScheduler>("scheduler");
  const bool link_up = options.nodes >= 2;
  for (unsigned id = 0; id < options.nodes; ++id) {
    nodes_.push_back(std::make_unique<Node>(*scheduler_, id, link_up, profile_, make_core));
  }
  towards_.resize(options.nodes);
  if (options.nodes == 2 && !profile_.two_nodes_switched) {
    join_back_to_back(options);
  } else if (options.nodes >= 2) {
    join_by_switch(options);
  }
}

// SystemC modules go before the kernel, and under it.
Testbed::~Testbed() {
  SimContext::Scope scope(context_);
  lines_.clear();
  switch_.reset();
  nodes_.clear();
  scheduler_.reset();
}

EthernetLink& Testbed::add_line(WireReceiver& to, const FaultConfig& faults, uint64_t seed) {
  lines_.push_back(
      std::make_unique<EthernetLink>(*scheduler_, profile_.ethernet, faults, seed, to));
  return *lines_.back();
}

void Testbed::join_back_to_back(const TestbedOptions& options) {
  for (unsigned id = 0; id < nodes(); ++id) {
    towards_[id] =
        &add_line(node(id).mac(), faults_towards(options, id), seed_towards(options.seed, id));
    node(1 - id).mac().connect(*towards_[id]);
  }
}

void Testbed::join_by_switch(const TestbedOptions& options) {
  switch_ = std::make_unique<Switch>(*scheduler_, profile_.ethernet_switch);
  for (unsigned id = 0; id < nodes(); ++id) {
    towards_[id] =
        &add_line(node(id).mac(), faults_towards(options, id), seed_towards(options.seed, id));
    WireReceiver& port = switch_->add_port(mac_address(id), *towards_[id]);
    node(id).mac().connect(add_line(port, FaultConfig{}, 0));
  }
}

const EthernetLink* Testbed::line_towards(unsigned id) const { return towards_.at(id); }

void Testbed::run_for(uint64_t ns) { context_.run_to(context_.now() + ns * kPsPerNs, false); }

void Testbed::run_while_busy(uint64_t ns) { context_.run_to(context_.now() + ns * kPsPerNs, true); }

RunResult Testbed::run_until(const std::function<bool()>& done, uint64_t limit_ns) {
  const SimTime end = context_.now() + limit_ns * kPsPerNs;
  while (!done()) {
    if (!busy()) return RunResult::kIdle;
    if (!context_.run_next(end)) return RunResult::kTimeLimit;
  }
  return RunResult::kDone;
}

}  // namespace exrnic
