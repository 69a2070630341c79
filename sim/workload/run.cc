// SPDX-License-Identifier: BSD-2-Clause
#include "sim/workload/run.h"

namespace exrnic::workload {
namespace {

constexpr uint64_t kSliceNs = 100'000;

}  // namespace

Network network_of(const Profile& profile, const Topology& topology, bool atomics) {
  Network network;
  network.atomics = atomics;
  network.megabits_per_second.assign(topology.nodes, profile.ethernet.megabits_per_second);
  for (const TopologyLink& link : topology.links) {
    for (const LinkEnd& end : link.ends)
      if (!end.at_switch && link.megabits_per_second)
        network.megabits_per_second[end.index] = *link.megabits_per_second;
  }
  return network;
}

Run::Run(Testbed& testbed, const Workload& workload, const std::string& where)
    : testbed_(testbed), workload_(workload), plan_(workload, testbed.nodes(), where) {
  for (unsigned node = 0; node < testbed_.nodes(); ++node)
    hosts_.push_back(std::make_unique<Host>(testbed_.node(node), workload_, plan_, where));
}

bool Run::run_while_busy(const std::function<bool()>& goes_on) {
  while (testbed_.busy()) {
    if (!goes_on()) return false;
    testbed_.run_while_busy(kSliceNs);
  }
  return true;
}

// The workload begins at a whole microsecond, behind all that setting up has left under way.
bool Run::run(const std::function<bool()>& goes_on) {
  if (!run_while_busy(goes_on)) return false;
  for (const auto& host : hosts_) host->require_ready();
  begin_ = (testbed_.now() / kPsPerUs + 1) * kPsPerUs;
  for (const auto& host : hosts_) host->start(begin_);
  return run_while_busy(goes_on);
}

Results Run::results() const {
  Results results(workload_, begin_);
  for (unsigned node = 0; node < hosts_.size(); ++node) {
    const std::vector<Endpoint>& endpoints = plan_.endpoints(node);
    for (size_t i = 0; i < endpoints.size(); ++i)
      results.add(node, endpoints[i], hosts_[node]->sent(i), hosts_[node]->received(i));
  }
  return results;
}

}  // namespace exrnic::workload
