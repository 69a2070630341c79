// SPDX-License-Identifier: BSD-2-Clause
// PULLs: many under way, their limits, and what goes wrong with them.
#include <algorithm>
#include <functional>
#include <string>

#include "tests/support/exchange.h"

namespace exrnic::testing {
namespace {

// How many RDMA Read Requests of a node are under way at the most, seen on its wire.
class ReadWatch {
 public:
  explicit ReadWatch(Node& node) {
    node.mac().observe([this](Mac::Direction direction, const Bytes& wire) {
      const uint8_t* efe = wire.data() + EXRNIC_ETH_BYTES;
      if (exrnic_efe_length(efe) == 0) return;
      const uint8_t* ddp = efe + EXRNIC_EFE_BYTES;
      const uint64_t opcode = exrnic_ddp_tagged_opcode(ddp);
      const bool sent = direction == Mac::Direction::kTransmit;
      if (sent && !exrnic_ddp_tagged_t(ddp) && opcode == EXRNIC_RDMAP_OPCODE_READ_REQUEST)
        most_ = std::max(most_, ++under_way_);
      if (!sent && exrnic_ddp_tagged_t(ddp) && opcode == EXRNIC_RDMAP_OPCODE_READ_RESPONSE &&
          exrnic_ddp_tagged_last(ddp))
        --under_way_;
    });
  }

  int most() const { return most_; }
  int under_way() const { return under_way_; }

