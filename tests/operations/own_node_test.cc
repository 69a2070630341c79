// SPDX-License-Identifier: BSD-2-Clause
// What two nodes can do with each other a node can do with itself, and no frame of that is on a
// line.
#include <catch2/generators/catch_generators.hpp>
#include <string>

#include "tests/support/capture.h"
#include "tests/support/exchange.h"
#include "tests/support/ntb.h"

namespace exrnic::testing {
namespace {

constexpr uint64_t kBytes = 100'000;
constexpr uint64_t kLongEnoughNs = 200'000;
constexpr uint32_t kPage = End::kPage;
constexpr uint32_t kPd = End::kPd;
constexpr uint32_t kQkey = 0x1234;
constexpr uint32_t kGroup = 0xfedc;
constexpr uint32_t kImm = 0x1357'9bdf;

// One of two queue pairs of node 0: completion queues of its own, memory of the node.
struct LocalEnd {
  LocalEnd(RnicDriver& rnic, uint32_t qpn, const QueuePairOptions& wanted)
      : rnic(rnic),
        cq(rnic.create_cq(2 * qpn, kPage, 8)),
        recv_cq(rnic.create_cq(2 * qpn + 1, kPage, 8, 2)) {
    QueuePairOptions options = wanted;
    options.recv_cq = &recv_cq;
    qp = rnic.create_qp(qpn, kPage, kPd, cq, options);
  }

  void post(const Work& work) { rnic.post(qp, work); }
  void receive(const Elements& elements) { rnic.post_receive(qp, elements); }
  exrnic_cqe wait(uint64_t limit_ns = 20'000'000) { return rnic.wait(cq, kPage, limit_ns); }
  exrnic_cqe wait_receive() { return rnic.wait(recv_cq, kPage, 20'000'000); }
  std::optional<exrnic_cqe> received() { return rnic.poll(recv_cq, kPage); }
  uint32_t state() { return rnic.query(qp.qpn).state; }

  RnicDriver& rnic;
  Queue cq;
  Queue recv_cq;
  QueuePair qp;
};

QueuePairOptions of_service(exrnic_service service) {
  QueuePairOptions options;
  options.service = service;
  return options;
}

// Node 1 is there, and hears nothing of all this.
struct OneNode {
  static constexpr uint32_t kA = 41;
  static constexpr uint32_t kB = 42;

  explicit OneNode(const char* profile = "dc-25g", exrnic_service service = EXRNIC_SERVICE_RC,
                   const Rnr& rnr = {})
      : testbed(options_for(profile), test_cores()),
        rnic(testbed, 0),
        other(testbed, 1),
        far(rnic.create_region(kFarStag, kPd, kFarBase, kBytes, kAllRights)),
        near(rnic.create_region(kNearStag, kPd, kNearBase, kBytes, EXRNIC_ACCESS_LOCAL_WRITE)),
        a(rnic, kA, of_service(service)),
        b(rnic, kB, of_service(service)) {
    capture.attach(testbed);
    std::mt19937_64 random(5);
    rnic.write(near, 0, random_bytes(random, kBytes));
    if (service == EXRNIC_SERVICE_UD) {
      for (LocalEnd* end : {&a, &b}) rnic.open_datagrams(end->qp, kQkey);
    } else {
      rnic.connect(a.qp, 0, kB, rnr);
      rnic.connect(b.qp, 0, kA, rnr);
    }
    run();
  }

  // What is under way arrives.
  void run() {
    testbed.run_until([] { return false; }, kLongEnoughNs);
  }
  void rest() {
    REQUIRE(testbed.run_until([] { return false; }, 100'000'000) == RunResult::kIdle);
  }
  void expect_silence() {
    CHECK(capture.frames.empty());
    CHECK(rnic.counter(EXRNIC_COUNTER_FRAMES_LOOPED) == rnic.counter(EXRNIC_COUNTER_FRAMES_TX));
    CHECK(rnic.counter(EXRNIC_COUNTER_FRAMES_RX) == rnic.counter(EXRNIC_COUNTER_FRAMES_TX));
    CHECK(rnic.counter(EXRNIC_COUNTER_RX_MISDIRECTED) == 0);
    CHECK(rnic.host().refused_reads() == 0);
    CHECK(rnic.host().refused_writes().empty());
  }
  Elements out(uint64_t offset, uint32_t bytes) { return {element(near, offset, bytes)}; }
  Elements in(uint64_t offset, uint32_t bytes) { return {element(far, offset, bytes)}; }
  void expect_same(uint64_t near_offset, uint64_t far_offset, uint32_t bytes) {
    CHECK(difference(rnic.read(far, far_offset, bytes), rnic.read(near, near_offset, bytes)) == "");
  }

