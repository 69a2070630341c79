// SPDX-License-Identifier: BSD-2-Clause
// Shared receive queues: two queue pairs that take receives from one ring, and its limit event.
#include <algorithm>
#include <optional>
#include <set>

#include "tests/support/exchange.h"

namespace exrnic::testing {
namespace {

constexpr uint32_t kSrqn = 9;

// The right node's two queue pairs share a receive queue; each is connected to one of the left's.
struct Shared {
  static constexpr uint32_t kVector = 4;

  explicit Shared(uint32_t log_slots = 6, uint32_t limit = 0)
      : testbed(options_for("dc-25g"), test_cores()),
        left(testbed, 0, Exchange::kLeftQpn),
        right(testbed, 1, Exchange::kRightQpn),
        events(right.rnic.create_eq(EXRNIC_EQN_ASYNC, kVector)),
        srq(right.rnic.create_srq(kSrqn, Side::kPage, Side::kPd, log_slots, limit)),
        source(source_of(left, 10'000)),
        sink(sink_of(right, 10'000)) {
    QueuePairOptions options;
    options.srqn = kSrqn;
    for (uint32_t i = 0; i < 2; ++i) {
      senders.push_back(left.rnic.create_qp(50 + i, Side::kPage, Side::kPd, left.cq));
      takers.push_back(right.rnic.create_qp(60 + i, Side::kPage, Side::kPd, right.cq, options));
      left.rnic.connect(senders[i], 1, 60 + i);
      right.rnic.connect(takers[i], 0, 50 + i);
    }
  }

  void send(uint32_t which, uint32_t bytes) {
    left.rnic.post(senders[which], send_of({element(source, 0, bytes)}));
  }
  void receive(uint32_t offset, uint32_t bytes) {
    right.rnic.post_receive(srq, {element(sink, offset, bytes)});
  }
  // Once for each event, which is of that queue.
  bool limit_came() {
    testbed.run_for(1000);
    const auto eqe = right.rnic.poll(events);
    if (!eqe) return false;
    CHECK(eqe->event_type == EXRNIC_EQE_TYPE_SRQ_LIMIT);
    CHECK(eqe->object == EXRNIC_EQE_OBJECT_SRQ);
    CHECK(eqe->number == kSrqn);
    return true;
  }
  exrnic_mbox_status set_limit(uint32_t limit) {
    return right.rnic.command(EXRNIC_MBOX_OP_MODIFY_SRQ, exrnic_mbox_modify_srq{kSrqn, limit});
  }

  Testbed testbed;
  Side left;
  Side right;
  EventQueue events;
  SharedReceiveQueue srq;
  Region source, sink;
  std::vector<QueuePair> senders, takers;
};

TEST_CASE("messages for two queue pairs take the receives of one queue, each once, in order") {
  Shared s(3);  // its ring wraps several times
  std::mt19937_64 random(51);
  const Bytes data = random_bytes(random, 1000);
  s.left.rnic.write(s.source, 0, data);
  uint32_t taken = 0;
  for (uint32_t round = 0; round < 10; ++round) {
    for (uint32_t i = 0; i < 4; ++i) s.receive(2000 * i, 1500);
    for (uint32_t i = 0; i < 4; ++i) s.send(i % 2, 900 + i);
    for (uint32_t i = 0; i < 4; ++i) CHECK(s.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    uint32_t per_queue_pair[2] = {};
    for (uint32_t i = 0; i < 4; ++i) {
      const exrnic_cqe cqe = s.right.wait();
      CHECK(cqe.status == EXRNIC_CQE_STATUS_SUCCESS);
      CHECK(cqe.wqe_index == taken++);
      REQUIRE((cqe.qpn == 60 || cqe.qpn == 61));
      CHECK(cqe.byte_length == 900 + 2 * per_queue_pair[cqe.qpn - 60] + (cqe.qpn - 60));
      ++per_queue_pair[cqe.qpn - 60];
      const Bytes got = s.right.rnic.read(s.sink, 2000 * i, cqe.byte_length);
      CHECK(difference(got, Bytes(data.begin(), data.begin() + cqe.byte_length)) == "");
    }
    CHECK(per_queue_pair[0] == 2);
    CHECK(per_queue_pair[1] == 2);
  }
  const exrnic_mbox_query_srq now = s.right.rnic.query_srq(kSrqn);
  CHECK(now.producer == 40);
  CHECK(now.consumer == 40);
  CHECK(now.limit == 0);
}

TEST_CASE("the limit event comes once, when a receive is taken and fewer slots than it are left") {
  Shared s(6, 3);
  for (uint32_t i = 0; i < 5; ++i) s.receive(100 * i, 100);
  const auto take_one = [&] {
    s.send(0, 10);
    s.left.wait();
    s.right.wait();
  };
  for (int i = 0; i < 2; ++i) take_one();  // three are left: not fewer than the limit
  CHECK_FALSE(s.limit_came());
  CHECK(s.right.rnic.query_srq(kSrqn).limit == 3);
  take_one();
  CHECK(s.limit_came());
  CHECK(s.right.rnic.query_srq(kSrqn).limit == 0);
  take_one();
  CHECK_FALSE(s.limit_came());
  // Armed again it waits for the next receive that is taken.
  CHECK(s.set_limit(5) == EXRNIC_MBOX_STATUS_OK);
  s.testbed.run_while_busy(1'000'000);
  CHECK_FALSE(s.limit_came());
  take_one();
  CHECK(s.limit_came());
}

TEST_CASE("the limit event fires the vector of its event queue if that is armed") {
  Shared s(6, 1);
  s.right.rnic.ring(s.events, true);
  s.receive(0, 100);
  s.send(1, 10);
  s.right.wait();
  s.testbed.run_while_busy(1'000'000);
  const auto& fired = s.right.rnic.host().interrupts();
  CHECK(std::count(fired.begin(), fired.end(), unsigned{Shared::kVector}) == 1);
}

TEST_CASE(
    "a queue pair in ERROR says that it holds no receive of the queue, behind the last "
    "completion") {
  Shared s;
  const auto next = [&] {
    s.testbed.run_for(5000);
    return s.right.rnic.poll(s.events);
  };
  const auto is_last = [&](const std::optional<exrnic_eqe>& eqe, uint32_t qpn) {
    return eqe && eqe->event_type == EXRNIC_EQE_TYPE_LAST_WQE &&
           eqe->object == EXRNIC_EQE_OBJECT_QP && eqe->number == qpn;
  };
  SECTION("that it does not hold any") {
    s.receive(0, 100);
    s.right.rnic.modify(61, EXRNIC_QP_STATE_ERROR);
    CHECK(is_last(next(), 61));
    CHECK_FALSE(next().has_value());  // once
    CHECK(s.right.rnic.query_srq(kSrqn).consumer == 0);
    // In the next life again.
    s.right.rnic.modify(61, EXRNIC_QP_STATE_RESET);
    s.right.rnic.connect(s.takers[1], 0, 51);
    s.right.rnic.modify(61, EXRNIC_QP_STATE_ERROR);
    CHECK(is_last(next(), 61));
  }
  SECTION("that of a message that has begun") {
    s.receive(0, 8000);
    s.send(0, 8000);
    while (s.right.rnic.query_srq(kSrqn).consumer == 0) s.testbed.run_for(100);
    s.right.rnic.modify(60, EXRNIC_QP_STATE_ERROR);
    CHECK(is_last(next(), 60));
    const auto cqe = s.right.rnic.poll(s.right.cq, Side::kPage);
    REQUIRE(cqe.has_value());  // it was there before
    CHECK(cqe->qpn == 60);
    CHECK_FALSE(next().has_value());
  }
  SECTION("which has failed by itself") {
    s.receive(0, 100);
    s.send(0, 200);  // too long
    CHECK(s.right.wait().status == EXRNIC_CQE_STATUS_LOC_LEN_ERR);
    std::set<uint32_t> types;
    while (const auto eqe = next()) types.insert(eqe->event_type);
    CHECK(types == std::set<uint32_t>{EXRNIC_EQE_TYPE_QP_ERROR, EXRNIC_EQE_TYPE_LAST_WQE});
  }
}

TEST_CASE("a limit counts slots, as a receive may have several") {
  Shared s(6, 4);
  s.right.rnic.post_receive(s.srq, {element(s.sink, 0, 10)});
  s.right.rnic.post_receive(s.srq, scattered(s.sink, 1600, 16));  // five slots
  s.send(0, 10);
  s.right.wait();
  CHECK_FALSE(s.limit_came());
  s.send(0, 1600);
  CHECK(s.right.wait().wqe_index == 5);
  CHECK(s.limit_came());
}

TEST_CASE(
    "a message that finds a shared queue empty fails without retries, and only its queue pair") {
  Shared s;
  s.send(0, 10);
  const exrnic_cqe cqe = s.left.wait();
  CHECK(cqe.status == EXRNIC_CQE_STATUS_RNR_RETRY_EXC_ERR);
  CHECK(cqe.detail == EXRNIC_TERM_CODE_UNTAGGED_NO_BUFFER);
  CHECK(s.right.rnic.query(60).state == EXRNIC_QP_STATE_RTS);
  s.receive(0, 100);
  s.send(1, 10);
  CHECK(s.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  const exrnic_cqe received = s.right.wait();
  CHECK(received.qpn == 61);
  CHECK(received.wqe_index == 0);
}

TEST_CASE("a queue pair in ERROR flushes the message that has begun, not the shared receives") {
  Shared s;
  s.receive(0, 10'000);
  s.receive(0, 100);
  s.send(0, 10'000);
  s.testbed.run_until([&] { return s.right.rnic.host().writes().size() > 2; }, 1'000'000);
  REQUIRE(s.right.rnic.modify(60, EXRNIC_QP_STATE_ERROR) == EXRNIC_MBOX_STATUS_OK);
  const exrnic_cqe flushed = s.right.wait();
  CHECK(flushed.status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
  CHECK(flushed.qpn == 60);
  CHECK(flushed.wqe_index == 0);
  s.testbed.run_while_busy(10'000'000);
  CHECK_FALSE(s.right.rnic.poll(s.right.cq, Side::kPage).has_value());
  CHECK(s.right.rnic.query_srq(kSrqn).consumer == 1);
  s.send(1, 50);
  CHECK(s.right.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
}

TEST_CASE(
    "doorbells of a shared queue are its page's, and its queue pairs have no other receives") {
  Shared s;
  RnicDriver& rnic = s.right.rnic;
  const auto refused = [&] { return rnic.counter(EXRNIC_COUNTER_DOORBELLS_REFUSED); };
  rnic.store_doorbell(Side::kPage + 1, EXRNIC_DOORBELL_SRQ, kSrqn, 1);
  CHECK(refused() == 1);
  rnic.store_doorbell(Side::kPage, EXRNIC_DOORBELL_SRQ, kSrqn + 1, 1);
  CHECK(refused() == 2);
  rnic.store_doorbell(Side::kPage, EXRNIC_DOORBELL_SRQ, kSrqn, 65);  // a ring of 64
  CHECK(refused() == 3);
  rnic.store_doorbell(Side::kPage, EXRNIC_DOORBELL_SRQ, EXRNIC_MAX_SRQ, 1);
  CHECK(refused() == 4);
  rnic.store_doorbell(Side::kPage, EXRNIC_DOORBELL_RQ, 60, 1);
  CHECK(refused() == 5);
  rnic.store_doorbell(Side::kPage, EXRNIC_DOORBELL_SRQ, kSrqn, 2);
  rnic.store_doorbell(Side::kPage, EXRNIC_DOORBELL_SRQ, kSrqn, 1);  // takes one back
  CHECK(refused() == 6);
  CHECK(rnic.query_srq(kSrqn).producer == 2);
}

TEST_CASE("the driver's commands for shared queues refuse what does not fit") {
  Shared s;
  RnicDriver& rnic = s.right.rnic;
  exrnic_mbox_create_srq good{};
  good.srqn = 20;
  good.page = Side::kPage;
  good.pd = Side::kPd;
  good.log_slots = 4;
  good.pbl_address = s.srq.rq.ring.pbl;
  const auto create = [&](void (*spoil)(exrnic_mbox_create_srq&)) {
    exrnic_mbox_create_srq command = good;
    spoil(command);
    return rnic.command(EXRNIC_MBOX_OP_CREATE_SRQ, command);
  };
  using Command = exrnic_mbox_create_srq;
  CHECK(create([](Command& c) { c.srqn = EXRNIC_MAX_SRQ; }) == EXRNIC_MBOX_STATUS_BAD_INDEX);
  CHECK(create([](Command& c) { c.page = EXRNIC_USER_PAGES; }) == EXRNIC_MBOX_STATUS_BAD_INDEX);
  CHECK(create([](Command& c) { c.pd = EXRNIC_MAX_PD; }) == EXRNIC_MBOX_STATUS_BAD_INDEX);
  CHECK(create([](Command& c) { c.srqn = kSrqn; }) == EXRNIC_MBOX_STATUS_BAD_STATE);
  CHECK(create([](Command& c) { c.log_slots = 2; }) == EXRNIC_MBOX_STATUS_BAD_PARAMETER);
  CHECK(create([](Command& c) { c.log_slots = 13; }) == EXRNIC_MBOX_STATUS_BAD_PARAMETER);
  CHECK(create([](Command& c) { c.pbl_address += 8; }) == EXRNIC_MBOX_STATUS_BAD_PARAMETER);
  CHECK(create([](Command& c) { c.limit = 0x10000; }) == EXRNIC_MBOX_STATUS_BAD_PARAMETER);
  CHECK(create([](Command&) {}) == EXRNIC_MBOX_STATUS_OK);
  CHECK(s.set_limit(0x10000) == EXRNIC_MBOX_STATUS_BAD_PARAMETER);
  for (const auto op : {EXRNIC_MBOX_OP_DESTROY_SRQ, EXRNIC_MBOX_OP_QUERY_SRQ}) {
    CHECK(rnic.command(op, exrnic_mbox_object{21}) == EXRNIC_MBOX_STATUS_BAD_STATE);
    CHECK(rnic.command(op, exrnic_mbox_object{EXRNIC_MAX_SRQ}) == EXRNIC_MBOX_STATUS_BAD_INDEX);
  }
  CHECK(rnic.command(EXRNIC_MBOX_OP_DESTROY_SRQ, exrnic_mbox_object{20}) == EXRNIC_MBOX_STATUS_OK);
  CHECK(rnic.command(EXRNIC_MBOX_OP_MODIFY_SRQ, exrnic_mbox_modify_srq{20, 1}) ==
        EXRNIC_MBOX_STATUS_BAD_STATE);
}

TEST_CASE("a queue pair is made only with a shared queue of its own page and domain") {
  Shared s;
  exrnic_mbox_create_qp create{};
  create.qpn = 70;
  create.page = Side::kPage;
  create.pd = Side::kPd;
  create.send_cqn = create.recv_cqn = Side::kCqn;
  create.sq_log_slots = create.rq_log_slots = 4;
  create.sq_pbl_address = create.rq_pbl_address = s.srq.rq.ring.pbl;
  const auto op = EXRNIC_MBOX_OP_CREATE_QP;
  for (const uint32_t srqn : {uint32_t{EXRNIC_MAX_SRQ}, kSrqn + 1}) {
    create.srqn = srqn;
    CHECK(s.right.rnic.command(op, create) == EXRNIC_MBOX_STATUS_BAD_INDEX);
  }
  s.right.rnic.create_srq(30, Side::kPage + 1, Side::kPd);
  create.srqn = 30;
  CHECK(s.right.rnic.command(op, create) == EXRNIC_MBOX_STATUS_BAD_INDEX);
  s.right.rnic.create_srq(31, Side::kPage, Side::kPd + 1);
  create.srqn = 31;
  CHECK(s.right.rnic.command(op, create) == EXRNIC_MBOX_STATUS_BAD_PARAMETER);
  create.srqn = kSrqn;
  create.max_reads_in = EXRNIC_MAX_READS + 1;
  CHECK(s.right.rnic.command(op, create) == EXRNIC_MBOX_STATUS_BAD_PARAMETER);
  create.max_reads_in = 0;
  create.max_reads_out = EXRNIC_MAX_READS + 1;
  CHECK(s.right.rnic.command(op, create) == EXRNIC_MBOX_STATUS_BAD_PARAMETER);
  create.max_reads_out = 0;
  CHECK(s.right.rnic.command(op, create) == EXRNIC_MBOX_STATUS_OK);
}

}  // namespace
}  // namespace exrnic::testing