 private:
  int under_way_ = 0;
  int most_ = 0;
};

TEST_CASE("PULLs in both directions at once, many under way, fetch every byte") {
  Exchange e(200'000);
  constexpr uint32_t kPulls = 50, kEach = 3000;
  End* ends[2] = {&e.left, &e.right};
  std::mt19937_64 random(41);
  std::vector<Bytes> data;
  for (End* end : ends) {
    data.push_back(random_bytes(random, kPulls * kEach));
    end->rnic.write(end->far, 0, data.back());
  }
  for (End* end : ends) {
    for (uint32_t i = 0; i < kPulls; ++i)
      end->rnic.put(end->qp, pull_of({element(end->near, uint64_t{i} * kEach, kEach)}, i * kEach));
    end->rnic.ring(end->qp);
  }
  for (End* end : ends)
    for (uint32_t i = 0; i < kPulls; ++i) {
      const exrnic_cqe cqe = end->wait();
      REQUIRE(cqe.status == EXRNIC_CQE_STATUS_SUCCESS);
      REQUIRE(cqe.opcode == EXRNIC_WQE_OPCODE_PULL);
      REQUIRE(cqe.wqe_index == i);
    }
  for (int side : {0, 1})
    CHECK(difference(ends[side]->rnic.read(ends[side]->near, 0, kPulls * kEach), data[1 - side]) ==
          "");
  for (End* end : ends) CHECK(end->rnic.counter(EXRNIC_COUNTER_READS_SERVED) == kPulls);
  e.expect_nothing_refused();
}

TEST_CASE("as many requests are under way as the queue pair may have, and no more") {
  for (const uint32_t limit : {EXRNIC_MAX_READS, 3}) {
    INFO("limit " << limit);
    QueuePairOptions options;
    options.max_reads_out = limit;
    Exchange e(200'000, options);
    ReadWatch watch(e.testbed.node(0));
    for (uint32_t i = 0; i < 24; ++i)
      e.left.rnic.put(e.left.qp,
                      pull_of(scattered(e.left.near, 12'000, 1 + i % std::min(limit, 8u)), 0));
    e.left.rnic.ring(e.left.qp);
    for (int i = 0; i < 24; ++i) REQUIRE(e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    CHECK(watch.most() == static_cast<int>(limit));
    CHECK(watch.under_way() == 0);
  }
}

TEST_CASE("a PULL that needs more requests than the queue pair may have is malformed") {
  struct {
    uint32_t limit, elements, bytes;
    exrnic_cqe_status status;
  } const cases[] = {{2, 3, 900, EXRNIC_CQE_STATUS_LOC_QP_OP_ERR},
                     {0, 1, 900, EXRNIC_CQE_STATUS_LOC_QP_OP_ERR},
                     {0, 0, 0, EXRNIC_CQE_STATUS_LOC_QP_OP_ERR},
                     {1, 0, 0, EXRNIC_CQE_STATUS_SUCCESS},
                     {2, 3, 0, EXRNIC_CQE_STATUS_SUCCESS}};  // empty elements ask for nothing
  for (const auto& one : cases) {
    INFO(one.elements << " elements, limit " << one.limit << ", " << one.bytes << " bytes");
    QueuePairOptions options;
    options.max_reads_out = one.limit;
    Exchange e(20'000, options);
    const Elements to = one.elements ? scattered(e.left.near, one.bytes, one.elements) : Elements{};
    e.left.post(pull_of(to, 0));
    CHECK(e.left.wait().status == one.status);
  }
}

TEST_CASE(
    "a peer that takes fewer requests than come at once answers those, and refuses the next") {
  constexpr uint32_t kTaken = 2;
  QueuePairOptions options;
  options.max_reads_in = kTaken;
  constexpr uint32_t kBytes = 40'000;  // the third request comes long before one is answered
  Exchange e(16 * kBytes, options);
  for (uint32_t i = 0; i < 16; ++i)
    e.left.rnic.put(e.left.qp, pull_of({element(e.left.near, kBytes * i, kBytes)}, 0));
  e.left.rnic.ring(e.left.qp);
  for (uint32_t i = 0; i < 16; ++i) {
    const exrnic_cqe cqe = e.left.wait();
    INFO("completion " << i);
    CHECK(cqe.wqe_index == i);
    CHECK(cqe.status == (i < kTaken    ? EXRNIC_CQE_STATUS_SUCCESS
                         : i == kTaken ? EXRNIC_CQE_STATUS_REM_OP_ERR
                                       : EXRNIC_CQE_STATUS_WR_FLUSH_ERR));
    if (i == kTaken) CHECK(cqe.detail == EXRNIC_TERM_CODE_UNTAGGED_NO_BUFFER);
  }
}

TEST_CASE(
    "a PULL and a PUSH of the same bytes do not meet: each work request sees those before it") {
  Exchange e(60'000);
  std::mt19937_64 random(42);
  const Bytes data = random_bytes(random, 20'000);
  e.left.rnic.write(e.left.near, 0, data);
  e.left.rnic.put(e.left.qp, push_of({element(e.left.near, 0, 20'000)}, 0));
  e.left.rnic.put(e.left.qp, pull_of(scattered(e.left.near, 20'000, 2), 0));
  e.left.rnic.ring(e.left.qp);
  for (int i = 0; i < 2; ++i) CHECK(e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(difference(e.left.read(e.left.near, scattered(e.left.near, 20'000, 2)), data) == "");
}

TEST_CASE("a PULL into memory that it may not write fails alone, behind those before it") {
  for (const bool bounds : {true, false}) {
    Exchange e(60'000);
    const Region source = e.left.rnic.create_region(kSourceStag, End::kPd, kSourceBase, 4096, 0);
    const exrnic_sge bad = bounds ? element(e.left.near, 59'000, 1001) : element(source, 0, 10);
    for (int i = 0; i < 3; ++i)
      e.left.rnic.put(e.left.qp, pull_of({element(e.left.near, 0, 9000)}, 0));
    e.left.rnic.put(e.left.qp, pull_of({element(e.left.near, 0, 10), bad}, 0));
    e.left.rnic.put(e.left.qp, pull_of({element(e.left.near, 0, 10)}, 0));
    e.left.rnic.ring(e.left.qp);
    for (uint32_t i = 0; i < 5; ++i) {
      const exrnic_cqe cqe = e.left.wait();
      INFO("completion " << i);
      CHECK(cqe.wqe_index == i);
      CHECK(cqe.status == (i < 3    ? EXRNIC_CQE_STATUS_SUCCESS
                           : i == 3 ? EXRNIC_CQE_STATUS_LOC_PROT_ERR
                                    : EXRNIC_CQE_STATUS_WR_FLUSH_ERR));
    }
    CHECK(e.right.rnic.counter(EXRNIC_COUNTER_READS_SERVED) == 3);
  }
}

TEST_CASE("a response whose bytes the peer's host took back ends the PULL in the peer's error") {
  Exchange e(60'000);
  for (const uint64_t page : e.right.far.memory.pages) e.right.rnic.host().revoke(page, 4096);
  for (int i = 0; i < 2; ++i)
    e.left.rnic.put(e.left.qp, pull_of({element(e.left.near, 0, 9000)}, 0));
  e.left.rnic.ring(e.left.qp);
  const exrnic_cqe cqe = e.left.wait();
  CHECK(cqe.status == EXRNIC_CQE_STATUS_REM_OP_ERR);
  CHECK(cqe.detail == EXRNIC_TERM_CODE_STREAM);
  CHECK(e.left.wait().status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
  e.rest();
  CHECK(e.right.state() == EXRNIC_QP_STATE_ERROR);
  CHECK(e.right.rnic.counter(EXRNIC_COUNTER_DMA_READ_ERRORS) > 0);
}

TEST_CASE("a peer that is stopped in the middle of its responses tells, and PULLs end in order") {
  Exchange e(200'000);
  for (uint32_t i = 0; i < 8; ++i)
    e.left.rnic.put(e.left.qp, pull_of({element(e.left.near, 20'000 * i, 20'000)}, 0));
  e.left.rnic.ring(e.left.qp);
  CHECK(e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  REQUIRE(e.right.rnic.modify(Exchange::kRightQpn, EXRNIC_QP_STATE_ERROR) == EXRNIC_MBOX_STATUS_OK);
  int faults = 0;
  bool failed = false;
  for (uint32_t i = 1; i < 8; ++i) {
    const exrnic_cqe cqe = e.left.wait();
    CHECK(cqe.wqe_index == i);
    if (cqe.status == EXRNIC_CQE_STATUS_REM_OP_ERR) {
      ++faults;
      CHECK(cqe.detail == EXRNIC_TERM_CODE_STREAM);
    } else {
      CHECK(cqe.status == (failed ? EXRNIC_CQE_STATUS_WR_FLUSH_ERR : EXRNIC_CQE_STATUS_SUCCESS));
    }
    failed |= cqe.status != EXRNIC_CQE_STATUS_SUCCESS;
  }
  CHECK(faults == 1);
}

TEST_CASE("own work goes on beside the responses to a peer's PULLs") {
  Exchange e(200'000);
  for (uint32_t i = 0; i < 10; ++i)
    e.left.rnic.put(e.left.qp, pull_of({element(e.left.near, 20'000 * (i % 5), 20'000)}, 0));
  e.left.rnic.ring(e.left.qp);
  e.testbed.run_for(5'000);
  e.right.post(push_of({element(e.right.near, 0, 64)}, 0));
  const exrnic_cqe push = e.right.wait();
  CHECK(push.status == EXRNIC_CQE_STATUS_SUCCESS);
  exrnic_cqe last{};
  for (int i = 0; i < 10; ++i) {
    last = e.left.wait();
    CHECK(last.status == EXRNIC_CQE_STATUS_SUCCESS);
  }
  CHECK(push.timestamp < last.timestamp);
}

// Queue pairs that are made for their places alone, all on the same ring.
class Tenants {
 public:
  explicit Tenants(End& end) : rnic_(end.rnic) {
    create_.page = End::kPage;
    create_.pd = End::kPd;
    create_.send_cqn = create_.recv_cqn = end.cq.number;
    create_.sq_log_slots = create_.rq_log_slots = end.qp.sq.log_entries;
    create_.sq_pbl_address = create_.rq_pbl_address = end.qp.sq.ring.pbl;
    create_.srqn = EXRNIC_NO_SRQ;
  }

  exrnic_mbox_status create(uint32_t qpn, uint32_t max_reads_out, uint32_t max_reads_in) {
    create_.qpn = qpn;
    create_.max_reads_out = max_reads_out;
    create_.max_reads_in = max_reads_in;
    return rnic_.command(EXRNIC_MBOX_OP_CREATE_QP, create_);
  }
  exrnic_mbox_status destroy(uint32_t qpn) {
    return rnic_.command(EXRNIC_MBOX_OP_DESTROY_QP, exrnic_mbox_object{qpn});
  }
  // So many, from a number on.
  void fill(uint32_t from, uint32_t count, uint32_t max_reads_out, uint32_t max_reads_in) {
    for (uint32_t qpn = from; qpn < from + count; ++qpn)
      REQUIRE(create(qpn, max_reads_out, max_reads_in) == EXRNIC_MBOX_STATUS_OK);
  }

 private:
  RnicDriver& rnic_;
  exrnic_mbox_create_qp create_{};
};

// Those of an Exchange have low numbers.
constexpr uint32_t kFirstTenant = 30;

void pull_both_ways(Exchange& e) {
  constexpr uint32_t kEach = 900;
  std::mt19937_64 random(44);
  for (End* end : {&e.left, &e.right}) {
    End& peer = end == &e.left ? e.right : e.left;
    const Bytes data = random_bytes(random, kEach * EXRNIC_MAX_READS);
    peer.rnic.write(peer.far, 0, data);
    for (uint32_t i = 0; i < EXRNIC_MAX_READS; ++i)
      end->rnic.put(end->qp, pull_of({element(end->near, uint64_t{i} * kEach, kEach)}, i * kEach));
    end->rnic.ring(end->qp);
    for (uint32_t i = 0; i < EXRNIC_MAX_READS; ++i)
      REQUIRE(end->wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    CHECK(difference(end->rnic.read(end->near, 0, data.size()), data) == "");
  }
}

TEST_CASE("a queue pair has the places for its PULLs from its creation to its end, or is refused") {
  Exchange e(60'000);
  Tenants tenants(e.left);
  const uint32_t last = e.left.rnic.read_register(EXRNIC_REG_MAX_QP) - 1;
  // Besides that of the left end.
  const uint32_t others = e.left.rnic.read_register(EXRNIC_REG_READ_POOL) / EXRNIC_MAX_READS - 1;
  if (others >= last) {  // this build has places for all
    tenants.fill(kFirstTenant, last - kFirstTenant + 1, EXRNIC_MAX_READS, EXRNIC_MAX_READS);
    return pull_both_ways(e);
  }
  const auto refused = [&](uint32_t out, uint32_t in) {
    const bool is = tenants.create(last, out, in) == EXRNIC_MBOX_STATUS_NO_ROOM;
    return is && tenants.destroy(last) == EXRNIC_MBOX_STATUS_BAD_STATE;
  };
  tenants.fill(kFirstTenant, others - 1, EXRNIC_MAX_READS, EXRNIC_MAX_READS);
  uint32_t next = kFirstTenant + others;
  for (uint32_t places = EXRNIC_MAX_READS / 2; places >= 16; places /= 2)
    tenants.fill(next++, 1, places, places);
  // 8 are left, and 12: a limit is rounded up to a power of two.
  tenants.fill(next++, 1, 5, 1);
  CHECK(refused(9, 1));
  CHECK(refused(1, 9));
  CHECK(refused(EXRNIC_MAX_READS, EXRNIC_MAX_READS));
  tenants.fill(next++, 1, 8, 8);
  CHECK(refused(1, 0));
  CHECK(tenants.create(last, 0, 4) == EXRNIC_MBOX_STATUS_OK);
  CHECK(tenants.destroy(last) == EXRNIC_MBOX_STATUS_OK);
  tenants.fill(next, 1, 0, 3);
  CHECK(refused(0, 1));

  // A reset keeps them; others may not have them. The end gives them back.
  for (const auto state : {EXRNIC_QP_STATE_INIT, EXRNIC_QP_STATE_ERROR, EXRNIC_QP_STATE_RESET})
    CHECK(e.left.rnic.modify(kFirstTenant, state) == EXRNIC_MBOX_STATUS_OK);
  CHECK(refused(1, 0));
  CHECK(tenants.destroy(kFirstTenant) == EXRNIC_MBOX_STATUS_OK);
  CHECK(tenants.create(kFirstTenant, EXRNIC_MAX_READS, EXRNIC_MAX_READS) == EXRNIC_MBOX_STATUS_OK);
  pull_both_ways(e);  // whatever the others have
}

TEST_CASE("every queue pair of a device can have PULLs under way, as far as there are slices") {
  Exchange e(60'000);
  Tenants tenants(e.left);
  REQUIRE(tenants.destroy(e.left.qp.qpn) == EXRNIC_MBOX_STATUS_OK);
  tenants.fill(0,
               std::min(e.left.rnic.read_register(EXRNIC_REG_MAX_QP),
                        e.left.rnic.read_register(EXRNIC_REG_READ_POOL) / EXRNIC_READ_SLICE),
               EXRNIC_READ_SLICE, 1);
}

}  // namespace
}  // namespace exrnic::testing
