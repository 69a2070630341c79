// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/random_push.h"

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <sstream>
#include <vector>

#include "tests/support/random_wqe.h"
#include "tests/support/rnic_driver.h"

namespace exrnic::testing {
namespace {

constexpr uint32_t kPage = 3;
constexpr uint32_t kCqn = 5;
constexpr uint32_t kCqLog = 9;  // all completions of a round
constexpr uint32_t kSqLog = 6;
constexpr uint64_t kLimitNs = 200'000'000;

TestbedOptions options_of(std::mt19937_64& random, uint64_t seed) {
  TestbedOptions options;
  options.profile = load_profile(random() % 2 ? "dc-25g" : "ntb-gen3x8");
  options.seed = seed;
  if (random() % 2 == 0) options.faults.rates = {0.01, 0.01, 0.01, 0.01, 0.01};
  return options;
}

// What one node has, and what it has seen.
struct Node {
  Node(Testbed& testbed, unsigned id)
      : rnic(testbed, id), cq(rnic.create_cq(kCqn, kPage, kCqLog)) {}

  RnicDriver rnic;
  Queue cq;
  std::array<QueuePair, kPairs> qps;
  std::array<Region, kPairs> sinks;
  std::array<Region, kDomains> sources;
  std::map<uint32_t, unsigned> completed;  // by qpn: slots, since the last reset
};

class Program {
 public:
  Program(uint64_t seed, const CoreFactory& make_core)
      : random_(seed),
        testbed_(options_of(random_, seed), make_core),
        nodes_{Node(testbed_, 0), Node(testbed_, 1)} {
    const uint32_t mtu = EXRNIC_MTU_MIN + 16 * (random_() % 241);
    for (Node& node : nodes_) {
      node.rnic.write_register(EXRNIC_REG_MTU, mtu);
      prepare(node);
    }
    for (unsigned pair = 0; pair < kPairs; ++pair) connect(pair);
  }

  std::string run(unsigned operations) {
    for (unsigned posted = 0; posted < operations;) posted += round();
    report_counters();
    report_memory();
    return facts_.str();
  }

 private:
  static uint32_t qpn_of(unsigned node, unsigned pair) { return 10 + 20 * node + pair; }

  void prepare(Node& node) {
    for (unsigned pair = 0; pair < kPairs; ++pair) {
      const uint32_t pd = domain_of(pair);
      node.qps[pair] =
          node.rnic.create_qp(qpn_of(node.rnic.node(), pair), kPage, pd, node.cq, kSqLog);
      node.sinks[pair] =
          node.rnic.create_region(sink_stag(pair), pd, sink_base(pair), kRegionBytes,
                                  EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_REMOTE_WRITE);
    }
    for (unsigned domain = 0; domain < kDomains; ++domain) {
      node.sources[domain] = node.rnic.create_region(source_stag(domain), domain_of(domain),
                                                     source_base(domain), kRegionBytes, 0);
      Bytes data(kRegionBytes);
      for (auto& byte : data) byte = static_cast<uint8_t>(random_());
      node.rnic.write(node.sources[domain], 0, data);
    }
  }

  void connect(unsigned pair) {
    for (unsigned id : {0u, 1u}) {
      nodes_[id].rnic.connect(nodes_[id].qps[pair], 1 - id, qpn_of(1 - id, pair));
      nodes_[id].qps[pair].sq.index = 0;
      nodes_[id].completed[qpn_of(id, pair)] = 0;
    }
  }

  unsigned round() {
    unsigned posted = 0;
    for (Node& node : nodes_)
      if (random_() % 2) arm(node);
    for (unsigned pair = 0; pair < kPairs; ++pair) {
      const unsigned sides = 1 + random_() % 3;  // bit 0: left posts, bit 1: right
      for (unsigned id : {0u, 1u})
        if (sides >> id & 1) posted += post_batch(id, pair, sides != 3);
    }
    for (unsigned id : {0u, 1u})
      for (unsigned pair = 0; pair < kPairs; ++pair) await(id, pair);
    if (testbed_.run_until([] { return false; }, kLimitNs) != RunResult::kIdle)
      throw std::runtime_error("waited in vain for both nodes to come to rest");
    for (unsigned pair = 0; pair < kPairs; ++pair) recover(pair);
    return posted;
  }

  // All is at rest and taken: the next completion fires, once. With a doorbell that leaves one
  // behind, it fires at once and no more.
  void arm(Node& node) {
    const unsigned left_behind = node.cq.index > 0 ? random_() % 2 : 0;
    node.rnic.store_doorbell(kPage, EXRNIC_DOORBELL_CQ_ARM, kCqn, node.cq.index - left_behind);
    testbed_.run_until([] { return false; }, kLimitNs);
  }

