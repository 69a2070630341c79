// SPDX-License-Identifier: BSD-2-Clause
#include "sim/workload/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <random>

#include "exrnic_records.h"
#include "sim/files/data_file.h"

namespace exrnic::workload {
namespace {

constexpr uint64_t kMostMessagesOfAll = 100'000'000;  // of a workload; each takes some 50 bytes
constexpr uint64_t kMostDueNs = 1'000'000'000'000'000;

constexpr uint64_t kGolden =
    0x9e3779b97f4a7c15;  // spreads neighbouring seeds (64-bit golden ratio)

// The same numbers on every platform: what the standard says of distributions leaves that open.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  uint64_t below(uint64_t end) { return engine_() % end; }
  double in_0_1() { return (static_cast<double>(engine_() >> 11) + 1) * 0x1p-53; }  // without 0

 private:
  std::mt19937_64 engine_;
};

// The messages of one node.
class Sender {
 public:
  Sender(const Traffic& traffic, Random random, std::vector<Message>& messages)
      : traffic_(traffic), random_(random), messages_(messages), at_ns_(traffic.start_ns) {}

  void send(unsigned to, uint32_t bytes, uint32_t needs = 0) {
    // By chance from the first on: else all nodes would begin at once.
    if (traffic_.poisson) at_ns_ -= std::log(random_.in_0_1()) * interval_ns(bytes);
    const auto due = static_cast<uint64_t>(std::min<double>(at_ns_, kMostDueNs + 1));
    messages_.push_back({to, bytes, due, needs});
    if (!traffic_.poisson) at_ns_ += interval_ns(bytes);
  }

  uint32_t drawn_size() {
    if (traffic_.sizes.size() == 1) return traffic_.sizes.front().bytes;
    uint64_t sum = 0;
    for (const Size& size : traffic_.sizes) sum += size.share;
    uint64_t drawn = random_.below(sum);
    for (const Size& size : traffic_.sizes) {
      if (drawn < size.share) return size.bytes;
      drawn -= size.share;
    }
    return traffic_.sizes.back().bytes;
  }

  Random& random() { return random_; }

 private:
  double interval_ns(uint32_t bytes) const {
    const auto& rate = traffic_.megabits_per_second;
    return rate ? bytes * 8e3 / static_cast<double>(*rate) : 0;
  }

  const Traffic& traffic_;
  Random random_;
  std::vector<Message>& messages_;
  double at_ns_;
};

// A permutation that leaves nobody where he is (Sattolo: one circle of all).
std::vector<unsigned> circle_of(unsigned count, Random random) {
  std::vector<unsigned> order(count);
  std::iota(order.begin(), order.end(), 0u);
  for (unsigned i = count - 1; i > 0; --i) std::swap(order[i], order[random.below(i)]);
  return order;
}

// Each member passes a part on for twice as many steps as there are others; what it passes on came
// in the step before.
void send_around(Sender& sender, const Traffic& traffic, unsigned member) {
  const unsigned count = traffic.nodes();
  const uint32_t part = std::max(1u, (traffic.sizes.front().bytes + count - 1) / count);
  const unsigned next = traffic.first_node + (member + 1) % count;
  for (unsigned step = 0; step < 2 * (count - 1); ++step) sender.send(next, part, step);
}

// Up a binary tree, when all below have sent, and down again.
void send_in_tree(Sender& sender, const Traffic& traffic, unsigned member) {
  const uint32_t bytes = traffic.sizes.front().bytes;
  std::vector<unsigned> children;
  for (const unsigned child : {2 * member + 1, 2 * member + 2})
    if (child < traffic.nodes()) children.push_back(traffic.first_node + child);
  auto heard = static_cast<uint32_t>(children.size());
  if (member != 0) sender.send(traffic.first_node + (member - 1) / 2, bytes, heard++);
  for (const unsigned child : children) sender.send(child, bytes, heard);
}

void send_at_random(Sender& sender, const Traffic& traffic, unsigned member) {
  for (uint32_t i = 0; i < traffic.messages; ++i) {
    const auto other = static_cast<unsigned>(sender.random().below(traffic.nodes() - 1));
    sender.send(traffic.first_node + other + (other >= member), sender.drawn_size());
  }
}

uint64_t messages_of(const Traffic& traffic) {
  const uint64_t nodes = traffic.nodes();
  switch (traffic.pattern) {
    case Pattern::kIncast:
      return traffic.messages * (nodes - 1);
    case Pattern::kAllToAll:
      return traffic.messages * nodes * (nodes - 1);
    case Pattern::kPermutation:
    case Pattern::kRandom:
      return traffic.messages * nodes;
    case Pattern::kRingAllReduce:
      return 2 * (nodes - 1) * nodes;
    case Pattern::kTreeAllReduce:
      break;
  }
  return 2 * (nodes - 1);
}

}  // namespace

