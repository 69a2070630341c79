// SPDX-License-Identifier: BSD-2-Clause
// Nodes with identifiers as high as their cores can talk to: whatever names a node, on the wire, in
// completions, registers and tables, has all of its bits.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/cluster.h"
#include "tests/support/exchange.h"
#include "tests/support/faulty_core.h"
#include "tests/support/ntb.h"

namespace exrnic::testing {
namespace {

constexpr uint32_t kBytes = 20'000;
constexpr uint32_t kDatagramQpn = 33;
constexpr uint32_t kFirstQpn = 40;  // of a node, as the next ones: one for each of them
constexpr uint32_t kUcQpn = 48;
constexpr uint32_t kWindowQpn = 56;
constexpr uint32_t kQkey = 0x1234;
constexpr uint32_t kGroup = 0xfedc;

uint32_t nodes_of_core() {
  Testbed alone(options_for("dc-25g", 1), test_cores());
  return RnicDriver(alone, 0).read_register(EXRNIC_REG_MAX_NODE);
}

TestbedOptions with_ids(const std::vector<uint16_t>& ids) {
  TestbedOptions options = options_for("dc-25g");
  options.topology = star(static_cast<unsigned>(ids.size()));
  options.topology->ids = ids;
  return options;
}

// The first, the last, and some between, of which none are alike in their low bits.
std::vector<uint16_t> some_ids(uint32_t nodes) {
  std::vector<uint16_t> ids = {0, static_cast<uint16_t>(nodes - 1)};
  for (const uint16_t id : {4095, 3000, 700, 256, 129, 8, 5}) {
    if (id < nodes - 1 && ids.size() < 5) ids.push_back(id);
  }
  return ids;
}

uint32_t sender(uint32_t node, uint32_t qpn) { return node << EXRNIC_SENDER_NODE_SHIFT | qpn; }

Work datagram(Work work, uint64_t node, uint32_t qpn) {
  work.remote_to = node << EXRNIC_DATAGRAM_NODE_SHIFT | qpn;
  work.remote_stag = kQkey;
  return work;
}

QueuePairOptions of_service(exrnic_service service, const Queue* recv_cq = nullptr) {
  QueuePairOptions options;
  options.service = service;
  options.recv_cq = recv_cq;
  options.log_slots = 4;
  return options;
}

struct Numbered {
  explicit Numbered(std::vector<uint16_t> wanted, const CoreFactory& make_core = test_cores())
      : ids(std::move(wanted)), testbed(with_ids(ids), make_core) {
    for (unsigned node = 0; node < ids.size(); ++node) {
      ends.push_back(std::make_unique<End>(testbed, node, kDatagramQpn, kBytes,
                                           of_service(EXRNIC_SERVICE_UD)));
      End& end = *ends.back();
      end.rnic.open_datagrams(end.qp, kQkey);
      std::mt19937_64 random(node);
      end.rnic.write(end.near, 0, random_bytes(random, kBytes));
    }
  }

  End& operator[](unsigned node) { return *ends.at(node); }
  unsigned size() const { return static_cast<unsigned>(ids.size()); }
  void rest() {
    REQUIRE(testbed.run_until([] { return false; }, 50'000'000) == RunResult::kIdle);
  }

  // A queue pair at `from`, with that of the same kind at `to`, which is still to be made.
  QueuePair half(unsigned from, unsigned to, uint32_t first, exrnic_service service) {
    End& end = (*this)[from];
    const QueuePair qp = end.rnic.create_qp(first + to, End::kPage, End::kPd, end.cq,
                                            of_service(service, &end.recv_cq));
    end.rnic.connect(qp, ids[to], first + from);
    return qp;
  }
  // Both; the same one for a node and itself.
  std::pair<QueuePair, QueuePair> connect(unsigned a, unsigned b, uint32_t first,
                                          exrnic_service service = EXRNIC_SERVICE_RC) {
    const QueuePair qp = half(a, b, first, service);
    return {qp, a == b ? qp : half(b, a, first, service)};
  }

  // What `from` has at `near_offset` is at `to`, at `far_offset`.
  void expect_same(unsigned from, unsigned to, uint64_t near_offset, uint64_t far_offset,
                   uint32_t bytes) {
    CHECK(difference((*this)[to].rnic.read((*this)[to].far, far_offset, bytes),
                     (*this)[from].rnic.read((*this)[from].near, near_offset, bytes)) == "");
  }
  void expect_alive() {
    for (const auto& end : ends) {
      CHECK(end->state() == EXRNIC_QP_STATE_RTS);
      CHECK(end->rnic.host().refused_reads() == 0);
      CHECK(end->rnic.host().refused_writes().empty());
      CHECK(end->rnic.counter(EXRNIC_COUNTER_TERMINATES_TX) == 0);
      CHECK(end->rnic.counter(EXRNIC_COUNTER_RX_MISDIRECTED) == 0);
    }
  }

