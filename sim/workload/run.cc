// SPDX-License-Identifier: BSD-2-Clause
#include "sim/workload/run.h"

#include <cstring>
#include <stdexcept>
#include <type_traits>

namespace exrnic::workload {
namespace {

constexpr uint64_t kSliceNs = 100'000;

static_assert(std::is_trivially_copyable_v<Sent>);

}  // namespace

Network network_of(const Profile& profile, const Topology& topology) {
  Network network;
  network.megabits_per_second.assign(topology.nodes, profile.ethernet.megabits_per_second);
  for (const TopologyLink& link : topology.links) {
    for (const LinkEnd& end : link.ends)
      if (!end.at_switch && link.megabits_per_second)
        network.megabits_per_second[end.index] = *link.megabits_per_second;
  }
  return network;
}

Run::Run(Testbed& testbed, const Workload& workload, const std::string& where, Ranks* ranks)
    : testbed_(testbed),
      workload_(workload),
      plan_(workload, testbed.nodes(), where),
      ranks_(ranks) {
  for (unsigned node = 0; node < testbed_.nodes(); ++node) {
    hosts_.emplace_back();
    if (!testbed_.has(node)) continue;
    hosts_.back() = std::make_unique<Host>(testbed_.node(node), workload_, plan_, where);
  }
}

bool Run::run_while_busy(const std::function<bool()>& goes_on) {
  while (testbed_.busy()) {
    const bool stop = !goes_on();
    if (ranks_ == nullptr ? stop : ranks_->any(stop)) return false;
    testbed_.run_while_busy(kSliceNs);
  }
  return true;
}

// The workload begins at a whole microsecond, behind all that setting up has left under way.
bool Run::run(const std::function<bool()>& goes_on) {
  if (!run_while_busy(goes_on)) return false;
  for (const auto& host : hosts_)
    if (host) host->require_ready();
  begin_ = (testbed_.now() / kPsPerUs + 1) * kPsPerUs;
  for (const auto& host : hosts_)
    if (host) host->start(begin_);
  return run_while_busy(goes_on);
}

// Of each endpoint of each node that is here, in their order: what it has received, and its
// messages, as they lie in memory.
Bytes Run::own_part() const {
  Bytes part;
  const auto append = [&](const void* data, size_t length) {
    const auto* bytes = static_cast<const uint8_t*>(data);
    part.insert(part.end(), bytes, bytes + length);
  };
  for (uint32_t node = 0; node < hosts_.size(); ++node) {
    if (!hosts_[node]) continue;
    append(&node, sizeof node);
    for (size_t i = 0; i < plan_.endpoints(node).size(); ++i) {
      const uint64_t received = hosts_[node]->received(i);
      const std::vector<Sent>& sent = hosts_[node]->sent(i);
      append(&received, sizeof received);
      append(sent.data(), sent.size() * sizeof sent[0]);
    }
  }
  return part;
}

void Run::add(Results& results, const Bytes& part) const {
  size_t at = 0;
  const auto take = [&](void* to, size_t length) {
    if (length > part.size() - at)
      throw std::runtime_error("ranks: a part of the results is short");
    std::memcpy(to, part.data() + at, length);
    at += length;
  };
  while (at < part.size()) {
    uint32_t node = 0;
    take(&node, sizeof node);
    for (const Endpoint& endpoint : plan_.endpoints(node)) {
      uint64_t received = 0;
      take(&received, sizeof received);
      std::vector<Sent> sent(endpoint.messages.size());
      if (!sent.empty()) take(sent.data(), sent.size() * sizeof sent[0]);
      results.add(node, endpoint, sent, received);
    }
  }
}

// Parts come by rank; a rank may have any nodes.
Results Run::results() const {
  Results results(workload_, begin_);
  if (ranks_ != nullptr) {
    for (const Bytes& part : ranks_->gather(own_part())) add(results, part);
    results.sort();
    return results;
  }
  for (unsigned node = 0; node < hosts_.size(); ++node) {
    const std::vector<Endpoint>& endpoints = plan_.endpoints(node);
    for (size_t i = 0; i < endpoints.size(); ++i)
      results.add(node, endpoints[i], hosts_[node]->sent(i), hosts_[node]->received(i));
  }
  return results;
}

}  // namespace exrnic::workload
