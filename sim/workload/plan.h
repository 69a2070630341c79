// SPDX-License-Identifier: BSD-2-Clause
// What a workload comes to: the messages of each node, one after the other, and the queue pairs
// that they take. It is the same for whoever makes it, whatever he simulates of the network.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/workload/workload.h"

namespace exrnic::workload {

struct Message {
  uint32_t to = 0;
  uint32_t bytes = 0;
  uint64_t at_ns = 0;  // after the workload's begin; not sooner
  uint32_t needs = 0;  // messages of the same traffic that have come here before
};

// What one node does in one traffic.
struct Endpoint {
  unsigned traffic = 0;
  std::vector<Message> messages;
  std::vector<unsigned> peers;    // whom it sends to, or hears; sorted
  std::vector<uint32_t> sends;    // to each peer
  std::vector<uint32_t> expects;  // from each peer
  bool datagrams = false;         // one queue pair for all peers, not one for each
  uint32_t first_qpn = 0;

  uint32_t qps() const { return datagrams ? 1 : static_cast<uint32_t>(peers.size()); }
};

class Plan {
 public:
  static constexpr uint32_t kFirstQpn = 1;

  // Throws DataFileError when a node would need more than it has; `where` names the file.
  Plan(const Workload& workload, unsigned nodes, const std::string& where);

  const std::vector<Endpoint>& endpoints(unsigned node) const { return nodes_.at(node); }

  // Of all nodes, the most that one has.
  uint32_t most_queue_pairs() const { return most_queue_pairs_; }

  // Of the queue pair of `node` that talks to `peer` in this traffic.
  uint32_t qpn(unsigned traffic, unsigned node, unsigned peer) const;

 private:
  void add(const Traffic& traffic, unsigned index, uint64_t seed);
  void find_peers(const Traffic& traffic);
  Endpoint& endpoint(unsigned node) { return nodes_[node].back(); }

  std::vector<std::vector<Endpoint>> nodes_;
  uint32_t most_queue_pairs_ = 0;
};

}  // namespace exrnic::workload