Plan::Plan(const Workload& workload, unsigned nodes, const std::string& where) : nodes_(nodes) {
  uint64_t messages = 0;
  for (const Traffic& traffic : workload.traffic) messages += messages_of(traffic);
  if (messages > kMostMessagesOfAll) {
    throw DataFileError(fmt::format(
        "{}: it has {} messages; at most {}, so take fewer of each flow, or fewer nodes", where,
        messages, kMostMessagesOfAll));
  }
  for (unsigned i = 0; i < workload.traffic.size(); ++i) {
    add(workload.traffic[i], i, workload.seed);
    find_peers(workload.traffic[i]);
    const Traffic& traffic = workload.traffic[i];
    for (unsigned node = traffic.first_node; node <= traffic.last_node; ++node) {
      const std::vector<Message>& sent = endpoint(node).messages;
      if (sent.empty() || sent.back().at_ns <= kMostDueNs) continue;
      throw DataFileError(fmt::format(
          "{}: the last message of traffic[{}] would be due after more than {} ns; take "
          "fewer messages, or more megabits_per_second",
          where, i, kMostDueNs));
    }
  }
  for (unsigned node = 0; node < nodes_.size(); ++node) {
    if (nodes_[node].empty()) continue;
    const Endpoint& last = nodes_[node].back();
    const uint32_t count = last.first_qpn + last.qps() - kFirstQpn;
    if (count > records::kNQp - kFirstQpn) {
      throw DataFileError(fmt::format(
          "{}: node {} would need {} queue pairs, and has {}; take fewer nodes, or service ud",
          where, node, count, records::kNQp - kFirstQpn));
    }
    most_queue_pairs_ = std::max(most_queue_pairs_, count);
  }
}

void Plan::add(const Traffic& traffic, unsigned index, uint64_t seed) {
  const uint64_t own_seed = seed + kGolden * (index + 1);
  std::vector<unsigned> partner;
  if (traffic.pattern == Pattern::kPermutation)
    partner = circle_of(traffic.nodes(), Random(own_seed));
  for (unsigned member = 0; member < traffic.nodes(); ++member) {
    const unsigned node = traffic.first_node + member;
    Endpoint added;
    added.traffic = index;
    added.datagrams = traffic.service == EXRNIC_SERVICE_UD;
    Sender sender(traffic, Random(own_seed + kGolden * kGolden * (member + 1)), added.messages);
    const uint32_t bytes = traffic.sizes.front().bytes;
    switch (traffic.pattern) {
      case Pattern::kIncast:
        for (uint32_t i = 0; i < traffic.messages && node != traffic.target; ++i)
          sender.send(traffic.target, bytes);
        break;
      case Pattern::kAllToAll:
        for (uint32_t i = 0; i < traffic.messages; ++i)
          for (unsigned step = 1; step < traffic.nodes(); ++step)
            sender.send(traffic.first_node + (member + step) % traffic.nodes(), bytes);
        break;
      case Pattern::kPermutation:
        for (uint32_t i = 0; i < traffic.messages; ++i)
          sender.send(traffic.first_node + partner[member], bytes);
        break;
      case Pattern::kRandom:
        send_at_random(sender, traffic, member);
        break;
      case Pattern::kRingAllReduce:
        send_around(sender, traffic, member);
        break;
      case Pattern::kTreeAllReduce:
        send_in_tree(sender, traffic, member);
        break;
    }
    nodes_[node].push_back(std::move(added));
  }
}

// Who sends, and who hears; and which queue pairs they have for it, behind those of the traffic
// before.
void Plan::find_peers(const Traffic& traffic) {
  std::vector<std::vector<unsigned>> heard(traffic.nodes());
  for (unsigned member = 0; member < traffic.nodes(); ++member) {
    for (const Message& message : endpoint(traffic.first_node + member).messages)
      heard[message.to - traffic.first_node].push_back(traffic.first_node + member);
  }
  for (unsigned member = 0; member < traffic.nodes(); ++member) {
    const unsigned node = traffic.first_node + member;
    Endpoint& own = endpoint(node);
    own.peers = heard[member];
    for (const Message& message : own.messages) own.peers.push_back(message.to);
    std::sort(own.peers.begin(), own.peers.end());
    own.peers.erase(std::unique(own.peers.begin(), own.peers.end()), own.peers.end());
    own.sends.resize(own.peers.size());
    own.expects.resize(own.peers.size());
    const auto index_of = [&](unsigned peer) {
      return std::lower_bound(own.peers.begin(), own.peers.end(), peer) - own.peers.begin();
    };
    for (const Message& message : own.messages) ++own.sends[index_of(message.to)];
    for (const unsigned peer : heard[member]) ++own.expects[index_of(peer)];
    own.first_qpn = kFirstQpn;
    if (nodes_[node].size() == 1) continue;
    const Endpoint& before = nodes_[node][nodes_[node].size() - 2];
    own.first_qpn = before.first_qpn + before.qps();
  }
}

uint32_t Plan::qpn(unsigned traffic, unsigned node, unsigned peer) const {
  const auto own = std::find_if(nodes_.at(node).begin(), nodes_.at(node).end(),
                                [&](const Endpoint& item) { return item.traffic == traffic; });
  assert(own != nodes_.at(node).end());
  if (own->datagrams) return own->first_qpn;
  const auto found = std::lower_bound(own->peers.begin(), own->peers.end(), peer);
  assert(found != own->peers.end() && *found == peer);
  return own->first_qpn + static_cast<uint32_t>(found - own->peers.begin());
}

}  // namespace exrnic::workload
