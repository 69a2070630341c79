// SPDX-License-Identifier: BSD-2-Clause
#include "cluster_program.h"

#include <algorithm>
#include <cstdio>
#include <stdexcept>

namespace exrnic {

namespace {

using vl::Bytes;
using vl::ClusterOperation;
using vl::ConstBytes;
using vl::Received;

using Buffer = std::vector<uint8_t>;

Buffer MessageOf(unsigned node, size_t bytes) {
  Buffer message(bytes);
  for (size_t i = 0; i < bytes; ++i)
    message[i] = static_cast<uint8_t>(i * (2 * node + 3) + (i >> 8) + (i >> 16) + node);
  return message;
}

class ClusterProgram {
 public:
  explicit ClusterProgram(const ClusterArguments& arguments)
      : arguments_(arguments), cluster_(arguments.options) {
    cluster_.Connect();
  }

  void Run() {
    for (const size_t bytes : arguments_.sizes)
      for (const std::string& name : arguments_.operations) RunPatterns(bytes, name);
    cluster_.Barrier();
    cluster_.Leave();
  }

 private:
  void RunPatterns(size_t bytes, const std::string& name) {
    const ClusterOperation operation = vl::ClusterOperationOf(name);
    const unsigned self = cluster_.self(), nodes = cluster_.nodes();
    mine_ = MessageOf(self, bytes);
    std::vector<Buffer> buffers(nodes, Buffer(std::max<size_t>(bytes, 1)));
    const std::vector<Bytes> into(buffers.begin(), buffers.end());
    // Ahead, so that the rate is that of the transfers.
    std::vector<vl::Registration> registrations;
    for (const Bytes& buffer : into) registrations.push_back(cluster_.Register(buffer));
    if (bytes != 0) registrations.push_back(cluster_.RegisterToSend(mine_));
    for (unsigned round = 0; round < arguments_.rounds; ++round) {
      for (const std::string& pattern : arguments_.patterns) {
        for (Buffer& buffer : buffers) std::fill(buffer.begin(), buffer.end(), 0);
        const uint64_t begin = Begin();
        const std::vector<Received> received = RunPattern(pattern, operation, into);
        unsigned senders = 0;
        for (unsigned node = 0; node < nodes; ++node) {
          if (node == self || !SendsHere(pattern, node)) continue;
          Compare(received[node], buffers[node], node);
          ++senders;
        }
        if (senders != 0) Report(pattern, name, bytes, senders * bytes, begin, received);
      }
    }
  }

  bool SendsHere(const std::string& pattern, unsigned from) const {
    if (pattern == "one_to_many") return from == 0;
    return pattern == "many_to_many" || cluster_.self() == 0;
  }

  // What came of each node; of the others nothing.
  std::vector<Received> RunPattern(const std::string& pattern, ClusterOperation operation,
                                   const std::vector<Bytes>& into) {
    const unsigned self = cluster_.self();
    std::vector<Received> received(cluster_.nodes());
    if (pattern == "many_to_many") return cluster_.ManyToMany(operation, mine_, into, self);
    if (pattern == "one_to_many" && self == 0) {
      cluster_.OneToManySend(operation, mine_, self);
    } else if (pattern == "one_to_many") {
      received[0] = cluster_.OneToManyReceive(0, into[0]);
    } else if (self == 0) {
      return cluster_.ManyToOneReceive(into);
    } else {
      cluster_.ManyToOneSend(0, operation, mine_, self);
    }
    return received;
  }

  // All are here: the device's time.
  uint64_t Begin() {
    cluster_.Barrier();
    const unsigned next = (cluster_.self() + 1) % cluster_.nodes();
    const unsigned last = (cluster_.self() + cluster_.nodes() - 1) % cluster_.nodes();
    vl::Transfer receive = cluster_.Receive(last, Bytes());
    vl::Transfer send = cluster_.Send(next, ClusterOperation::kSend, ConstBytes());
    send.Wait();
    return receive.Wait().timestamp_ns;
  }

  void Compare(const Received& received, const Buffer& buffer, unsigned node) {
    const Buffer expected = MessageOf(node, mine_.size());
    if (received.bytes == expected.size() && (!received.immediate || *received.immediate == node) &&
        std::equal(expected.begin(), expected.end(), buffer.begin()))
      return;
    throw std::runtime_error("the message of " + cluster_.Name(node) + " is not what it sent");
  }

  void Report(const std::string& pattern, const std::string& operation, size_t bytes, size_t sum,
              uint64_t begin, const std::vector<Received>& received) {
    uint64_t end = begin + 1;
    for (const Received& each : received) end = std::max(end, each.timestamp_ns);
    printf(
        "@exrnic {\"pattern\":\"%s\",\"operation\":\"%s\",\"nodes\":%u,\"bytes\":%zu,"
        "\"verified\":%zu,\"mb_per_s\":%.1f}\n",
        pattern.c_str(), operation.c_str(), cluster_.nodes(), bytes, sum,
        1e3 * static_cast<double>(sum) / static_cast<double>(end - begin));
    fflush(stdout);
  }

  const ClusterArguments arguments_;
  vl::Cluster cluster_;
  Buffer mine_;
};

}  // namespace

void RunClusterProgram(const ClusterArguments& arguments) { ClusterProgram(arguments).Run(); }

}  // namespace exrnic
