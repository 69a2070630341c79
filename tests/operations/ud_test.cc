// SPDX-License-Identifier: BSD-2-Clause
// Queue pairs of service UD: datagrams to anyone with the keys, and to groups.
#include <array>
#include <memory>

#include "tests/support/capture.h"
#include "tests/support/cluster.h"
#include "tests/support/exchange.h"
#include "tests/support/trace_check.h"

namespace exrnic::testing {
namespace {

constexpr uint64_t kLongEnoughNs = 100'000;
constexpr uint32_t kQkey = 0x1234;
constexpr uint32_t kControlled = EXRNIC_QKEY_CONTROLLED | 0x77;
// What stands in the table of each node.
constexpr uint16_t kPartition = 0x7a5;
constexpr uint32_t kFull = 5, kOther = 6, kLimited = EXRNIC_PKEYS - 1, kNone = 7;
constexpr uint32_t kGroup = 0xfedc;
constexpr uint32_t kQpn = 33;  // the first queue pair of each node
constexpr uint64_t kBytes = 20'000;

QueuePairOptions datagrams(const Queue* recv_cq = nullptr, uint32_t flags = 0) {
  QueuePairOptions options;
  options.service = EXRNIC_SERVICE_UD;
  options.recv_cq = recv_cq;
  options.flags = flags;
  return options;
}

Work to_qp(Work work, uint32_t node, uint32_t qpn, uint32_t qkey = kQkey) {
  work.remote_to = uint64_t{node} << EXRNIC_DATAGRAM_NODE_SHIFT | qpn;
  work.remote_stag = qkey;
  return work;
}
Work to_group(const Work& work, uint32_t group, uint32_t qkey = kQkey) {
  return to_qp(work, 0, EXRNIC_GROUP_QPN + group, qkey);
}
Work imm(const Work& work, uint32_t data) {
  return with_imm(work, EXRNIC_WQE_OPCODE_SEND_IMM, data);
}

struct Nodes {
  explicit Nodes(const TestbedOptions& options = options_on("dc-25g", "star:3"), uint32_t flags = 0)
      : testbed(options, test_cores()) {
    for (unsigned node = 0; node < testbed.nodes(); ++node) {
      ends.push_back(std::make_unique<End>(testbed, node, kQpn, kBytes, datagrams(nullptr, flags)));
      End& end = *ends.back();
      end.rnic.set_pkey(kFull, EXRNIC_PKEY_FULL | kPartition);
      end.rnic.set_pkey(kOther, EXRNIC_PKEY_FULL | (kPartition - 1));
      end.rnic.set_pkey(kLimited, kPartition);
      end.rnic.open_datagrams(end.qp, kQkey, kFull);
      std::mt19937_64 random(node);
      end.rnic.write(end.near, 0, random_bytes(random, kBytes));
    }
  }

