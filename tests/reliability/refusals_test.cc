// SPDX-License-Identifier: BSD-2-Clause
// Nodes that refuse nearly all that they send to each other: nobody waits for ever, what is done
// later goes as ever, and a message that finds no receive at first arrives once.
#include <utility>

#include "tests/support/cluster.h"
#include "tests/support/exchange.h"
#include "tests/support/faulty_core.h"
#include "tests/support/test_cores.h"

namespace exrnic::testing {
namespace {

constexpr unsigned kNodes = 5;
constexpr uint32_t kLength = 48 << 10;
constexpr uint64_t kLimitNs = 60'000'000;

struct Storm : Cluster {
  explicit Storm(unsigned pairs)
      : Cluster(options_on("dc-25g", "star:5"), test_cores(), kLength), pairs_(pairs) {
    for (first_ = Member::kFirstQpn; rounds_ < pairs_; ++rounds_) connect_round();
  }

  // One more queue pair from each node to each other one, with numbers that nobody had.
  void connect_round() {
    for (unsigned node = 0; node < size(); ++node)
      for (unsigned peer = 0; peer < size(); ++peer) {
        if (peer == node) continue;
        Member& member = (*this)[node];
        QueuePair qp = member.rnic.create_qp(first_ + peer, Member::kPage, Member::kPd, member.cq);
        member.rnic.connect(qp, peer, first_ + node);
        all_[node].push_back(qp);
        member.qps[peer] = qp;
      }
    first_ += kNodes;
  }

  // The queue pairs are not told, and nobody waits for what is under way.
  void push_and_vanish(uint64_t after_ns, exrnic_mbox_op how) {
    for (unsigned node = 0; node < size(); ++node) {
      Member& member = (*this)[node];
      for (QueuePair& qp : all_[node])
        member.rnic.post(qp, {&member.source, 0, kLength, kSinkStag, kSinkBase, false});
    }
    testbed.run_until([] { return false; }, after_ns);
    for (unsigned node = 0; node < size(); ++node) {
      RnicDriver& rnic = (*this)[node].rnic;
      for (const QueuePair& qp : all_[node]) {
        if (how == EXRNIC_MBOX_OP_MODIFY_QP) {
          REQUIRE(rnic.modify(qp.qpn, EXRNIC_QP_STATE_RESET) == EXRNIC_MBOX_STATUS_OK);
        } else {
          rnic.must(how, exrnic_mbox_object{qp.qpn});
        }
      }
      all_[node].clear();
    }
  }

  // Each node to each other one; the number of those that ended well.
  unsigned push_once() {
    unsigned pushed = 0, well = 0;
    for (unsigned node = 0; node < size(); ++node) {
      for (auto& [peer, qp] : (*this)[node].qps) {
        (*this)[node].rnic.post(qp, {&(*this)[node].source, 0, 3000, kSinkStag, kSinkBase, true});
        ++pushed;
      }
    }
    for (unsigned node = 0; node < size(); ++node)
      for (size_t i = 0; i < (*this)[node].qps.size(); ++i)
        well += wait_for_new(node).status == EXRNIC_CQE_STATUS_SUCCESS;
    CHECK(pushed == kNodes * (kNodes - 1));
    return well;
  }

  uint64_t count(exrnic_counter which) {
    uint64_t sum = 0;
    for (unsigned node = 0; node < size(); ++node) sum += (*this)[node].rnic.counter(which);
    return sum;
  }

 private:
  // Of the queue pairs that push now. Earlier ones may have heard of a refusal before they
  // vanished: then they have left a completion.
  exrnic_cqe wait_for_new(unsigned node) {
    for (;;) {
      const exrnic_cqe cqe = (*this)[node].wait(kLimitNs);
      if (cqe.qpn >= first_ - kNodes) return cqe;
    }
  }

