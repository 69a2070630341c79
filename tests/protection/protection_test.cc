// SPDX-License-Identifier: BSD-2-Clause
// What a work request, a peer or a process must not do: each is refused with the RFC's code, and
// not one byte is written.
#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <string>
#include <utility>

#include "tests/support/pair.h"

namespace exrnic::testing {
namespace {

constexpr uint64_t kLength = 10'000;

struct Refusal {
  Pair pair;
  Region source = source_of(pair.left, kLength);
  Region sink = sink_of(pair.right, kLength);
  std::vector<Bytes> terminates;  // frames with a terminate message, as they arrived at the left
  uint64_t last_refusal = 0;      // number of the one that arrived last

  Refusal() {
    pair.testbed.node(0).mac().observe([this](auto, const Bytes& wire) {
      const uint8_t* ddp = wire.data() + EXRNIC_ETH_BYTES + EXRNIC_EFE_BYTES;
      const bool has_segment = exrnic_efe_length(wire.data() + EXRNIC_ETH_BYTES) > 0;
      // It is repeated until it has been heard.
      const uint64_t refusal = exrnic_efe_refusal(wire.data() + EXRNIC_ETH_BYTES);
      if (refusal != 0 && std::exchange(last_refusal, refusal) == refusal) return;
      if (has_segment && !exrnic_ddp_untagged_t(ddp) &&
          exrnic_ddp_untagged_opcode(ddp) == EXRNIC_RDMAP_OPCODE_TERMINATE)
        terminates.push_back(wire);
    });
  }