  End& operator[](unsigned node) { return *ends.at(node); }
  // What is under way arrives.
  void run() {
    testbed.run_until([] { return false; }, kLongEnoughNs);
  }
  Elements out(unsigned node, uint32_t offset, uint32_t bytes) {
    return {element((*this)[node].near, offset, bytes)};
  }
  void receive(unsigned node, uint32_t offset, uint32_t room) {
    (*this)[node].receive({element((*this)[node].far, offset, room)});
  }
  QueuePair open(unsigned node, uint32_t qpn, uint32_t qkey = kQkey, uint32_t pkey_index = kFull) {
    End& end = (*this)[node];
    QueuePair qp = end.rnic.create_qp(qpn, End::kPage, End::kPd, end.cq, datagrams(&end.recv_cq));
    end.rnic.open_datagrams(qp, qkey, pkey_index);
    return qp;
  }
  void send(unsigned node, const Work& work) {
    (*this)[node].post(work);
    CHECK((*this)[node].wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  }
  uint64_t counter(unsigned node, exrnic_counter which) {
    return (*this)[node].rnic.counter(which);
  }
  std::optional<exrnic_cqe> received(unsigned node) {
    return (*this)[node].rnic.poll((*this)[node].recv_cq, End::kPage);
  }
  void expect_alive() {
    for (const auto& end : ends) {
      CHECK(end->state() == EXRNIC_QP_STATE_RTS);
      CHECK(end->rnic.host().refused_reads() == 0);
      CHECK(end->rnic.host().refused_writes().empty());
      CHECK(end->rnic.counter(EXRNIC_COUNTER_TERMINATES_TX) == 0);
    }
  }

  Testbed testbed;
  std::vector<std::unique_ptr<End>> ends;
};

uint32_t sender_of(const exrnic_cqe& cqe) {
  CHECK((cqe.flags & EXRNIC_CQE_FLAGS_SENDER) != 0);
  return cqe.detail;
}
uint32_t sender(uint32_t node, uint32_t qpn) { return node << EXRNIC_SENDER_NODE_SHIFT | qpn; }

TEST_CASE("UD: messages of every length come from anyone, say from whom, and nobody answers") {
  Nodes nodes;
  nodes.run();
  const uint64_t quiet = nodes.counter(0, EXRNIC_COUNTER_FRAMES_TX);
  uint32_t number = 0;
  for (const uint32_t bytes : {0u, 1u, kMtu - 1, kMtu}) {
    for (const unsigned from : {1u, 2u}) {
      INFO(bytes << " bytes from node " << from);
      nodes.receive(0, 500, 2000);
      Work work = to_qp(send_of(nodes.out(from, 77, bytes)), 0, kQpn);
      const bool has_imm = number++ % 3 != 0;
      nodes.send(from, has_imm ? imm(work, number) : work);
      const exrnic_cqe cqe = nodes[0].wait_receive();
      CHECK(cqe.status == EXRNIC_CQE_STATUS_SUCCESS);
      CHECK(cqe.byte_length == bytes);
      CHECK(sender_of(cqe) == sender(from, kQpn));
      CHECK((cqe.flags & EXRNIC_CQE_FLAGS_GROUP) == 0);
      CHECK(cqe.group == 0);
      CHECK(bool(cqe.flags & EXRNIC_CQE_FLAGS_IMM) == has_imm);
      CHECK(cqe.imm_data == (has_imm ? number : 0));
      CHECK(difference(nodes[0].rnic.read(nodes[0].far, 500, bytes),
                       nodes[from].rnic.read(nodes[from].near, 77, bytes)) == "");
    }
  }
  nodes.run();
  CHECK(nodes.counter(0, EXRNIC_COUNTER_FRAMES_TX) == quiet);
  CHECK(nodes.counter(0, EXRNIC_COUNTER_UNRELIABLE_DROPPED) == 0);
  nodes.expect_alive();
}

TEST_CASE("UD: one queue pair sends to several in turn, and completes in order") {
  Nodes nodes;
  const QueuePair second = nodes.open(2, 50);
  RnicDriver& third = nodes[2].rnic;
  QueuePair other = second;
  for (uint32_t i = 0; i < 4; ++i) {
    nodes.receive(1, i * 1000, 1000);
    nodes.receive(2, i * 1000, 1000);
    third.post_receive(other, {element(nodes[2].far, 8000 + i * 1000, 1000)});
  }
  const std::array<std::pair<uint32_t, uint32_t>, 3> to = {{{1, kQpn}, {2, kQpn}, {2, 50}}};
  for (uint32_t i = 0; i < 12; ++i) {
    const auto& [node, qpn] = to[i % 3];
    nodes[0].post(
        imm(to_qp(send_of(nodes.out(0, i, 100 + i), EXRNIC_WQE_FLAGS_SOLICITED), node, qpn), i));
  }
  for (uint32_t i = 0; i < 12; ++i) {
    const exrnic_cqe cqe = nodes[0].wait();
    CHECK(cqe.status == EXRNIC_CQE_STATUS_SUCCESS);
    CHECK(cqe.wqe_index == i);
  }
  nodes.run();
  for (uint32_t i = 0; i < 4; ++i) CHECK(nodes[1].wait_receive().imm_data == 3 * i);
  uint32_t next[2] = {1, 2};
  for (uint32_t i = 0; i < 8; ++i) {
    const exrnic_cqe cqe = nodes[2].wait_receive();
    uint32_t& expected = next[cqe.qpn == 50];
    CHECK(cqe.imm_data == expected);
    CHECK(cqe.byte_length == 100 + expected);
    CHECK((cqe.flags & EXRNIC_CQE_FLAGS_SOLICITED) != 0);
    expected += 3;
  }
  nodes.expect_alive();
}

TEST_CASE("UD: another Q_Key or P_Key is dropped and counted, and nobody hears of it") {
  Nodes nodes;
  nodes.receive(0, 0, 1000);
  nodes.send(1, to_qp(send_of(nodes.out(1, 0, 10)), 0, kQpn, kQkey ^ 1));
  nodes.run();
  CHECK(nodes.counter(0, EXRNIC_COUNTER_BAD_QKEY) == 1);
  CHECK(nodes.counter(0, EXRNIC_COUNTER_BAD_PKEY) == 0);
  QueuePair stranger = nodes.open(1, 40, kQkey, kOther);
  QueuePair limited = nodes.open(1, 41, kQkey, kLimited);
  nodes[1].rnic.post(stranger, to_qp(send_of(nodes.out(1, 0, 11)), 0, kQpn));
  CHECK(nodes[1].wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  nodes.run();
  CHECK(nodes.counter(0, EXRNIC_COUNTER_BAD_PKEY) == 1);
  CHECK(nodes.counter(0, EXRNIC_COUNTER_UNRELIABLE_DROPPED) == 2);
  CHECK_FALSE(nodes.received(0));
  // A limited member speaks with a full one, but not with another limited one.
  nodes[1].rnic.post(limited, to_qp(send_of(nodes.out(1, 0, 12)), 0, kQpn));
  CHECK(nodes[1].wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(nodes[0].wait_receive().byte_length == 12);
  nodes.open(0, 42, kQkey, kLimited);
  nodes[1].rnic.post(limited, to_qp(send_of(nodes.out(1, 0, 13)), 0, 42));
  CHECK(nodes[1].wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  nodes.run();
  CHECK(nodes.counter(0, EXRNIC_COUNTER_BAD_PKEY) == 2);
  nodes.expect_alive();
}

TEST_CASE("UD: who names a controlled Q_Key sends with that of its own queue pair") {
  Nodes nodes;
  QueuePair controlled = nodes.open(0, 50, kControlled),
            privileged = nodes.open(1, 51, kControlled);
  nodes[0].rnic.post_receive(controlled, {element(nodes[0].far, 0, 100)});
  nodes.receive(0, 0, 100);
  // It is no way to a queue pair that has such a one.
  for (const uint32_t qkey : {kControlled, uint32_t{EXRNIC_QKEY_CONTROLLED}, ~0u})
    nodes.send(1, to_qp(send_of(nodes.out(1, 0, 10)), 0, 50, qkey));
  nodes.run();
  CHECK(nodes.counter(0, EXRNIC_COUNTER_BAD_QKEY) == 3);
  CHECK_FALSE(nodes.received(0));
  nodes.send(1, to_qp(send_of(nodes.out(1, 0, 11)), 0, kQpn, kControlled));
  CHECK(nodes[0].wait_receive().byte_length == 11);
  nodes[1].rnic.post(privileged, to_qp(send_of(nodes.out(1, 0, 12)), 0, 50, ~0u));
  CHECK(nodes[1].wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  const exrnic_cqe cqe = nodes[0].wait_receive();
  CHECK(cqe.byte_length == 12);
  CHECK(cqe.qpn == 50);
  nodes.expect_alive();
}

TEST_CASE("UD: the P_Key of a queue pair is what the table says when a datagram leaves or comes") {
  Nodes nodes;
  for (int i = 0; i < 4; ++i) nodes.receive(0, 0, 100);
  const auto send = [&] {
    nodes.send(1, to_qp(send_of(nodes.out(1, 0, 10)), 0, kQpn));
    nodes.run();
    return nodes.received(0).has_value();
  };
  CHECK(send());
  for (const unsigned node : {0u, 1u}) {
    INFO("the table of node " << node);
    for (const uint32_t pkey : {0u, uint32_t{EXRNIC_PKEY_FULL}, EXRNIC_PKEY_DEFAULT}) {
      nodes[node].rnic.set_pkey(kFull, static_cast<uint16_t>(pkey));
      CHECK_FALSE(send());
    }
    CHECK(nodes.counter(0, EXRNIC_COUNTER_BAD_PKEY) == 3 * (node + 1));
    CHECK(nodes.counter(0, EXRNIC_COUNTER_UNRELIABLE_DROPPED) == 3 * (node + 1));
    nodes[node].rnic.set_pkey(kFull, kPartition);
    CHECK(send());
    nodes[node].rnic.set_pkey(kFull, EXRNIC_PKEY_FULL | kPartition);
  }
  CHECK(nodes[0].rnic.query(kQpn).pkey_index == kFull);
  nodes.expect_alive();
}

TEST_CASE("UD: room for a GRH is left in front of a datagram, and counts") {
  constexpr uint32_t kGrh = EXRNIC_GRH_BYTES;
  Nodes nodes(options_on("dc-25g", "star:3"), EXRNIC_QP_FLAGS_GRH);
  const Bytes mark(3000, 0xee);
  for (const uint32_t bytes : {0u, 1u, 100u, kMtu}) {
    // In one element; in two that part in the room; with one behind it.
    const Elements cases[] = {
        {element(nodes[0].far, 60, 2000)},
        {element(nodes[0].far, 60, 17), element(nodes[0].far, 77, 1900)},
        {element(nodes[0].far, 60, kGrh), element(nodes[0].far, 60 + kGrh, 1900)},
    };
    for (const Elements& elements : cases) {
      INFO(bytes << " bytes in " << elements.size() << " elements of " << elements[0].length);
      nodes[0].rnic.write(nodes[0].far, 0, mark);
      nodes[0].receive(elements);
      nodes.send(1, to_qp(send_of(nodes.out(1, 5, bytes)), 0, kQpn));
      const exrnic_cqe cqe = nodes[0].wait_receive();
      CHECK(cqe.status == EXRNIC_CQE_STATUS_SUCCESS);
      CHECK(cqe.byte_length == kGrh + bytes);
      Bytes expected = mark;
      const Bytes sent = nodes[1].rnic.read(nodes[1].near, 5, bytes);
      std::copy(sent.begin(), sent.end(), expected.begin() + 60 + kGrh);
      CHECK(difference(nodes[0].rnic.read(nodes[0].far, 0, mark.size()), expected) == "");
    }
  }
  // It is a part of what a receive must have room for.
  nodes.receive(0, 0, kGrh - 1);
  nodes.send(1, to_qp(send_of({}), 0, kQpn));
  nodes.run();
  CHECK_FALSE(nodes.received(0));
  CHECK(nodes.counter(0, EXRNIC_COUNTER_UNRELIABLE_DROPPED) == 1);
  nodes.expect_alive();
}

TEST_CASE("UD: a receive too short for a message behind a GRH waits for one that fits") {
  constexpr uint32_t kGrh = EXRNIC_GRH_BYTES;
  Nodes nodes(options_on("dc-25g", "star:3"), EXRNIC_QP_FLAGS_GRH);
  nodes.receive(0, 0, kGrh + 50);
  nodes.send(1, to_qp(send_of(nodes.out(1, 0, 51)), 0, kQpn));
  nodes.send(1, to_qp(send_of(nodes.out(1, 0, 50)), 0, kQpn));
  CHECK(nodes[0].wait_receive().byte_length == kGrh + 50);
  nodes.run();
  CHECK(nodes.counter(0, EXRNIC_COUNTER_UNRELIABLE_DROPPED) == 1);
  nodes.expect_alive();
}

TEST_CASE("UD: what finds no receive or is longer than it is dropped; the next one takes it") {
  Nodes nodes;
  nodes.send(1, to_qp(send_of(nodes.out(1, 0, 100)), 0, kQpn));
  nodes.run();
  CHECK(nodes.counter(0, EXRNIC_COUNTER_UNRELIABLE_NO_RECEIVE) == 1);
  nodes.receive(0, 0, 50);
  nodes.receive(0, 100, 50);
  nodes.send(1, to_qp(send_of(nodes.out(1, 0, 51)), 0, kQpn));
  nodes.send(2, to_qp(send_of(nodes.out(2, 0, 50)), 0, kQpn));
  const exrnic_cqe cqe = nodes[0].wait_receive();
  CHECK(cqe.byte_length == 50);
  CHECK(cqe.wqe_index == 0);
  CHECK(sender_of(cqe) == sender(2, kQpn));
  CHECK(difference(nodes[0].rnic.read(nodes[0].far, 0, 50),
                   nodes[2].rnic.read(nodes[2].near, 0, 50)) == "");
  CHECK(nodes.counter(0, EXRNIC_COUNTER_UNRELIABLE_DROPPED) == 2);
  nodes.expect_alive();
}

TEST_CASE("UD: a receive that cannot be written fails with its queue pair, and no other") {
  Nodes nodes;
  QueuePair other = nodes.open(0, 50);
  exrnic_sge wrong = element(nodes[0].far, 0, 100);
  wrong.stag ^= 1;
  nodes[0].receive({wrong});
  nodes[0].rnic.post_receive(other, {element(nodes[0].far, 0, 100)});
  nodes.send(1, to_qp(send_of(nodes.out(1, 0, 20)), 0, kQpn));
  CHECK(nodes[0].wait_receive().status == EXRNIC_CQE_STATUS_LOC_PROT_ERR);
  nodes.run();
  CHECK(nodes[0].state() == EXRNIC_QP_STATE_ERROR);
  nodes.send(1, to_qp(send_of(nodes.out(1, 0, 20)), 0, kQpn));
  nodes.send(1, to_qp(send_of(nodes.out(1, 0, 21)), 0, 50));
  CHECK(nodes[0].wait_receive().byte_length == 21);
  CHECK(nodes.counter(0, EXRNIC_COUNTER_UNRELIABLE_DROPPED) == 2);
  CHECK(nodes[1].state() == EXRNIC_QP_STATE_RTS);
}

TEST_CASE("UD: work that no datagram can be is refused, and sends nothing") {
  const Elements none;
  struct Case {
    const char* what;
    Work work;
    exrnic_cqe_status status;
  };
  Work push = to_qp(send_of(none), 1, kQpn), pull = push, invalidate = push;
  push.opcode = EXRNIC_WQE_OPCODE_PUSH;
  pull.opcode = EXRNIC_WQE_OPCODE_PULL;
  invalidate.opcode = EXRNIC_WQE_OPCODE_SEND_INVALIDATE;
  const auto to = [&](uint64_t remote_to) {
    Work work = send_of(none);
    work.remote_to = remote_to;
    return work;
  };
  const Case cases[] = {
      {"PUSH", push, EXRNIC_CQE_STATUS_LOC_QP_OP_ERR},
      {"PULL", pull, EXRNIC_CQE_STATUS_LOC_QP_OP_ERR},
      {"SEND_INVALIDATE", invalidate, EXRNIC_CQE_STATUS_LOC_QP_OP_ERR},
      {"beyond the nodes", to_qp(send_of(none), EXRNIC_MAX_NODE, kQpn),
       EXRNIC_CQE_STATUS_LOC_QP_OP_ERR},
      {"a number of 25 bits", to(uint64_t{1} << 32 | 1u << 24), EXRNIC_CQE_STATUS_LOC_QP_OP_ERR},
      {"a group of one node", to(uint64_t{1} << 32 | EXRNIC_GROUP_QPN),
       EXRNIC_CQE_STATUS_LOC_QP_OP_ERR},
      {"too long", to_qp(send_of({{kNearBase, kMtu + 1, kNearStag}}), 1, kQpn),
       EXRNIC_CQE_STATUS_LOC_LEN_ERR},
  };
  for (const Case& c : cases) {
    INFO(c.what);
    Nodes nodes(options_for("dc-25g"));
    const uint64_t before = nodes.counter(0, EXRNIC_COUNTER_FRAMES_TX);
    nodes[0].post(c.work);
    nodes[0].post(to_qp(send_of(none), 1, kQpn));
    CHECK(nodes[0].wait().status == c.status);
    CHECK(nodes[0].wait().status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
    CHECK(nodes[0].state() == EXRNIC_QP_STATE_ERROR);
    CHECK(nodes.counter(0, EXRNIC_COUNTER_FRAMES_TX) == before);
  }
}

TEST_CASE("UD: a queue pair hears datagrams alone, and those of other services hear none") {
  Nodes nodes(options_for("dc-25g"));
  QueuePairOptions connected;
  connected.recv_cq = &nodes[0].recv_cq;
  connected.service = EXRNIC_SERVICE_UC;
  QueuePair uc = nodes[0].rnic.create_qp(50, End::kPage, End::kPd, nodes[0].cq, connected);
  nodes[0].rnic.connect(uc, 1, kQpn);
  nodes[0].rnic.post_receive(uc, {element(nodes[0].far, 0, 100)});
  nodes.send(1, to_qp(send_of(nodes.out(1, 0, 10)), 0, 50));
  nodes[1].receive({element(nodes[1].far, 0, 100)});
  nodes[0].rnic.post(uc, send_of(nodes.out(0, 0, 10)));
  CHECK(nodes[0].wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  nodes.run();
  for (const unsigned node : {0u, 1u}) {
    CHECK_FALSE(nodes.received(node));
    CHECK(nodes.counter(node, EXRNIC_COUNTER_UNRELIABLE_DROPPED) == 1);
    CHECK(nodes.counter(node, EXRNIC_COUNTER_BAD_QKEY) == 0);
  }
  // Its introduction is refused: there is no queue pair of UC.
  CHECK(nodes.counter(1, EXRNIC_COUNTER_TERMINATES_TX) == 1);
  for (const unsigned node : {0u, 1u}) CHECK(nodes[node].state() == EXRNIC_QP_STATE_RTS);
}

// ---- Groups

void expect_copy(Nodes& nodes, unsigned node, uint32_t qpn, const Bytes& sent, uint32_t from) {
  INFO("node " << node << " queue pair " << qpn);
  const exrnic_cqe cqe = nodes[node].wait_receive();
  CHECK(cqe.status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(cqe.qpn == qpn);
  CHECK(cqe.byte_length == sent.size());
  CHECK(sender_of(cqe) == sender(from, kQpn));
  CHECK((cqe.flags & EXRNIC_CQE_FLAGS_GROUP) != 0);
  CHECK(cqe.group == kGroup);
  const uint64_t at = qpn == kQpn ? 0 : 5000;
  CHECK(difference(nodes[node].rnic.read(nodes[node].far, at, sent.size()), sent) == "");
}

TEST_CASE("a datagram to a group reaches each attached queue pair once, on any network") {
  for (const auto& [profile, topology] :
       {std::pair("dc-25g", "star:4"), {"dc-25g", "ring:4"}, {"rhinet2", "star:4"}}) {
    INFO(profile << " " << topology);
    Nodes nodes(options_on(profile, topology));
    QueuePair second = nodes.open(1, 50);
    for (const unsigned node : {0u, 1u, 2u, 3u}) nodes.receive(node, 0, 2000);
    nodes[1].rnic.post_receive(second, {element(nodes[1].far, 5000, 2000)});
    for (const unsigned node : {0u, 1u, 2u})
      CHECK(nodes[node].rnic.attach(kQpn, kGroup) == EXRNIC_MBOX_STATUS_OK);
    CHECK(nodes[1].rnic.attach(50, kGroup) == EXRNIC_MBOX_STATUS_OK);
    CHECK(nodes[3].rnic.attach(kQpn, kGroup + 1) == EXRNIC_MBOX_STATUS_OK);
    nodes.send(0, to_group(send_of(nodes.out(0, 9, 900)), kGroup));
    nodes.run();
    const Bytes sent = nodes[0].rnic.read(nodes[0].near, 9, 900);
    expect_copy(nodes, 0, kQpn, sent, 0);  // the sender's own
    expect_copy(nodes, 1, kQpn, sent, 0);
    expect_copy(nodes, 1, 50, sent, 0);
    expect_copy(nodes, 2, kQpn, sent, 0);
    for (const unsigned node : {0u, 1u, 2u, 3u}) CHECK_FALSE(nodes.received(node));
    CHECK(nodes.counter(1, EXRNIC_COUNTER_GROUP_COPIES) == 1);
    CHECK(nodes.counter(2, EXRNIC_COUNTER_GROUP_COPIES) == 0);
    CHECK(nodes.counter(3, EXRNIC_COUNTER_UNRELIABLE_DROPPED) == 1);
    nodes.expect_alive();
  }
}

TEST_CASE("a queue pair of several groups hears for which of them a datagram was") {
  Nodes nodes;
  for (const uint32_t group : {kGroup, 0u, uint32_t{EXRNIC_GROUP_MAX}})
    CHECK(nodes[1].rnic.attach(kQpn, group) == EXRNIC_MBOX_STATUS_OK);
  for (const uint32_t group : {0u, uint32_t{EXRNIC_GROUP_MAX}, kGroup}) {
    nodes.receive(1, 0, 100);
    nodes.send(0, to_group(send_of(nodes.out(0, 0, 10)), group));
    const exrnic_cqe cqe = nodes[1].wait_receive();
    CHECK((cqe.flags & EXRNIC_CQE_FLAGS_GROUP) != 0);
    CHECK(cqe.group == group);
  }
  nodes.receive(1, 0, 100);
  nodes.send(0, to_qp(send_of(nodes.out(0, 0, 10)), 1, kQpn));
  CHECK((nodes[1].wait_receive().flags & EXRNIC_CQE_FLAGS_GROUP) == 0);
  nodes.expect_alive();
}

TEST_CASE("each copy of a datagram to a group is judged by itself") {
  Nodes nodes;
  QueuePair other_key = nodes.open(1, 50, kQkey + 1), third = nodes.open(1, 51);
  for (const uint32_t qpn : {50u, kQpn, 51u})
    CHECK(nodes[1].rnic.attach(qpn, kGroup) == EXRNIC_MBOX_STATUS_OK);
  nodes[1].rnic.post_receive(other_key, {element(nodes[1].far, 0, 100)});
  nodes[1].rnic.post_receive(third, {element(nodes[1].far, 5000, 100)});
  nodes.send(0, to_group(send_of(nodes.out(0, 0, 100)), kGroup));
  nodes.run();
  expect_copy(nodes, 1, 51, nodes[0].rnic.read(nodes[0].near, 0, 100), 0);
  CHECK(nodes.counter(1, EXRNIC_COUNTER_BAD_QKEY) == 1);
  CHECK(nodes.counter(1, EXRNIC_COUNTER_UNRELIABLE_NO_RECEIVE) == 1);
  CHECK(nodes.counter(1, EXRNIC_COUNTER_UNRELIABLE_DROPPED) == 2);
  CHECK(nodes.counter(1, EXRNIC_COUNTER_GROUP_COPIES) == 2);
  // A receive that is not there costs nothing of the receive buffer.
  for (uint32_t i = 0; i < 104; ++i) {
    nodes[0].post(to_group(send_of(nodes.out(0, 0, kMtu)), kGroup));
    if (i % 8 == 7)
      for (int k = 0; k < 8; ++k) CHECK(nodes[0].wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  }
  nodes.run();
  nodes.receive(1, 0, 100);
  nodes.send(0, to_qp(send_of(nodes.out(0, 0, 40)), 1, kQpn));
  CHECK(nodes[1].wait_receive().byte_length == 40);
  CHECK(nodes.counter(1, EXRNIC_COUNTER_RX_OVERFLOW) == 0);
  nodes.expect_alive();
}

// Of each of four nodes; and how long all of them take on a line of 25 Gb/s, 100 bytes each.
constexpr uint32_t kDatagrams = 60;
constexpr uint64_t kFloodNs = 4 * kDatagrams * 100 * 8 / 25;

// Nodes 2 and on send short datagrams as fast as they can, while node 1 PUSHes to node 0: how long
// does that take at most?
uint64_t push_ns_beside_a_flood(Nodes& nodes, const Work& datagram, uint32_t datagrams) {
  QueuePair pair[2];
  for (unsigned i = 0; i < 2; ++i) {
    pair[i] = nodes[i].rnic.create_qp(40 + i, End::kPage, End::kPd, nodes[i].cq);
  }
  nodes[0].rnic.connect(pair[0], 1, 41);
  nodes[1].rnic.connect(pair[1], 0, 40);
  nodes.run();
  for (uint32_t i = 0; i < datagrams; ++i)
    for (unsigned node = 2; node < nodes.ends.size(); ++node)
      nodes[node].rnic.put(nodes[node].qp, datagram);
  for (unsigned node = 2; node < nodes.ends.size(); ++node) nodes[node].rnic.ring(nodes[node].qp);
  uint64_t longest = 0;
  for (int i = 0; i < 3; ++i) {
    const uint64_t begin = nodes.testbed.now_ns();
    nodes[1].rnic.post(pair[1], push_of(nodes.out(1, 0, 8), 10'000));
    CHECK(nodes[1].wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    longest = std::max(longest, nodes.testbed.now_ns() - begin);
  }
  nodes.run();
  CHECK(nodes.counter(1, EXRNIC_COUNTER_RETRANSMITS) == 0);
  return longest;
}

TEST_CASE("a flood to a group that nobody is attached to costs the reliable class nothing") {
  Work work = inlined(send_of({}), Bytes(8));
  work.flags = EXRNIC_WQE_FLAGS_INLINE;
  const auto options = options_on("dc-25g", "star:6");
  Nodes quiet(options), flooded(options);
  const uint64_t alone = push_ns_beside_a_flood(quiet, work, 0);
  const uint64_t beside = push_ns_beside_a_flood(flooded, to_group(work, kGroup), kDatagrams);
  CHECK(flooded.counter(0, EXRNIC_COUNTER_UNRELIABLE_DROPPED) == 4 * kDatagrams);
  CHECK(flooded.counter(0, EXRNIC_COUNTER_RX_OVERFLOW) == 0);
  CHECK(beside < alone + 2 * kFloodNs);  // before it on the line, and before its acknowledgement
  flooded.expect_alive();
}

TEST_CASE("datagrams that are served do not hold up the reliable class") {
  Work work = inlined(send_of({}), Bytes(8));
  work.flags = EXRNIC_WQE_FLAGS_INLINE;
  const auto options = options_on("dc-25g", "star:6");
  Nodes quiet(options), flooded(options);
  const uint64_t alone = push_ns_beside_a_flood(quiet, work, 0);
  // Eight queue pairs get a copy of each: far more than the responder can serve.
  for (uint32_t qpn = 50; qpn < 58; ++qpn) {
    QueuePair qp = flooded.open(0, qpn);
    for (int i = 0; i < 20; ++i)
      flooded[0].rnic.post_receive(qp, {element(flooded[0].far, 0, 100)});
    CHECK(flooded[0].rnic.attach(qpn, kGroup) == EXRNIC_MBOX_STATUS_OK);
  }
  const uint64_t beside = push_ns_beside_a_flood(flooded, to_group(work, kGroup), kDatagrams);
  CHECK(flooded.counter(0, EXRNIC_COUNTER_GROUP_COPIES) != 0);
  CHECK(beside < alone + 2 * kFloodNs);
  flooded.expect_alive();
}

TEST_CASE("a queue pair that is detached or destroyed gets nothing more of its group") {
  Nodes nodes;
  nodes.open(1, 50);
  RnicDriver& rnic = nodes[1].rnic;
  for (const uint32_t qpn : {kQpn, 50u}) CHECK(rnic.attach(qpn, kGroup) == EXRNIC_MBOX_STATUS_OK);
  CHECK(rnic.detach(kQpn, kGroup) == EXRNIC_MBOX_STATUS_OK);
  rnic.must(EXRNIC_MBOX_OP_DESTROY_QP, exrnic_mbox_object{50});
  QueuePair next = nodes.open(1, 50);  // of the same number
  rnic.post_receive(next, {element(nodes[1].far, 0, 100)});
  nodes.receive(1, 0, 100);
  nodes.send(0, to_group(send_of(nodes.out(0, 0, 10)), kGroup));
  nodes.run();
  CHECK_FALSE(nodes.received(1));
  CHECK(nodes.counter(1, EXRNIC_COUNTER_UNRELIABLE_DROPPED) == 1);
}

TEST_CASE("a datagram to a group reaches no later queue pair of a number that was attached") {
  TestbedOptions options = options_on("dc-25g", "star:3");
  options.faults_towards[1].script[0] = Fault::kDelay;
  options.faults_towards[1].delay_ns = 20'000;
  for (const bool anew : {false, true}) {
    CAPTURE(anew);
    Nodes nodes(options);
    RnicDriver& rnic = nodes[1].rnic;
    QueuePair member = nodes.open(1, 50);
    CHECK(rnic.attach(50, kGroup) == EXRNIC_MBOX_STATUS_OK);
    nodes.send(0, to_group(imm(send_of(nodes.out(0, 0, 100)), 7), kGroup));
    if (anew) {
      rnic.must(EXRNIC_MBOX_OP_DESTROY_QP, exrnic_mbox_object{50});
      member = nodes.open(1, 50);
    }
    rnic.post_receive(member, {element(nodes[1].far, 0, 4096)});
    nodes.run();
    CHECK(rnic.poll(nodes[1].recv_cq, End::kPage).has_value() == !anew);
  }
}

TEST_CASE("what cannot be attached or detached is refused") {
  Nodes nodes(options_for("dc-25g"));
  RnicDriver& rnic = nodes[0].rnic;
  rnic.create_qp(60, End::kPage, End::kPd, nodes[0].cq);
  CHECK(rnic.attach(EXRNIC_MAX_QP, kGroup) == EXRNIC_MBOX_STATUS_BAD_INDEX);
  CHECK(rnic.attach(61, kGroup) == EXRNIC_MBOX_STATUS_BAD_STATE);
  CHECK(rnic.attach(60, kGroup) == EXRNIC_MBOX_STATUS_BAD_STATE);  // of RC
  CHECK(rnic.attach(kQpn, EXRNIC_GROUP_MAX + 1) == EXRNIC_MBOX_STATUS_BAD_PARAMETER);
  CHECK(rnic.detach(kQpn, kGroup) == EXRNIC_MBOX_STATUS_BAD_STATE);
  CHECK(rnic.attach(kQpn, kGroup) == EXRNIC_MBOX_STATUS_OK);
  CHECK(rnic.attach(kQpn, kGroup) == EXRNIC_MBOX_STATUS_BAD_STATE);
  for (uint32_t i = 1; i < EXRNIC_MAX_ATTACHED; ++i)
    CHECK(rnic.attach(kQpn, i) == EXRNIC_MBOX_STATUS_OK);
  CHECK(rnic.attach(kQpn, kGroup + 1) == EXRNIC_MBOX_STATUS_BAD_INDEX);
  CHECK(rnic.detach(kQpn, 7) == EXRNIC_MBOX_STATUS_OK);
  CHECK(rnic.attach(kQpn, kGroup + 1) == EXRNIC_MBOX_STATUS_OK);
}

TEST_CASE("a queue pair of UD needs a P_Key of the table, and no peer") {
  Nodes nodes(options_for("dc-25g"));
  RnicDriver& rnic = nodes[0].rnic;
  rnic.create_qp(60, End::kPage, End::kPd, nodes[0].cq, datagrams());
  exrnic_mbox_modify_qp change{};
  change.qpn = 60;
  change.state = EXRNIC_QP_STATE_INIT;
  change.attributes = EXRNIC_QP_ATTRIBUTES_QKEY | EXRNIC_QP_ATTRIBUTES_PKEY_INDEX;
  rnic.set_pkey(kNone, EXRNIC_PKEY_FULL);
  for (const uint32_t index : {1u, kNone, uint32_t{EXRNIC_PKEYS}, ~0u}) {
    change.pkey_index = index;
    CHECK(rnic.command(EXRNIC_MBOX_OP_MODIFY_QP, change) == EXRNIC_MBOX_STATUS_BAD_PARAMETER);
    CHECK(rnic.query(60).state == EXRNIC_QP_STATE_RESET);
  }
  change.pkey_index = kLimited;
  rnic.must(EXRNIC_MBOX_OP_MODIFY_QP, change);
  CHECK(rnic.query(60).pkey_index == kLimited);
  CHECK(rnic.modify(60, EXRNIC_QP_STATE_RTR, 0, 60) == EXRNIC_MBOX_STATUS_BAD_STATE);
  change.state = EXRNIC_QP_STATE_RTR;
  change.attributes = 0;
  rnic.must(EXRNIC_MBOX_OP_MODIFY_QP, change);
  CHECK(rnic.query(60).dest_node == 0);
}

TEST_CASE("the table of P_Keys has 16 bits an entry, and after reset one partition") {
  Testbed testbed(options_for("dc-25g"), test_cores());
  RnicDriver rnic(testbed, 0);
  for (uint32_t i = 0; i <= EXRNIC_PKEYS; ++i) {
    const uint32_t at = EXRNIC_REG_PKEYS + 4 * i;
    const uint32_t reset = i == 0 ? EXRNIC_PKEY_DEFAULT : i < EXRNIC_PKEYS ? 0 : ~0u;
    CHECK(rnic.read_register(at) == reset);
    rnic.write_register(at, 0xabcd'1230 + i);
    CHECK(rnic.read_register(at) == (i < EXRNIC_PKEYS ? 0x1230 + i : ~0u));
  }
}

TEST_CASE("room for a GRH is for queue pairs of UD alone") {
  Nodes nodes(options_for("dc-25g"));
  QueuePairOptions options = datagrams(nullptr, EXRNIC_QP_FLAGS_GRH << 1);
  CHECK_THROWS(nodes[0].rnic.create_qp(60, End::kPage, End::kPd, nodes[0].cq, options));
  options.flags = EXRNIC_QP_FLAGS_GRH;
  for (const auto service : {EXRNIC_SERVICE_RC, EXRNIC_SERVICE_UC}) {
    options.service = service;
    CHECK_THROWS(nodes[0].rnic.create_qp(60, End::kPage, End::kPd, nodes[0].cq, options));
  }
}

TEST_CASE("over a bad network datagrams come whole or not at all, and RC beside them all of its") {
  constexpr uint32_t kMessages = 16;
  TestbedOptions options = options_on("dc-25g", "star:3");
  options.seed = 6;
  options.faults.rates = {0.05, 0.05, 0.05, 0.05, 0.05};
  Nodes nodes(options);
  Capture capture;
  capture.attach(nodes.testbed);
  QueuePair reliable[2];
  for (unsigned i = 0; i < 2; ++i)
    reliable[i] = nodes[i].rnic.create_qp(40 + i, End::kPage, End::kPd, nodes[i].cq);
  nodes[0].rnic.connect(reliable[0], 1, 41);
  nodes[1].rnic.connect(reliable[1], 0, 40);
  for (const unsigned node : {1u, 2u})
    CHECK(nodes[node].rnic.attach(kQpn, kGroup) == EXRNIC_MBOX_STATUS_OK);
  uint32_t came = 0;
  for (uint32_t i = 0; i < kMessages; ++i) {
    const uint32_t bytes = i * 20;
    for (const unsigned node : {1u, 2u})
      for (int k = 0; k < 3; ++k) nodes.receive(node, 0, kMtu);
    const Work work = imm(send_of(nodes.out(0, i * 100, bytes)), i);
    nodes[0].post(i % 2 ? to_group(work, kGroup) : to_qp(work, 1, kQpn));
    nodes[0].rnic.post(reliable[0], push_of(nodes.out(0, i * 50, 1500), 10'000));
    for (int k = 0; k < 2; ++k)
      CHECK(nodes[0].wait(200'000'000).status == EXRNIC_CQE_STATUS_SUCCESS);
    nodes.run();
    for (const unsigned node : {1u, 2u}) {
      while (const auto cqe = nodes.received(node)) {
        CHECK(cqe->status == EXRNIC_CQE_STATUS_SUCCESS);
        CHECK(cqe->imm_data <= i);
        CHECK(cqe->byte_length == cqe->imm_data * 20);
        ++came;
      }
    }
    CHECK(difference(nodes[1].rnic.read(nodes[1].far, 10'000, 1500),
                     nodes[0].rnic.read(nodes[0].near, i * 50, 1500)) == "");
  }
  CHECK(came > kMessages);
  nodes.expect_alive();
  TraceRules rules;
  rules.least_rto_ns = uint64_t{EXRNIC_RTO_CYCLES_LEAST} * 1'000'000 / options.profile.clock_khz;
  const TraceVerdict verdict = check_trace(capture.frames, 3, rules);
  for (const std::string& fault : verdict.faults) FAIL_CHECK(fault);
}

}  // namespace
}  // namespace exrnic::testing