  Testbed testbed;
  RnicDriver rnic;
  RnicDriver other;
  Region far;
  Region near;
  LocalEnd a;
  LocalEnd b;
  Capture capture;
};

const uint32_t kSizes[] = {0, 1, 24, kMtu - 1, kMtu, kMtu + 1, 3 * kMtu + 5, 40'000};

TEST_CASE("two queue pairs of a node do every operation with each other, and no line hears of it") {
  OneNode node(GENERATE("dc-25g", "ntb-gen3x8"));  // both data paths
  for (const uint32_t bytes : kSizes) {
    INFO(bytes << " bytes");
    for (const auto& [from, to] : {std::pair(&node.a, &node.b), std::pair(&node.b, &node.a)}) {
      const uint64_t at = 50'000 + bytes / 4;
      from->post(push_of(node.out(7, bytes), 100));
      CHECK(from->wait().status == EXRNIC_CQE_STATUS_SUCCESS);
      to->receive({});
      from->post(with_imm(push_of(node.out(9, bytes), at), EXRNIC_WQE_OPCODE_PUSH_IMM, kImm));
      CHECK(from->wait().status == EXRNIC_CQE_STATUS_SUCCESS);
      const exrnic_cqe told = to->wait_receive();
      CHECK(told.imm_data == kImm);
      CHECK(told.byte_length == bytes);
      node.rest();
      node.expect_same(7, 100, bytes);
      node.expect_same(9, at, bytes);
      to->receive(node.in(3, bytes));
      from->post(send_of(node.out(11, bytes)));
      CHECK(from->wait().status == EXRNIC_CQE_STATUS_SUCCESS);
      CHECK(to->wait_receive().byte_length == bytes);
      node.rest();
      node.expect_same(11, 3, bytes);
      from->post(pull_of(node.out(50'000, bytes), 3));
      CHECK(from->wait().status == EXRNIC_CQE_STATUS_SUCCESS);
      node.rest();
      node.expect_same(50'000, 3, bytes);
    }
  }
  node.expect_silence();
}

TEST_CASE("a node without a line sends to itself") {
  Testbed testbed(options_for("dc-25g", 1), test_cores());
  RnicDriver rnic(testbed, 0);
  const Region far = rnic.create_region(kFarStag, kPd, kFarBase, kBytes, kAllRights);
  LocalEnd a(rnic, 41, {}), b(rnic, 42, {});
  rnic.connect(a.qp, 0, 42);
  rnic.connect(b.qp, 0, 41);
  b.receive({element(far, 0, 5000)});
  a.post(send_of({element(far, 50'000, 5000)}));
  CHECK(a.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(b.wait_receive().byte_length == 5000);
}

TEST_CASE("a queue pair that is connected to itself sends to itself, pulls and pushes") {
  OneNode node;
  QueuePair qp = node.rnic.create_qp(50, kPage, kPd, node.a.cq, 6);
  node.rnic.connect(qp, 0, 50);
  for (const uint32_t bytes : {0u, 100u, 3 * kMtu + 1}) {
    INFO(bytes << " bytes");
    node.rnic.post_receive(qp, node.in(3, bytes));
    node.rnic.post(qp, send_of(node.out(11, bytes)));
    node.rnic.post(qp, push_of(node.out(1, bytes), 20'000));
    node.rnic.post(qp, pull_of(node.out(40'000, bytes), 20'000));
    for (int i = 0; i < 4; ++i) CHECK(node.a.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    node.rest();
    node.expect_same(11, 3, bytes);
    node.expect_same(1, 20'000, bytes);
    node.expect_same(40'000, 20'000, bytes);
  }
  node.expect_silence();
}

TEST_CASE("many messages both ways at once arrive in order, once each") {
  OneNode node;
  constexpr uint32_t kMessages = 200;
  std::array<uint32_t, 2> sent{}, received{}, completed{};
  const std::array<LocalEnd*, 2> ends{&node.a, &node.b};
  for (unsigned i = 0; i < 2; ++i)
    for (uint32_t n = 0; n < 30; ++n) ends[i]->receive(node.in(1000 + 3000 * i, 2000));
  const auto done = [&] {
    return completed[0] == kMessages && completed[1] == kMessages && received[0] == kMessages &&
           received[1] == kMessages;
  };
  while (!done()) {
    for (unsigned i = 0; i < 2; ++i) {
      if (sent[i] < kMessages && sent[i] - completed[i] < 20) {
        const Work work = send_of(node.out(i, sent[i] * 97 % 1900));
        ends[i]->post(with_imm(work, EXRNIC_WQE_OPCODE_SEND_IMM, sent[i]++));
      }
      while (node.rnic.poll(ends[i]->cq, kPage)) ++completed[i];
      while (const auto cqe = ends[i]->received()) {
        REQUIRE(cqe->status == EXRNIC_CQE_STATUS_SUCCESS);
        REQUIRE(cqe->imm_data == received[i]++);
        ends[i]->receive(node.in(1000 + 3000 * i, 2000));
      }
    }
    REQUIRE(node.testbed.busy());
    node.testbed.run_until([] { return false; }, 500);
  }
  node.expect_silence();
}

TEST_CASE("UC works within a node") {
  OneNode node("dc-25g", EXRNIC_SERVICE_UC);
  for (const uint32_t bytes : kSizes) {
    node.b.receive(node.in(3, bytes));
    node.a.post(push_of(node.out(1, bytes), 50'000));
    node.a.post(send_of(node.out(11, bytes)));
    for (int i = 0; i < 2; ++i) CHECK(node.a.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    CHECK(node.b.wait_receive().byte_length == bytes);
    node.rest();
    node.expect_same(1, 50'000, bytes);
    node.expect_same(11, 3, bytes);
  }
  node.expect_silence();
}

Work datagram(Work work, uint32_t node, uint32_t qpn) {
  work.remote_to = uint64_t{node} << EXRNIC_DATAGRAM_NODE_SHIFT | qpn;
  work.remote_stag = kQkey;
  return work;
}

TEST_CASE("UD: a datagram reaches a queue pair of its node, and the one that sends it") {
  OneNode node("dc-25g", EXRNIC_SERVICE_UD);
  for (const auto& [to, qpn] : {std::pair(&node.b, OneNode::kB), std::pair(&node.a, OneNode::kA)}) {
    for (const uint32_t bytes : {0u, 1u, 700u, kMtu}) {
      to->receive(node.in(3, 2000));
      node.a.post(datagram(send_of(node.out(11, bytes)), 0, qpn));
      CHECK(node.a.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
      const exrnic_cqe cqe = to->wait_receive();
      CHECK(cqe.byte_length == bytes);
      CHECK(cqe.detail == OneNode::kA);  // of node 0
      node.rest();
      node.expect_same(11, 3, bytes);
    }
  }
  node.expect_silence();
}

TEST_CASE(
    "UD: a datagram to a group reaches those attached on the sender's node, and the line once") {
  OneNode node("dc-25g", EXRNIC_SERVICE_UD);
  const Work work = datagram(send_of(node.out(11, 300)), 0, EXRNIC_GROUP_QPN + kGroup);
  const auto send = [&] {
    node.capture.frames.clear();
    node.a.post(work);
    CHECK(node.a.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    node.run();
    CHECK(std::count_if(node.capture.frames.begin(), node.capture.frames.end(),
                        [](const CapturedFrame& frame) { return frame.sent; }) == 1);
  };
  const uint64_t dropped = node.rnic.counter(EXRNIC_COUNTER_UNRELIABLE_DROPPED);
  send();  // nobody is attached: nothing goes round
  CHECK(node.rnic.counter(EXRNIC_COUNTER_FRAMES_LOOPED) == 0);
  CHECK(node.rnic.counter(EXRNIC_COUNTER_UNRELIABLE_DROPPED) == dropped);
  for (const uint32_t qpn : {OneNode::kA, OneNode::kB})
    REQUIRE(node.rnic.attach(qpn, kGroup) == EXRNIC_MBOX_STATUS_OK);
  for (LocalEnd* end : {&node.a, &node.b}) end->receive(node.in(3, 2000));
  send();
  for (LocalEnd* end : {&node.a, &node.b}) CHECK(end->wait_receive().byte_length == 300);
  CHECK(node.rnic.counter(EXRNIC_COUNTER_FRAMES_LOOPED) == 1);
  REQUIRE(node.rnic.detach(OneNode::kA, kGroup) == EXRNIC_MBOX_STATUS_OK);
  for (LocalEnd* end : {&node.a, &node.b}) end->receive(node.in(3, 2000));
  send();
  CHECK(node.b.wait_receive().byte_length == 300);
  CHECK_FALSE(node.a.received());
}

TEST_CASE("what the other queue pair of the node refuses ends as between two nodes") {
  OneNode node;
  Work work = push_of(node.out(0, 100), 0);
  SECTION("no such region") { work.remote_stag ^= 0x100; }
  SECTION("beyond its end") { work.remote_to += kBytes - 50; }
  SECTION("a region without the right") {
    work.remote_stag = kNearStag;
    work.remote_to = kNearBase;
  }
  node.a.post(work);
  CHECK(node.a.wait().status == EXRNIC_CQE_STATUS_REM_ACCESS_ERR);
  node.rest();
  CHECK(node.a.state() == EXRNIC_QP_STATE_ERROR);
  CHECK(node.b.state() == EXRNIC_QP_STATE_ERROR);
  CHECK(node.rnic.counter(EXRNIC_COUNTER_TERMINATES_TX) == 1);
  CHECK(node.rnic.counter(EXRNIC_COUNTER_TERMINATES_RX) == 1);
  node.expect_silence();
}

TEST_CASE("within a node a message that finds no receive comes again, until its retries are over") {
  OneNode node("dc-25g", EXRNIC_SERVICE_RC, {1, 3});
  node.a.post(send_of(node.out(11, 5000)));
  node.testbed.run_until([] { return false; }, 15'000);
  node.b.receive(node.in(3, 5000));
  CHECK(node.a.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(node.b.wait_receive().byte_length == 5000);
  node.a.post(send_of(node.out(11, 5000)));
  CHECK(node.a.wait().status == EXRNIC_CQE_STATUS_RNR_RETRY_EXC_ERR);
  CHECK(node.b.state() == EXRNIC_QP_STATE_RTS);
  node.expect_silence();
}

TEST_CASE("a queue pair of the node that begins anew is no peer of what was sent to it before") {
  OneNode node;
  node.rnic.modify(OneNode::kB, EXRNIC_QP_STATE_RESET);
  node.a.post(push_of(node.out(0, 100), 0));
  CHECK(node.a.wait(200'000'000).status != EXRNIC_CQE_STATUS_SUCCESS);
  for (LocalEnd* end : {&node.a, &node.b}) node.rnic.modify(end->qp.qpn, EXRNIC_QP_STATE_RESET);
  node.a.qp.sq.index = node.b.qp.sq.index = node.a.qp.rq.index = node.b.qp.rq.index = 0;
  node.rnic.connect(node.a.qp, 0, OneNode::kB);
  node.rnic.connect(node.b.qp, 0, OneNode::kA);
  node.a.post(push_of(node.out(0, 100), 0));
  CHECK(node.a.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  node.expect_silence();
}

// Its stores would wait for room, that for acknowledgements, those for a read of a page list, and
// that read's completion for the stores: on the bus it may not pass them.
TEST_CASE("no window is on the own node, and no port has a peer there") {
  OneNode node;
  RemoteWindow window(node.rnic, 3);
  CHECK(window.set(OneNode::kA, kFarStag, kFarBase, 4096, kStore | kLoad) ==
        EXRNIC_MBOX_STATUS_BAD_PARAMETER);
  window.store(0, 8, 1);
  CHECK(window.load(0, 8) == kAllOnes);
  Port port(node.rnic, 3);
  port.open(0, 4, 9);
  CHECK(port.read(EXRNIC_REG_PORT_PEER) == 0);
  Port unnamed(node.rnic, 0);  // PORT_PEER is its own name, as it is not set
  unnamed.write(EXRNIC_REG_PORT_CONTROL, EXRNIC_PORT_CONTROL_ENABLE);
  node.rest();
  for (Port* opened : {&port, &unnamed}) {
    CHECK(opened->read(EXRNIC_REG_PORT_CONTROL) == 0);
    CHECK_FALSE(opened->linked());
    CHECK(opened->take_events() == 0);
  }
  CHECK(node.rnic.read(node.far, 0, 8) == Bytes(8));
  CHECK(node.a.state() == EXRNIC_QP_STATE_RTS);
}

// Of a hundred messages each stream has a fair part.
TEST_CASE("what a node sends to itself and what comes to it from another one both get on") {
  Exchange e(kBytes, {}, options_for("dc-25g"));
  LocalEnd a(e.right.rnic, 41, {}), b(e.right.rnic, 42, {});
  e.right.rnic.connect(a.qp, 1, 42);
  e.right.rnic.connect(b.qp, 1, 41);
  constexpr uint32_t kEach = 20'000;
  std::array<uint64_t, 2> posted{}, placed{};
  while (placed[0] + placed[1] < 100) {
    if (posted[0] - placed[0] < 8)
      e.left.post(push_of({element(e.left.near, 0, kEach)}, 0)), ++posted[0];
    if (posted[1] - placed[1] < 8)
      a.post(push_of({element(e.right.near, 0, kEach)}, 50'000)), ++posted[1];
    e.testbed.run_until([] { return false; }, 1'000);
    while (e.left.rnic.poll(e.left.cq, kPage)) ++placed[0];
    while (e.right.rnic.poll(a.cq, kPage)) ++placed[1];
  }
  CAPTURE(placed[0], placed[1]);
  CHECK(placed[0] >= 30);
  CHECK(placed[1] >= 30);
}

}  // namespace
}  // namespace exrnic::testing