  // Of three frames.
  Push good() const { return {&source, 0, 3000, kSinkStag, kSinkBase, true}; }
  uint32_t state(Side& side) { return side.rnic.query(side.qp.qpn).state; }
  size_t data_writes() { return pair.right.rnic.host().writes().size(); }
};

struct RemoteCase {
  std::string name;
  uint16_t code;
  std::function<void(Refusal&, Push&)> spoil;
};

// Codes: layer, error type, error code of RFC 5040, 4.8 and RFC 5041, 8, written out by hand.
const std::vector<RemoteCase>& remote_cases() {
  static const std::vector<RemoteCase> cases = {
      {"an STag with another key", 0x1100, [](Refusal&, Push& p) { p.remote_stag ^= 0x01; }},
      {"an STag that names no region", 0x1100, [](Refusal&, Push& p) { p.remote_stag += 0x100; }},
      {"an STag beyond the table", 0x1100, [](Refusal&, Push& p) { p.remote_stag = 0xffffff56; }},
      {"a first byte before the region", 0x1101, [](Refusal&, Push& p) { p.remote_to -= 1; }},
      {"a last byte behind the region", 0x1101,
       [](Refusal&, Push& p) { p.remote_to += kLength - p.length + 1; }},
      {"an offset that wraps", 0x1103, [](Refusal&, Push& p) { p.remote_to = ~uint64_t{0} - 10; }},
      {"a region of another protection domain", 0x1102,
       [](Refusal& r, Push& p) {
         p.remote_stag = 0x00000902;
         r.pair.right.rnic.create_region(0x00000902, Side::kPd + 1, kSinkBase, kLength,
                                         EXRNIC_ACCESS_REMOTE_WRITE);
       }},
      {"a region without the right to write", 0x0102,
       [](Refusal& r, Push& p) {
         p.remote_stag = 0x00000902;
         r.pair.right.rnic.create_region(0x00000902, Side::kPd, kSinkBase, kLength,
                                         EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_REMOTE_READ);
       }},
      {"a region that was invalidated", 0x1100,
       [](Refusal& r, Push&) {
         r.pair.right.rnic.must(EXRNIC_MBOX_OP_INVALIDATE_MR, exrnic_mbox_object{kSinkStag});
       }},
  };
  return cases;
}

TEST_CASE("a PUSH that the peer must refuse ends in its error, and writes nothing") {
  for (const auto& one : remote_cases()) {
    INFO(one.name);
    Refusal r;
    std::mt19937_64 random(5);
    r.pair.left.rnic.write(r.source, 0, random_bytes(random, kLength));
    Push bad = r.good();
    bad.length = 100;
    one.spoil(r, bad);
    r.pair.left.rnic.post(r.pair.left.qp, bad);
    const exrnic_cqe cqe = r.pair.left.wait();
    CHECK(cqe.status == EXRNIC_CQE_STATUS_REM_ACCESS_ERR);
    CHECK(cqe.detail == one.code);
    r.pair.testbed.run_while_busy(10'000'000);
    CHECK(r.data_writes() == 0);
    CHECK(r.pair.right.rnic.host().refused_writes().empty());
    CHECK(r.state(r.pair.left) == EXRNIC_QP_STATE_ERROR);
    CHECK(r.state(r.pair.right) == EXRNIC_QP_STATE_ERROR);
    REQUIRE(r.terminates.size() == 1);
    const uint8_t* ddp = r.terminates[0].data() + EXRNIC_ETH_BYTES + EXRNIC_EFE_BYTES;
    CHECK(exrnic_ddp_untagged_qn(ddp) == 2);
    const uint8_t* body = ddp + EXRNIC_DDP_UNTAGGED_BYTES;
    CHECK((body[0] << 8 | body[1]) == one.code);
    CHECK(body[2] == 0xc0);  // segment length and DDP header are quoted, no RDMAP header
    CHECK(exrnic_ddp_tagged_stag(body + 6) == bad.remote_stag);
    CHECK(exrnic_ddp_tagged_to(body + 6) == bad.remote_to);
  }
}

TEST_CASE("a message that leaves its region is placed as far as its last whole segment inside") {
  Refusal r;
  std::mt19937_64 random(6);
  const Bytes data = random_bytes(random, 3000);
  r.pair.left.rnic.write(r.source, 0, data);
  Push bad = r.good();
  bad.remote_to += kLength - 3000 + 1;
  r.pair.left.rnic.post(r.pair.left.qp, bad);
  const exrnic_cqe cqe = r.pair.left.wait();
  CHECK(cqe.status == EXRNIC_CQE_STATUS_REM_ACCESS_ERR);
  CHECK(cqe.detail == EXRNIC_TERM_CODE_TAGGED_BOUNDS);
  Bytes expected(kLength, 0);
  std::copy_n(data.begin(), 2 * EXRNIC_MTU_DEFAULT, expected.begin() + kLength - 3000 + 1);
  CHECK(difference(r.pair.right.rnic.read(r.sink, 0, kLength), expected) == "");
  CHECK(r.pair.right.rnic.host().refused_writes().empty());
}

TEST_CASE("the refused work request fails, those before it succeed, those behind it are flushed") {
  Refusal r;
  Push bad = r.good();
  bad.remote_stag ^= 1;
  auto& left = r.pair.left;
  for (int i = 0; i < 3; ++i) left.rnic.put(left.qp, RnicDriver::wqe(r.good()));
  left.rnic.put(left.qp, RnicDriver::wqe(bad));
  for (int i = 0; i < 12; ++i) left.rnic.put(left.qp, RnicDriver::wqe(r.good()));
  left.rnic.ring(left.qp);
  for (uint32_t i = 0; i < 16; ++i) {
    const exrnic_cqe cqe = left.wait();
    INFO("completion " << i);
    CHECK(cqe.wqe_index == i);
    CHECK(cqe.status == (i < 3    ? EXRNIC_CQE_STATUS_SUCCESS
                         : i == 3 ? EXRNIC_CQE_STATUS_REM_ACCESS_ERR
                                  : EXRNIC_CQE_STATUS_WR_FLUSH_ERR));
  }
  CHECK(r.terminates.size() == 1);
}

TEST_CASE("an error of one queue pair leaves another between the same nodes alone") {
  Refusal r;
  auto& left = r.pair.left;
  auto& right = r.pair.right;
  QueuePair second_left = left.rnic.create_qp(40, Side::kPage, Side::kPd, left.cq);
  QueuePair second_right = right.rnic.create_qp(41, Side::kPage, Side::kPd, right.cq);
  left.rnic.connect(second_left, 1, 41);
  right.rnic.connect(second_right, 0, 40);
  Push bad = r.good();
  bad.remote_to -= 1;
  left.rnic.put(left.qp, RnicDriver::wqe(bad));
  for (int i = 0; i < 20; ++i) left.rnic.put(second_left, RnicDriver::wqe(r.good()));
  left.rnic.ring(left.qp);
  left.rnic.ring(second_left);
  int good = 0;
  for (int i = 0; i < 21; ++i) {
    const exrnic_cqe cqe = left.wait();
    if (cqe.qpn == 40) {
      CHECK(cqe.status == EXRNIC_CQE_STATUS_SUCCESS);
      ++good;
    } else {
      CHECK(cqe.status == EXRNIC_CQE_STATUS_REM_ACCESS_ERR);
    }
  }
  CHECK(good == 20);
}

TEST_CASE("two nodes that refuse each other's work, with all slots in use, answer each other") {
  Refusal r;
  constexpr uint32_t kQueuePairs = 8;  // as many as slots are reserved for refusals
  Side* sides[2] = {&r.pair.left, &r.pair.right};
  const Region right_source = source_of(r.pair.right, kLength);
  std::vector<QueuePair> qps[2];
  for (uint32_t i = 0; i < kQueuePairs; ++i)
    for (int s : {0, 1}) {
      qps[s].push_back(sides[s]->rnic.create_qp(100 + i, Side::kPage, Side::kPd, sides[s]->cq));
      sides[s]->rnic.connect(qps[s].back(), 1 - s, 100 + i);
    }
  // Each of many frames, so that both sides run out of slots; none has a right to write.
  for (uint32_t i = 0; i < kQueuePairs; ++i)
    for (int s : {0, 1}) {
      const Region& source = s ? right_source : r.source;
      sides[s]->rnic.post(qps[s][i], {&source, 0, 9000, 0xdead00, kSinkBase, true});
    }
  for (int s : {0, 1})
    for (uint32_t i = 0; i < kQueuePairs; ++i) {
      const exrnic_cqe cqe = sides[s]->wait(100'000'000);
      CHECK((cqe.status == EXRNIC_CQE_STATUS_REM_ACCESS_ERR ||
             cqe.status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR));  // flushed: its own side refused first
    }
  for (int s : {0, 1}) CHECK(sides[s]->rnic.counter(EXRNIC_COUNTER_PEERS_DEAD) == 0);
  CHECK(r.data_writes() == kQueuePairs);  // the CQEs
}

struct LocalCase {
  std::string name;
  exrnic_cqe_status status;
  std::function<void(exrnic_wqe&)> spoil;
};

TEST_CASE("a work request that the core cannot execute ends in its error, and sends nothing") {
  const std::vector<LocalCase> cases = {
      {"opcode", EXRNIC_CQE_STATUS_LOC_QP_OP_ERR, [](exrnic_wqe& w) { w.opcode = 77; }},
      {"flags", EXRNIC_CQE_STATUS_LOC_QP_OP_ERR, [](exrnic_wqe& w) { w.flags |= 0x80; }},
      {"elements", EXRNIC_CQE_STATUS_LOC_QP_OP_ERR, [](exrnic_wqe& w) { w.num_sge = 3; }},
      {"slots", EXRNIC_CQE_STATUS_LOC_QP_OP_ERR, [](exrnic_wqe& w) { w.num_slots = 0; }},
      {"immediate", EXRNIC_CQE_STATUS_LOC_QP_OP_ERR, [](exrnic_wqe& w) { w.imm_data = 1; }},
      {"sum of elements", EXRNIC_CQE_STATUS_LOC_LEN_ERR, [](exrnic_wqe& w) { w.length -= 1; }},
      {"message too long", EXRNIC_CQE_STATUS_LOC_LEN_ERR,
       [](exrnic_wqe& w) { w.length = w.sge0_length = 0x80000001; }},
      {"local key", EXRNIC_CQE_STATUS_LOC_PROT_ERR, [](exrnic_wqe& w) { w.sge0_stag ^= 1; }},
      {"local bounds", EXRNIC_CQE_STATUS_LOC_PROT_ERR,
       [](exrnic_wqe& w) { w.sge0_address += kLength - w.sge0_length + 1; }},
  };
  for (const auto& one : cases) {
    INFO(one.name);
    Refusal r;
    auto& left = r.pair.left;
    exrnic_wqe wqe = RnicDriver::wqe(r.good());
    one.spoil(wqe);
    left.rnic.put(left.qp, RnicDriver::wqe(r.good()));
    left.rnic.put(left.qp, wqe);
    left.rnic.put(left.qp, RnicDriver::wqe(r.good()));
    left.rnic.ring(left.qp);
    CHECK(left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    const size_t writes = r.data_writes();
    CHECK(left.wait().status == one.status);
    CHECK(left.wait().status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
    r.pair.testbed.run_while_busy(10'000'000);
    CHECK(r.data_writes() == writes);
    CHECK(r.state(left) == EXRNIC_QP_STATE_ERROR);
  }
}

TEST_CASE("memory that the host took back under a work request ends it, and nothing leaves") {
  Refusal r;
  auto& left = r.pair.left;
  left.rnic.host().revoke(r.source.memory.pages[0], 4096);
  left.rnic.post(left.qp, r.good());
  CHECK(left.wait().status == EXRNIC_CQE_STATUS_LOC_PROT_ERR);
  r.pair.testbed.run_while_busy(10'000'000);
  CHECK(r.data_writes() == 0);
  CHECK(left.rnic.counter(EXRNIC_COUNTER_DMA_READ_ERRORS) > 0);
  CHECK(left.rnic.counter(EXRNIC_COUNTER_WQE_ERRORS) == 0);
}

TEST_CASE("a PBL that the peer's host took back is the peer's error") {
  Refusal r;
  r.pair.right.rnic.host().revoke(r.sink.memory.pbl, EXRNIC_PBL_LINE_SIZE);
  r.pair.left.rnic.post(r.pair.left.qp, r.good());
  const exrnic_cqe cqe = r.pair.left.wait();
  CHECK(cqe.status == EXRNIC_CQE_STATUS_REM_OP_ERR);
  CHECK(cqe.detail == EXRNIC_TERM_CODE_STREAM);
  CHECK(r.data_writes() == 0);
}

TEST_CASE("a doorbell from a page that does not own the queue does nothing and is counted") {
  Refusal r;
  auto& left = r.pair.left;
  left.rnic.put(left.qp, RnicDriver::wqe(r.good()));
  const auto refused = [&] { return left.rnic.counter(EXRNIC_COUNTER_DOORBELLS_REFUSED); };
  CHECK(refused() == 0);
  left.rnic.store_doorbell(Side::kPage + 1, EXRNIC_DOORBELL_SQ, left.qp.qpn, 1);
  CHECK(refused() == 1);
  left.rnic.store_doorbell(Side::kPage, EXRNIC_DOORBELL_SQ, left.qp.qpn + 1, 1);  // no such queue
  CHECK(refused() == 2);
  left.rnic.store_doorbell(Side::kPage, EXRNIC_DOORBELL_SQ, left.qp.qpn, 65);  // ring of 64
  CHECK(refused() == 3);
  left.rnic.store_doorbell(Side::kPage + 1, EXRNIC_DOORBELL_CQ, Side::kCqn, 0);
  CHECK(refused() == 4);
  left.rnic.host().store(EXRNIC_BAR_USER, Side::kPage * EXRNIC_USER_PAGE_SIZE, 4, left.qp.qpn);
  CHECK(refused() == 5);
  r.pair.testbed.run_while_busy(10'000'000);
  CHECK(left.rnic.query(left.qp.qpn).sq_producer == 0);
  CHECK(r.data_writes() == 0);
  left.rnic.ring(left.qp);
  CHECK(left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
}

TEST_CASE("a queue pair that is destroyed under traffic touches no memory afterwards") {
  Refusal r;
  auto& left = r.pair.left;
  for (int i = 0; i < 60; ++i) left.rnic.put(left.qp, RnicDriver::wqe(r.good()));
  left.rnic.ring(left.qp);
  left.wait();
  left.rnic.must(EXRNIC_MBOX_OP_DESTROY_QP, exrnic_mbox_object{left.qp.qpn});
  left.rnic.must(EXRNIC_MBOX_OP_INVALIDATE_MR, exrnic_mbox_object{kSourceStag});
  left.rnic.must(EXRNIC_MBOX_OP_DESTROY_CQ, exrnic_mbox_object{Side::kCqn});
  left.rnic.host().revoke(0, ~uint64_t{0});
  left.rnic.host().clear_records();
  r.pair.testbed.run_while_busy(100'000'000);
  CHECK(left.rnic.host().refused_reads() == 0);
  CHECK(left.rnic.host().refused_writes().empty());
  CHECK_FALSE(r.pair.testbed.busy());
}

TEST_CASE("a frame for a queue pair that does not exist is refused at its sender") {
  Refusal r;
  r.pair.right.rnic.must(EXRNIC_MBOX_OP_DESTROY_QP, exrnic_mbox_object{Pair::kRightQpn});
  r.pair.left.rnic.post(r.pair.left.qp, r.good());
  const exrnic_cqe cqe = r.pair.left.wait();
  CHECK(cqe.status == EXRNIC_CQE_STATUS_REM_OP_ERR);
  CHECK(cqe.detail == EXRNIC_TERM_CODE_STREAM);
  CHECK(r.data_writes() == 0);
}

TEST_CASE("receives come back flushed when their queue pair fails") {
  Refusal r;
  auto& left = r.pair.left;
  left.rnic.store_doorbell(Side::kPage, EXRNIC_DOORBELL_RQ, left.qp.qpn, 3);
  r.pair.testbed.run_while_busy(1'000'000);
  REQUIRE(left.rnic.modify(left.qp.qpn, EXRNIC_QP_STATE_ERROR) == EXRNIC_MBOX_STATUS_OK);
  for (uint32_t i = 0; i < 3; ++i) {
    const exrnic_cqe cqe = left.wait();
    CHECK(cqe.opcode == EXRNIC_WQE_OPCODE_RECV);
    CHECK(cqe.status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
    CHECK(cqe.wqe_index == i);
  }
}

TEST_CASE("no queue pair gets firmware, a port, or a group for its peer") {
  Testbed testbed(options_for("dc-25g"), test_cores());
  Side side(testbed, 0, Pair::kLeftQpn);
  REQUIRE(side.rnic.modify(side.qp.qpn, EXRNIC_QP_STATE_INIT) == EXRNIC_MBOX_STATUS_OK);
  for (const uint32_t qpn : {EXRNIC_FW_QPN, EXRNIC_PORT_QPN + 5, EXRNIC_GROUP_QPN, 0xffffffu})
    CHECK(side.rnic.modify(side.qp.qpn, EXRNIC_QP_STATE_RTR, 1, qpn) ==
          EXRNIC_MBOX_STATUS_BAD_PARAMETER);
  CHECK(side.rnic.modify(side.qp.qpn, EXRNIC_QP_STATE_RTR, 1, EXRNIC_RESERVED_QPN - 1) ==
        EXRNIC_MBOX_STATUS_OK);
}

}  // namespace
}  // namespace exrnic::testing
