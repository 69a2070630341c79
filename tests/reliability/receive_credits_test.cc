// SPDX-License-Identifier: BSD-2-Clause
// End-to-end credits: a sender knows how many receives its peer has, and does not send what would
// be refused.
#include "tests/support/exchange.h"

namespace exrnic::testing {
namespace {

constexpr uint64_t kRnrUnitNs = EXRNIC_RNR_UNIT_NS;
constexpr Rnr kPatient{5, EXRNIC_RNR_RETRY_ENDLESS};
constexpr uint64_t kProbeNs = kRnrUnitNs << EXRNIC_CREDIT_PROBE_CODE / 2;
constexpr uint64_t kLimitNs = 200'000'000;

// Node 0 receives on a queue pair for each of the others, which send to it.
class Crowd {
 public:
  explicit Crowd(unsigned senders, TestbedOptions options = options_for("dc-25g"),
                 const QueuePairOptions& receiving = {})
      : testbed(with_nodes(std::move(options), senders + 1), test_cores()),
        receiver(testbed, 0, kFirstQpn, kBytes, receiving) {
    receiving_qps.push_back(receiver.qp);
    for (unsigned i = 0; i < senders; ++i) {
      if (i > 0) add_receiving(kFirstQpn + i, receiving);
      this->senders.push_back(std::make_unique<End>(testbed, 1 + i, kFirstQpn, kBytes));
      this->senders[i]->rnic.connect(this->senders[i]->qp, 0, kFirstQpn + i, kPatient);
      receiver.rnic.connect(receiving_qps[i], 1 + i, kFirstQpn, kPatient);
    }
  }

  void run(uint64_t ns) {
    testbed.run_until([] { return false; }, ns);
  }
  void rest() {
    REQUIRE(testbed.run_until([] { return false; }, kLimitNs) == RunResult::kIdle);
  }
  void send(unsigned sender, uint32_t number, uint32_t bytes = 8) {
    End& end = *senders[sender];
    Work work =
        with_imm(send_of({element(end.near, 0, bytes)}), EXRNIC_WQE_OPCODE_SEND_IMM, number);
    if (number % 5 == 4)
      work =
          with_imm(push_of({element(end.near, 0, bytes)}, 0), EXRNIC_WQE_OPCODE_PUSH_IMM, number);
    end.post(work);
  }
  void receive(unsigned sender) {
    receiver.rnic.post_receive(receiving_qps[sender], {element(receiver.near, 0, kBytes)});
  }
  // The next receive, of any sender, takes the next of its messages.
  unsigned take() {
    const exrnic_cqe cqe = receiver.wait_receive(kLimitNs);
    REQUIRE(cqe.status == EXRNIC_CQE_STATUS_SUCCESS);
    const unsigned sender = cqe.qpn - kFirstQpn;
    REQUIRE(cqe.imm_data == taken.at(sender));
    ++taken.at(sender);
    return sender;
  }
  void expect_sent(unsigned sender, uint32_t messages) {
    for (uint32_t i = 0; i < messages; ++i) {
      const exrnic_cqe cqe = senders[sender]->wait(kLimitNs);
      REQUIRE(cqe.status == EXRNIC_CQE_STATUS_SUCCESS);
      REQUIRE(cqe.wqe_index == i);
    }
    CHECK_FALSE(senders[sender]->rnic.poll(senders[sender]->cq, End::kPage).has_value());
  }
  uint64_t refused() { return receiver.rnic.counter(EXRNIC_COUNTER_RNR_NAK_TX); }
  uint64_t updates() { return receiver.rnic.counter(EXRNIC_COUNTER_CREDIT_UPDATES_TX); }
  uint64_t stalls(unsigned sender) {
    return senders[sender]->rnic.counter(EXRNIC_COUNTER_CREDIT_STALLS);
  }

  static constexpr uint32_t kBytes = 4000;
  static constexpr uint32_t kFirstQpn = 20;

