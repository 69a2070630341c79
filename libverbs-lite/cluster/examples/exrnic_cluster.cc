// SPDX-License-Identifier: BSD-2-Clause
// exrnic-cluster: all patterns of exrnic/cluster.hpp by all operations, every byte compared, with
// the rate at which this node received.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "exrnic/cluster.hpp"
#include "output.h"
#include "verbs_objects.h"

namespace {

using vl::Bytes;
using vl::ClusterOperation;
using vl::ConstBytes;
using vl::Received;

using Buffer = std::vector<uint8_t>;

constexpr char kManyToMany[] = "many_to_many";
constexpr char kOneToMany[] = "one_to_many";
constexpr char kManyToOne[] = "many_to_one";

struct Arguments {
  vl::ClusterOptions options;
  std::vector<size_t> sizes = {1, 4096, size_t{1} << 20};
  std::vector<std::string> operations = {"send", "send_with_imm", "write", "write_with_imm"};
  std::vector<std::string> patterns = {kManyToMany, kOneToMany, kManyToOne};
  unsigned rounds = 1;
};

Buffer MessageOf(unsigned node, size_t bytes) {
  Buffer message(bytes);
  for (size_t i = 0; i < bytes; ++i)
    message[i] = static_cast<uint8_t>(i * (2 * node + 3) + (i >> 8) + (i >> 16) + node);
  return message;
}

class ClusterProgram {
 public:
  explicit ClusterProgram(const Arguments& arguments)
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
    mine_ = MessageOf(cluster_.self(), bytes);
    buffers_.assign(cluster_.nodes(), Buffer(std::max<size_t>(bytes, 1)));
    const std::vector<Bytes> into(buffers_.begin(), buffers_.end());
    // Ahead, so that the rate is that of the transfers.
    std::vector<vl::Registration> registrations;
    for (const Bytes& buffer : into) registrations.push_back(cluster_.Register(buffer));
    for (unsigned round = 0; round < arguments_.rounds; ++round) {
      if (Wanted(kManyToMany)) ManyToMany(operation, name, into);
      if (Wanted(kOneToMany)) OneToMany(operation, name, into);
      if (Wanted(kManyToOne)) ManyToOne(operation, name, into);
    }
  }

  bool Wanted(const char* pattern) const {
    const std::vector<std::string>& wanted = arguments_.patterns;
    return std::find(wanted.begin(), wanted.end(), pattern) != wanted.end();
  }

  void ManyToMany(ClusterOperation operation, const std::string& name,
                  const std::vector<Bytes>& into) {
    const unsigned self = cluster_.self(), nodes = cluster_.nodes();
    Clear();
    const uint64_t begin = Begin();
    const std::vector<Received> all = cluster_.ManyToMany(operation, mine_, into, self);
    for (unsigned node = 0; node < nodes; ++node)
      if (node != self) Compare(all[node], buffers_[node], node);
    Report(kManyToMany, name, mine_.size(), (nodes - 1) * mine_.size(), begin, all);
  }

  void OneToMany(ClusterOperation operation, const std::string& name,
                 const std::vector<Bytes>& into) {
    Clear();
    const uint64_t begin = Begin();
    if (cluster_.self() == 0) {
      cluster_.OneToManySend(operation, mine_, cluster_.self());
      return;
    }
    const Received received = cluster_.OneToManyReceive(0, into[0]);
    Compare(received, buffers_[0], 0);
    Report(kOneToMany, name, mine_.size(), mine_.size(), begin, {received});
  }

  void ManyToOne(ClusterOperation operation, const std::string& name,
                 const std::vector<Bytes>& into) {
    const unsigned nodes = cluster_.nodes();
    Clear();
    const uint64_t begin = Begin();
    if (cluster_.self() != 0) {
      cluster_.ManyToOneSend(0, operation, mine_, cluster_.self());
      return;
    }
    const std::vector<Received> gathered = cluster_.ManyToOneReceive(into);
    for (unsigned node = 1; node < nodes; ++node) Compare(gathered[node], buffers_[node], node);
    Report(kManyToOne, name, mine_.size(), (nodes - 1) * mine_.size(), begin, gathered);
  }

  void Clear() {
    for (Buffer& buffer : buffers_) std::fill(buffer.begin(), buffer.end(), 0);
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

  void Report(const char* pattern, const std::string& operation, size_t bytes, size_t sum,
              uint64_t begin, const std::vector<Received>& received) {
    uint64_t end = begin + 1;
    for (const Received& each : received) end = std::max(end, each.timestamp_ns);
    printf(
        "@exrnic {\"pattern\":\"%s\",\"operation\":\"%s\",\"nodes\":%u,\"bytes\":%zu,"
        "\"verified\":%zu,\"mb_per_s\":%.1f}\n",
        pattern, operation.c_str(), cluster_.nodes(), bytes, sum,
        1e3 * static_cast<double>(sum) / static_cast<double>(end - begin));
    fflush(stdout);
  }

  const Arguments arguments_;
  vl::Cluster cluster_;
  Buffer mine_;
  std::vector<Buffer> buffers_;
};

int RunClusterProgram(const Arguments& arguments) {
  try {
    exrnic::RaiseMemlockLimit();
    ClusterProgram(arguments).Run();
    exrnic::FinishOutput(stdout);
  } catch (const std::exception& error) {
    fprintf(stderr, "exrnic-cluster: %s\n", error.what());
    return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  unsigned seconds = 60;
  CLI::App app(
      "Runs many-to-many, one-to-many and many-to-one by every operation among nodes that know "
      "each\n"
      "other's addresses, and compares every byte. mb_per_s is what this node received, by the "
      "time\n"
      "of its device, from when all nodes were ready.");
  app.add_option("--node", arguments.options.self, "Which of the addresses is this node's")
      ->required();
  app.add_option("--addresses", arguments.options.addresses, "HOST:PORT of each node")
      ->delimiter(',')
      ->required();
  app.add_option("--sizes", arguments.sizes, "Bytes of messages")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--operations", arguments.operations, "How they go")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--patterns", arguments.patterns, "Which of them")
      ->delimiter(',')
      ->check(CLI::IsMember({kManyToMany, kOneToMany, kManyToOne}))
      ->capture_default_str();
  app.add_option("--rounds", arguments.rounds, "Times that each is done")
      ->check(CLI::Range(1u, 1000u))
      ->capture_default_str();
  app.add_option("--seconds", seconds, "Limit of each wait")
      ->check(CLI::Range(1u, 3600u))
      ->capture_default_str();
  app.add_option("--device", arguments.options.device, exrnic::kDeviceHelp);
  CLI11_PARSE(app, argc, argv);
  arguments.options.limit = std::chrono::seconds(seconds);
  arguments.options.meet_limit = std::chrono::seconds(seconds);
  return RunClusterProgram(arguments);
}