  const unsigned pairs_;
  unsigned rounds_ = 0;
  uint32_t first_ = 0;
  std::map<unsigned, std::vector<QueuePair>> all_;
};

TEST_CASE("queue pairs that vanish while all push to all keep no later work waiting") {
  uint64_t refused = 0, put_off = 0;
  for (const auto& [how, after_ns] : {std::pair{EXRNIC_MBOX_OP_DESTROY_QP, 8'000u},
                                      std::pair{EXRNIC_MBOX_OP_MODIFY_QP, 20'000u}}) {
    INFO("operation " << how << " after " << after_ns << " ns");
    Storm storm(4);
    storm.push_and_vanish(after_ns, how);
    storm.connect_round();
    CHECK(storm.push_once() == kNodes * (kNodes - 1));
    storm.rest();
    refused += storm.count(EXRNIC_COUNTER_TERMINATES_TX);
    put_off += storm.count(EXRNIC_COUNTER_REFUSALS_PUT_OFF);
    CHECK(storm.count(EXRNIC_COUNTER_PEERS_DEAD) == 0);
  }
  CHECK(refused > 0);
  CHECK(put_off > 0);
}

// ---- Many queue pairs of two nodes whose messages find no receive

constexpr unsigned kPairs = 12;
constexpr uint32_t kMessages = 4;
constexpr uint32_t kFirstQpn = 40;
constexpr Rnr kPatient{1, EXRNIC_RNR_RETRY_ENDLESS};

struct Impatient : Exchange {
  explicit Impatient(const TestbedOptions& options) : Exchange(20'000, {}, options) {
    for (End* end : {&left, &right}) {
      QueuePairOptions own;
      own.recv_cq = &end->recv_cq;
      for (unsigned i = 0; i < kPairs; ++i)
        qps[end].push_back(end->rnic.create_qp(kFirstQpn + i, End::kPage, End::kPd, end->cq, own));
    }
    for (unsigned i = 0; i < kPairs; ++i) {
      left.rnic.connect(qps[&left][i], 1, kFirstQpn + i, kPatient);
      right.rnic.connect(qps[&right][i], 0, kFirstQpn + i, kPatient);
    }
  }

  // On each queue pair of both nodes at once, numbered; of two frames.
  void send_all() {
    for (uint32_t number = 0; number < kMessages; ++number)
      for (End* end : {&left, &right})
        for (QueuePair& qp : qps[end])
          end->rnic.post(qp, with_imm(send_of({element(end->near, 0, kMtu + 100)}),
                                      EXRNIC_WQE_OPCODE_SEND_IMM, number));
  }
  void receive_all() {
    for (uint32_t number = 0; number < kMessages; ++number)
      for (End* end : {&left, &right})
        for (QueuePair& qp : qps[end]) end->rnic.post_receive(qp, {element(end->far, 0, 3000)});
  }
  // Each message once, and in the order of its queue pair.
  void expect_all() {
    for (End* end : {&left, &right}) {
      std::map<uint32_t, uint32_t> received;
      for (unsigned i = 0; i < kPairs * kMessages; ++i) {
        REQUIRE(end->wait(kLimitNs).status == EXRNIC_CQE_STATUS_SUCCESS);
        const exrnic_cqe cqe = end->wait_receive(kLimitNs);
        REQUIRE(cqe.status == EXRNIC_CQE_STATUS_SUCCESS);
        CHECK(cqe.imm_data == received[cqe.qpn]++);
      }
      CHECK(received.size() == kPairs);
    }
    rest();
    for (End* end : {&left, &right}) {
      CHECK_FALSE(end->rnic.poll(end->cq, End::kPage).has_value());
      CHECK_FALSE(end->rnic.poll(end->recv_cq, End::kPage).has_value());
    }
  }
  uint64_t count(exrnic_counter which) {
    return left.rnic.counter(which) + right.rnic.counter(which);
  }

  std::map<End*, std::vector<QueuePair>> qps;
};

TEST_CASE("messages of many queue pairs that find no receive are put off, and arrive once") {
  uint64_t put_off = 0;
  for (uint64_t seed = 0; seed < 3; ++seed) {
    INFO("seed " << seed);
    TestbedOptions options = options_for("dc-25g");
    options.seed = seed;
    if (seed != 0) options.faults.rates = {0.03, 0.03, 0.03, 0.03, 0.03};
    Impatient nodes(options);
    nodes.send_all();
    nodes.testbed.run_until([] { return false; }, 100 * EXRNIC_RNR_UNIT_NS);
    nodes.receive_all();
    nodes.expect_all();
    CHECK(nodes.count(EXRNIC_COUNTER_RNR_NAK_TX) > kPairs);
    CHECK(nodes.count(EXRNIC_COUNTER_PEERS_DEAD) == 0);
    put_off += nodes.count(EXRNIC_COUNTER_REFUSALS_PUT_OFF);
  }
  CHECK(put_off > 0);
}

// ---- A refusal that is not heard, as the link is cut, while who refuses gives up first

std::string result(End& end) {
  try {
    return "status " + std::to_string(end.wait(400'000'000).status);
  } catch (const std::exception& error) {
    return error.what();
  }
}

TEST_CASE("what was refused is no success, though the node that refused it gave up meanwhile") {
  for (uint64_t after_ns = 600; after_ns < 4000; after_ns += 850) {
    for (uint64_t down_ns = 100'000; down_ns < 30'000'000; down_ns *= 4) {
      INFO("cut after " << after_ns << " ns, for " << down_ns << " ns");
      Exchange e(200'000);
      e.right.rnic.write_register(EXRNIC_REG_RETRY_LIMIT, 2);
      e.rest();
      const TopologyLink cable = e.testbed.fabric().topology().links.at(0);
      e.left.post(push_of({element(e.left.near, 0, 1000)}, 1 << 20));
      e.testbed.run_for(after_ns);
      e.testbed.fabric().set_up(cable, false);
      e.testbed.run_for(down_ns);
      e.testbed.fabric().set_up(cable, true);
      for (int i = 0; i < 2; ++i) {  // the second is a good one, to a queue pair in ERROR
        const std::string said = result(e.left);
        CHECK(said != "status 0");
        CHECK(said.substr(0, 6) == "status");
        e.left.post(push_of({element(e.left.near, 0, 1000)}, 0));
      }
    }
  }
}

// ---- A terminate message with a number of its own, in the wrong queue

TEST_CASE("a terminate message is one whatever queue it names, and is never refused") {
  std::vector<uint32_t> details;
  for (const uint32_t qn : {uint32_t{EXRNIC_TERMINATE_QN}, uint32_t{EXRNIC_SEND_QN}, 9u}) {
    const auto change = [qn](Frame& frame) {
      const uint8_t* efe = frame.data.data() + EXRNIC_ETH_BYTES;
      uint8_t* ddp = frame.data.data() + EXRNIC_ETH_BYTES + EXRNIC_EFE_BYTES;
      if ((exrnic_efe_flags(efe) & EXRNIC_EFE_FLAGS_SEQ) && !exrnic_ddp_tagged_t(ddp) &&
          exrnic_ddp_untagged_opcode(ddp) == EXRNIC_RDMAP_OPCODE_TERMINATE)
        exrnic_ddp_untagged_set_qn(ddp, qn);
      return true;
    };
    const auto cores = [&](const CoreConfig& config, CoreSink& sink) -> std::unique_ptr<Core> {
      if (config.node_id == 0) return test_cores()(config, sink);
      Fault fault;
      fault.transmit = change;
      return std::make_unique<FaultyCore>(config, sink, test_cores(), fault);
    };
    Exchange e(20'000, {}, options_for("dc-25g"), cores);
    e.left.post(pull_of({element(e.left.near, 0, 1000)}, 1 << 20));
    details.push_back(e.left.wait(kLimitNs).detail);
    e.rest();
    CHECK(e.left.rnic.counter(EXRNIC_COUNTER_TERMINATES_TX) == 0);
  }
  CHECK(details == std::vector<uint32_t>(3, EXRNIC_TERM_CODE_RDMAP_BOUNDS));
}

// ---- Refusals that are not heard, as the line is dead in one direction

// What node 1 sends is lost for a while.
struct OneWay {
  CoreFactory cores() {
    return [this](const CoreConfig& config, CoreSink& sink) -> std::unique_ptr<Core> {
      if (config.node_id == 0) return test_cores()(config, sink);
      Fault fault;
      fault.transmit = [this](Frame&) { return !dead; };
      return std::make_unique<FaultyCore>(config, sink, test_cores(), fault);
    };
  }
  bool dead = false;
};

TEST_CASE("however many refusals were not heard, the next one is") {
  constexpr unsigned kUnheard = 130;  // numbers more than half of them ahead
  constexpr uint32_t kQpn = 77, kNobody = 99;
  OneWay line;
  Exchange e(20'000, {}, options_for("dc-25g"), line.cores());
  QueuePair qp = e.left.rnic.create_qp(kQpn, End::kPage, End::kPd, e.left.cq);
  const auto ask = [&] {
    e.left.rnic.connect(qp, 1, kNobody);
    e.left.rnic.post(qp, push_of({element(e.left.near, 0, 100)}, 0));
    const exrnic_cqe cqe = e.left.wait(kLimitNs);
    REQUIRE(e.left.rnic.modify(kQpn, EXRNIC_QP_STATE_RESET) == EXRNIC_MBOX_STATUS_OK);
    qp.sq.index = 0;
    return cqe.detail;
  };
  e.rest();
  REQUIRE(ask() == EXRNIC_TERM_CODE_STREAM);
  e.left.rnic.write_register(EXRNIC_REG_RTO_CYCLES, 1000);
  e.left.rnic.write_register(EXRNIC_REG_RETRY_LIMIT, 1);
  line.dead = true;
  for (unsigned i = 0; i < kUnheard; ++i) REQUIRE(ask() == 0);
  line.dead = false;
  e.left.rnic.write_register(EXRNIC_REG_RTO_CYCLES, EXRNIC_RTO_CYCLES_DEFAULT);
  CHECK(e.right.rnic.counter(EXRNIC_COUNTER_TERMINATES_TX) == kUnheard + 1);
  CHECK(ask() == EXRNIC_TERM_CODE_STREAM);
  e.left.post(push_of({element(e.left.near, 0, 100)}, 0));
  CHECK(e.left.wait(kLimitNs).status == EXRNIC_CQE_STATUS_SUCCESS);
}

}  // namespace
}  // namespace exrnic::testing