  Testbed testbed;
  End receiver;
  std::vector<std::unique_ptr<End>> senders;
  std::vector<QueuePair> receiving_qps;
  std::vector<uint32_t> taken = std::vector<uint32_t>(8);

 private:
  static TestbedOptions with_nodes(TestbedOptions options, unsigned nodes) {
    options.nodes = nodes;
    return options;
  }
  void add_receiving(uint32_t qpn, QueuePairOptions options) {
    options.recv_cq = &receiver.recv_cq;
    receiving_qps.push_back(
        receiver.rnic.create_qp(qpn, End::kPage, End::kPd, receiver.cq, options));
  }
};

TEST_CASE("of a slow receiver a sender hears in time: nothing is refused, nobody waits long") {
  constexpr uint32_t kMessages = 16;
  for (const unsigned depth : {1u, 3u}) {
    INFO("receives " << depth);
    Crowd crowd(1);
    for (unsigned i = 0; i < depth; ++i) crowd.receive(0);
    crowd.send(0, 0);  // the first one tells how many there are
    crowd.take();
    crowd.run(2 * kRnrUnitNs);
    for (uint32_t i = 1; i < kMessages; ++i) crowd.send(0, i, i % 7 == 3 ? 3000 : 8);
    const uint64_t before = crowd.testbed.now_ns();
    for (uint32_t i = 0; i + 1 < kMessages; ++i) {
      if (i % depth == 0) crowd.run(2 * kRnrUnitNs);
      crowd.receive(0);
      crowd.take();
    }
    CHECK(crowd.testbed.now_ns() - before < kMessages * 3 * kRnrUnitNs);
    crowd.expect_sent(0, kMessages);
    CHECK(crowd.refused() == 0);
    CHECK(crowd.stalls(0) >= kMessages / depth - 2);
    CHECK(crowd.updates() <= kMessages + 1);
    crowd.rest();
  }
}

TEST_CASE("of a flood before anything is told one message for each sender is refused at most") {
  constexpr uint32_t kMessages = 6;
  Crowd crowd(3);
  for (unsigned sender = 0; sender < 3; ++sender) {
    crowd.receive(sender);
    for (uint32_t i = 0; i < kMessages; ++i) crowd.send(sender, i);
  }
  for (uint32_t i = 0; i < 3 * kMessages; ++i) {
    const unsigned sender = crowd.take();
    crowd.run(kRnrUnitNs / 2);
    crowd.receive(sender);
  }
  for (unsigned sender = 0; sender < 3; ++sender) crowd.expect_sent(sender, kMessages);
  CHECK(crowd.refused() <= 3);
  CHECK(crowd.receiver.rnic.counter(EXRNIC_COUNTER_RECVS) == 3 * kMessages);
  crowd.rest();
}

TEST_CASE("a sender that hears nothing asks by a message that leaves alone, once for each pause") {
  Crowd crowd(1);
  crowd.receive(0);
  crowd.send(0, 0);
  crowd.take();
  crowd.run(2 * kRnrUnitNs);
  const uint64_t before = crowd.testbed.now_ns();
  crowd.send(0, 1, 3000);
  crowd.send(0, 2);
  crowd.run(kProbeNs / 2);
  CHECK(crowd.refused() == 0);
  while (crowd.refused() == 0) {
    REQUIRE(crowd.testbed.now_ns() < before + 2 * kProbeNs);
    crowd.run(kRnrUnitNs);
  }
  CHECK(crowd.testbed.now_ns() - before >= kProbeNs);
  crowd.receive(0);
  crowd.receive(0);
  crowd.take();
  crowd.take();
  crowd.expect_sent(0, 3);
}

TEST_CASE("a shared receive queue has no number for one sender, and sets no limit") {
  QueuePairOptions options;
  Testbed testbed(options_for("dc-25g"), test_cores());
  End left(testbed, 0, 30, 4000);
  RnicDriver right(testbed, 1);
  const Queue cq = right.create_cq(Side::kCqn, End::kPage, 8);
  const Region room = right.create_region(kFarStag, End::kPd, kFarBase, 4000, kAllRights);
  SharedReceiveQueue srq = right.create_srq(4, End::kPage, End::kPd);
  options.srqn = 4;
  QueuePair qp = right.create_qp(31, End::kPage, End::kPd, cq, options);
  left.rnic.connect(left.qp, 1, 31, kPatient);
  right.connect(qp, 0, 30, kPatient);
  for (uint32_t i = 0; i < 4; ++i) {
    right.post_receive(srq, {element(room, 0, 100)});
    left.post(send_of({element(left.near, 0, 10)}));
    CHECK(left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  }
  CHECK(right.counter(EXRNIC_COUNTER_CREDIT_UPDATES_TX) == 0);
  CHECK(left.rnic.counter(EXRNIC_COUNTER_CREDIT_STALLS) == 0);
}

TEST_CASE("a queue pair that is connected anew has no limit of its old connection") {
  Crowd crowd(1);
  crowd.receive(0);
  crowd.send(0, 0);
  crowd.take();
  crowd.run(2 * kRnrUnitNs);
  End& sender = *crowd.senders[0];
  for (auto [end, qp] :
       {std::pair{&crowd.receiver, &crowd.receiving_qps[0]}, std::pair{&sender, &sender.qp}}) {
    REQUIRE(end->rnic.modify(qp->qpn, EXRNIC_QP_STATE_RESET) == EXRNIC_MBOX_STATUS_OK);
    qp->sq.index = qp->rq.index = 0;
  }
  sender.rnic.connect(sender.qp, 0, Crowd::kFirstQpn, kPatient);
  crowd.receiver.rnic.connect(crowd.receiving_qps[0], 1, Crowd::kFirstQpn, kPatient);
  crowd.receive(0);
  crowd.receive(0);
  crowd.send(0, 1);
  crowd.send(0, 2);
  crowd.take();
  crowd.take();
  CHECK(crowd.stalls(0) == 0);
  CHECK(crowd.refused() == 0);
}

// Messages to a receiver with one receive at a time. Returns the frames towards each node.
std::array<uint64_t, 2> trickle(const TestbedOptions& options) {
  constexpr uint32_t kMessages = 3;
  Crowd crowd(1, options);
  crowd.receiver.rnic.write_register(EXRNIC_REG_RTO_CYCLES, 4096);
  crowd.senders[0]->rnic.write_register(EXRNIC_REG_RTO_CYCLES, 4096);
  for (uint32_t i = 0; i < kMessages; ++i) crowd.send(0, i, i == 1 ? 1500 : 8);
  for (uint32_t i = 0; i < kMessages; ++i) {
    crowd.receive(0);
    crowd.take();
  }
  crowd.expect_sent(0, kMessages);
  crowd.rest();
  CHECK(crowd.receiver.rnic.counter(EXRNIC_COUNTER_RECVS) == kMessages);
  CHECK_FALSE(crowd.receiver.rnic.poll(crowd.receiver.recv_cq, End::kPage).has_value());
  return {crowd.testbed.line_towards(0)->counters().frames,
          crowd.testbed.line_towards(1)->counters().frames};
}

TEST_CASE("any one fault at any one frame, updates too, leaves messages complete, exactly once") {
  const std::array<uint64_t, 2> frames = trickle(options_for("dc-25g"));
  REQUIRE(frames[1] > 6);
  // What becomes of messages that come twice or late is no matter of credits: link_faults_test.
  const std::pair<Fault, unsigned> faults[] = {
      {Fault::kDrop, 0}, {Fault::kDrop, 1}, {Fault::kDuplicate, 1}, {Fault::kReorder, 1}};
  for (const auto& [fault, towards] : faults)
    for (uint64_t frame = 0; frame < frames[towards]; ++frame) {
      INFO("fault " << static_cast<int>(fault) << " of frame " << frame << " towards node "
                    << towards);
      TestbedOptions options = options_for("dc-25g");
      options.faults_towards[towards].script[frame] = fault;
      trickle(options);
    }
}

}  // namespace
}  // namespace exrnic::testing