  unsigned post_batch(unsigned id, unsigned pair, bool alone) {
    Node& node = nodes_[id];
    const Batch batch = random_batch(random_, pair, alone);
    for (const exrnic_wqe& wqe : batch) node.rnic.put(node.qps[pair], wqe);
    node.rnic.ring(node.qps[pair]);
    return static_cast<unsigned>(batch.size());
  }

  // Completions come in the order of the queue; the last work request of a batch is signaled.
  void await(unsigned id, unsigned pair) {
    Node& node = nodes_[id];
    const uint32_t qpn = qpn_of(id, pair);
    while (node.completed[qpn] != node.qps[pair].sq.index) {
      const exrnic_cqe cqe = node.rnic.wait(node.cq, kPage, kLimitNs);
      node.completed[cqe.qpn] = cqe.wqe_index + 1;
      completions_[{id, cqe.qpn}].push_back(cqe);
    }
  }

  void recover(unsigned pair) {
    bool error = false;
    for (unsigned id : {0u, 1u}) {
      const uint32_t qpn = qpn_of(id, pair);
      const exrnic_mbox_query_qp now = nodes_[id].rnic.query(qpn);
      for (const exrnic_cqe& cqe : completions_[{id, qpn}]) report(id, cqe);
      completions_[{id, qpn}].clear();
      facts_ << "node " << id << " qp " << qpn << " state " << now.state << " producer "
             << now.sq_producer << " consumer " << now.sq_consumer << '\n';
      error |= now.state == EXRNIC_QP_STATE_ERROR;
    }
    if (!error) return;
    for (unsigned id : {0u, 1u})
      if (nodes_[id].rnic.modify(qpn_of(id, pair), EXRNIC_QP_STATE_RESET) != EXRNIC_MBOX_STATUS_OK)
        throw std::runtime_error("a queue pair could not be reset");
    connect(pair);
  }

  // How much of a flushed work request the core had read is a matter of time.
  void report(unsigned id, const exrnic_cqe& cqe) {
    const bool flushed = cqe.status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR;
    facts_ << "node " << id << " qp " << cqe.qpn << " slot " << cqe.wqe_index << " opcode "
           << unsigned{cqe.opcode} << " status " << unsigned{cqe.status} << " bytes "
           << (flushed ? 0 : cqe.byte_length) << " detail " << cqe.detail << '\n';
  }

  void report_counters() {
    static constexpr const char* kNames[] = EXRNIC_COUNTER_NAMES;
    for (Node& node : nodes_)
      for (const auto counter :
           {EXRNIC_COUNTER_SEGMENTS_PLACED, EXRNIC_COUNTER_CQES, EXRNIC_COUNTER_CQ_OVERRUNS,
            EXRNIC_COUNTER_WQES, EXRNIC_COUNTER_WQE_ERRORS, EXRNIC_COUNTER_TERMINATES_TX,
            EXRNIC_COUNTER_TERMINATES_RX, EXRNIC_COUNTER_DOORBELLS,
            EXRNIC_COUNTER_DOORBELLS_REFUSED, EXRNIC_COUNTER_DMA_READ_ERRORS,
            EXRNIC_COUNTER_PEERS_DEAD, EXRNIC_COUNTER_MSIX})
        facts_ << "node " << node.rnic.node() << ' ' << kNames[counter] << ' '
               << node.rnic.counter(counter) << '\n';
  }

  void report_memory() {
    for (Node& node : nodes_) {
      for (unsigned pair = 0; pair < kPairs; ++pair) {
        const Bytes bytes = node.rnic.read(node.sinks[pair], 0, kRegionBytes);
        uint64_t hash = 14695981039346656037u;  // FNV-1a
        for (const uint8_t byte : bytes) hash = (hash ^ byte) * 1099511628211u;
        facts_ << "node " << node.rnic.node() << " sink " << pair << " hash " << hash << '\n';
      }
      facts_ << "node " << node.rnic.node() << " refused reads " << node.rnic.host().refused_reads()
             << " writes " << node.rnic.host().refused_writes().size() << '\n';
    }
  }

  std::mt19937_64 random_;
  Testbed testbed_;
  std::array<Node, 2> nodes_;
  std::map<std::pair<unsigned, uint32_t>, std::vector<exrnic_cqe>> completions_;  // of this round
  std::ostringstream facts_;
};

}  // namespace

std::string run_random_pushes(uint64_t seed, unsigned operations, const CoreFactory& make_core) {
  return Program(seed, make_core).run(operations);
}

}  // namespace exrnic::testing