  std::vector<uint16_t> ids;
  Testbed testbed;
  std::vector<std::unique_ptr<End>> ends;
};

// One message each way of what a queue pair of `service` carries.
void send_both_ways(Numbered& nodes, unsigned a, unsigned b, uint32_t first,
                    exrnic_service service) {
  auto [at_a, at_b] = nodes.connect(a, b, first, service);
  CHECK(nodes[a].rnic.query(at_a.qpn).dest_node == nodes.ids[b]);
  const auto send = [&](unsigned from, QueuePair& qp, unsigned to, QueuePair& peer) {
    nodes[to].rnic.post_receive(peer, {element(nodes[to].far, 5000, 1500)});
    nodes.rest();  // the sender knows of it
    nodes[from].rnic.post(qp, push_of({element(nodes[from].near, 100, 3000)}, 200));
    CHECK(nodes[from].wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    nodes[from].rnic.post(qp, send_of({element(nodes[from].near, 7, 1300)}));
    CHECK(nodes[from].wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    CHECK(nodes[to].wait_receive().byte_length == 1300);
    nodes.rest();
    nodes.expect_same(from, to, 100, 200, 3000);
    nodes.expect_same(from, to, 7, 5000, 1300);
    if (service != EXRNIC_SERVICE_RC) return;
    nodes[from].rnic.post(qp, pull_of({element(nodes[from].near, 9000, 2500)}, 300));
    CHECK(nodes[from].wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    nodes.expect_same(from, to, 9000, 300, 2500);
  };
  send(a, at_a, b, at_b);
  if (a != b) send(b, at_b, a, at_a);
}

TEST_CASE("nodes of any numbers PUSH, SEND and PULL, each with each and with itself") {
  Numbered nodes(some_ids(nodes_of_core()));
  for (unsigned a = 0; a < nodes.size(); ++a) {
    INFO("node " << nodes.ids[a]);
    CHECK(nodes[a].rnic.read_register(EXRNIC_REG_NODE_ID) == nodes.ids[a]);
    for (unsigned b = a; b < nodes.size(); ++b) {
      INFO("and node " << nodes.ids[b]);
      send_both_ways(nodes, a, b, kFirstQpn, EXRNIC_SERVICE_RC);
      send_both_ways(nodes, a, b, kUcQpn, EXRNIC_SERVICE_UC);
    }
  }
  nodes.expect_alive();
}

TEST_CASE("a datagram from a node of any number says whose it is, to a queue pair and to a group") {
  Numbered nodes(some_ids(nodes_of_core()));
  for (unsigned node = 0; node < nodes.size(); ++node)
    REQUIRE(nodes[node].rnic.attach(kDatagramQpn, kGroup) == EXRNIC_MBOX_STATUS_OK);
  for (unsigned from = 0; from < nodes.size(); ++from) {
    INFO("from node " << nodes.ids[from]);
    const auto expect_at = [&](unsigned to) {
      INFO("to node " << nodes.ids[to]);
      const exrnic_cqe cqe = nodes[to].wait_receive();
      CHECK(cqe.byte_length == 400);
      CHECK((cqe.flags & EXRNIC_CQE_FLAGS_SENDER) != 0);
      CHECK(cqe.detail == sender(nodes.ids[from], kDatagramQpn));
      nodes.expect_same(from, to, 11, 600, 400);
    };
    const Work work = send_of({element(nodes[from].near, 11, 400)});
    for (unsigned to = 0; to < nodes.size(); ++to) {
      nodes[to].receive({element(nodes[to].far, 600, 400)});
      nodes[from].post(datagram(work, nodes.ids[to], kDatagramQpn));
      CHECK(nodes[from].wait().status == EXRNIC_CQE_STATUS_SUCCESS);
      expect_at(to);
    }
    for (unsigned to = 0; to < nodes.size(); ++to)
      nodes[to].receive({element(nodes[to].far, 600, 400)});
    nodes[from].post(datagram(work, 0, EXRNIC_GROUP_QPN + kGroup));
    CHECK(nodes[from].wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    for (unsigned to = 0; to < nodes.size(); ++to) expect_at(to);
  }
  nodes.expect_alive();
}

TEST_CASE("nodes of any numbers have windows and ports between them") {
  Numbered nodes(some_ids(nodes_of_core()));
  constexpr uint32_t kVector = 9;
  for (unsigned a = 0; a < nodes.size(); ++a) {
    for (unsigned b = a + 1; b < nodes.size(); ++b) {
      INFO("node " << nodes.ids[a] << " and node " << nodes.ids[b]);
      const QueuePair qp = nodes.connect(a, b, kWindowQpn).first;
      RemoteWindow window(nodes[a].rnic, b);
      REQUIRE(window.set(qp.qpn, kFarStag, kFarBase, kBytes, kStore | kLoad) ==
              EXRNIC_MBOX_STATUS_OK);
      const uint64_t value = 0x1234'5678'9abc'0000 + 16 * a + b;
      window.store(64, 8, value);
      nodes.rest();
      CHECK(window.load(64, 8) == value);
      CHECK(window.close() == EXRNIC_MBOX_STATUS_OK);
      Port here(nodes[a].rnic, b), there(nodes[b].rnic, a);
      here.open(nodes.ids[b], a, kVector);
      there.open(nodes.ids[a], b, kVector);
      nodes.rest();
      CHECK(here.read(EXRNIC_REG_PORT_PEER) == (uint32_t{nodes.ids[b]} << 16 | a));
      REQUIRE(here.linked());
      REQUIRE(there.linked());
      here.ring(1u << b);
      there.set_peer_spad(3, 0xabcd'0000 + b);
      nodes.rest();
      CHECK(there.bells() == 1u << b);
      CHECK(here.spad(3) == 0xabcd'0000 + b);
    }
  }
  nodes.expect_alive();
}

TEST_CASE("who says another number of its queue pair than there can be says no other node") {
  const uint32_t nodes_there = nodes_of_core();
  const CoreFactory cores = test_cores();
  Numbered nodes({0, static_cast<uint16_t>(nodes_there - 1)},
                 [&cores](const CoreConfig& config, CoreSink& sink) {
                   Fault fault;
                   fault.transmit = [](Frame& frame) {
                     uint8_t* efe = frame.data.data() + EXRNIC_ETH_BYTES;
                     if (exrnic_efe_klass(efe) == EXRNIC_EFE_CLASS_DATAGRAM)
                       exrnic_efe_set_src_qpn(efe, 0xab'0000 | kDatagramQpn);
                     return true;
                   };
                   return std::make_unique<FaultyCore>(config, sink, cores, fault);
                 });
  nodes[0].receive({element(nodes[0].far, 0, 100)});
  nodes[1].post(datagram(send_of({element(nodes[1].near, 0, 100)}), 0, kDatagramQpn));
  CHECK(nodes[0].wait_receive().detail == sender(nodes_there - 1, kDatagramQpn));
  nodes.rest();
  nodes.expect_alive();
}

TEST_CASE("a node that a core cannot talk to is refused wherever it is named") {
  const uint32_t beyond = nodes_of_core();
  Numbered nodes({0, static_cast<uint16_t>(beyond - 1)});
  End& end = nodes[0];
  const QueuePair qp = end.rnic.create_qp(kFirstQpn, End::kPage, End::kPd, end.cq);
  REQUIRE(end.rnic.modify(kFirstQpn, EXRNIC_QP_STATE_INIT) == EXRNIC_MBOX_STATUS_OK);
  for (const uint32_t node : {beyond, uint32_t{EXRNIC_MAX_NODE}, 0xffff'ffffu})
    CHECK(end.rnic.modify(qp.qpn, EXRNIC_QP_STATE_RTR, node, 1) ==
          EXRNIC_MBOX_STATUS_BAD_PARAMETER);
  CHECK(end.rnic.modify(qp.qpn, EXRNIC_QP_STATE_RTR, beyond - 1, 1) == EXRNIC_MBOX_STATUS_OK);
  Port port(end.rnic, 2);
  port.write(EXRNIC_REG_PORT_PEER, (beyond - 1) << 16 | 7);
  for (const uint32_t node : {beyond, 0xffffu})
    if (node < EXRNIC_MAX_NODE && node >= beyond) port.write(EXRNIC_REG_PORT_PEER, node << 16);
  CHECK(port.read(EXRNIC_REG_PORT_PEER) == ((beyond - 1) << 16 | 7));
  end.post(datagram(send_of({}), beyond - 1, kDatagramQpn));
  CHECK(end.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  end.post(datagram(send_of({}), beyond, kDatagramQpn));
  CHECK(end.wait().status == EXRNIC_CQE_STATUS_LOC_QP_OP_ERR);
}

}  // namespace
}  // namespace exrnic::testing
