// SPDX-License-Identifier: BSD-2-Clause
// Event queues: what is told, of whom and why, and what happens when nobody reads it.
#include <algorithm>
#include <map>
#include <set>

#include "tests/support/exchange.h"

namespace exrnic::testing {
namespace {

constexpr uint32_t kVector = 9;
constexpr uint32_t kOtherVector = 11;
constexpr uint32_t kOtherEqn = 3;
constexpr uint32_t kCqn = 50;
constexpr uint32_t kQpn = 51;

// To memory that the peer does not have.
Work nowhere(Work work) {
  work.remote_stag = 0x0fff'00;
  return work;
}

// Two nodes; the left one has an event queue for all but completions.
struct Told : Exchange {
  explicit Told(uint32_t log_entries = 6)
      : events(left.rnic.create_eq(EXRNIC_EQN_ASYNC, kVector, log_entries)) {}

  long fired(uint32_t vector = kVector) {
    const auto& all = left.rnic.host().interrupts();
    return std::count(all.begin(), all.end(), vector);
  }
  void arm() { left.rnic.ring(events, true); }
  // The next event, which is of this type and about this.
  exrnic_eqe expect(exrnic_eqe_type type, uint32_t number, uint32_t detail = 0) {
    testbed.run_for(2000);
    const auto eqe = left.rnic.poll(events);
    REQUIRE(eqe.has_value());
    CHECK(eqe->event_type == type);
    CHECK(eqe->object == exrnic_of_eqe_type(type).object);
    CHECK(eqe->number == number);
    CHECK(eqe->detail == detail);
    left.rnic.ring(events);
    return *eqe;
  }
  void expect_nothing() {
    testbed.run_for(2000);
    CHECK_FALSE(left.rnic.poll(events).has_value());
  }
  void fail_locally() {
    Work bad = push_of({}, 0);
    bad.flags |= 0x80;
    left.post(bad);
    left.wait();
  }

  EventQueue events;
};

TEST_CASE("a queue pair that fails is told once, with the reason, and fires an armed queue") {
  Told e;
  e.arm();
  e.fail_locally();
  e.expect(EXRNIC_EQE_TYPE_QP_ERROR, Exchange::kLeftQpn, EXRNIC_QP_CAUSE_WORK_REQUEST);
  CHECK(e.fired() == 1);
  e.fail_locally();  // it is in ERROR already
  e.expect_nothing();
  CHECK(e.fired() == 1);
}

TEST_CASE("each reason for which a queue pair fails has its name") {
  SECTION("the peer refuses") {
    Told e;
    e.left.post(nowhere(push_of({element(e.left.near, 0, 8)}, 0)));
    e.left.wait();
    e.expect(EXRNIC_EQE_TYPE_QP_ERROR, Exchange::kLeftQpn, EXRNIC_QP_CAUSE_PEER);
  }
  SECTION("it refuses what the peer asks") {
    Told e;
    e.right.post(nowhere(push_of({element(e.right.near, 0, 8)}, 0)));
    e.right.wait();
    e.expect(EXRNIC_EQE_TYPE_QP_ERROR, Exchange::kLeftQpn, EXRNIC_QP_CAUSE_REQUEST);
  }
  SECTION("it refuses a PULL of the peer") {
    Told e;
    e.right.post(nowhere(pull_of({element(e.right.near, 0, 8)}, 0)));
    e.right.wait();
    e.expect(EXRNIC_EQE_TYPE_QP_ERROR, Exchange::kLeftQpn, EXRNIC_QP_CAUSE_REQUEST);
  }
  SECTION("a message finds no receive") {
    Told e;
    e.left.post(send_of({element(e.left.near, 0, 8)}));
    e.left.wait();
    e.expect(EXRNIC_EQE_TYPE_QP_ERROR, Exchange::kLeftQpn, EXRNIC_QP_CAUSE_NO_RECEIVE);
  }
  SECTION("the driver takes it to ERROR: that is not told") {
    Told e;
    e.left.rnic.modify(Exchange::kLeftQpn, EXRNIC_QP_STATE_ERROR);
    e.expect_nothing();
  }
}

TEST_CASE("a peer that is given up is told by its node, and its queue pair with it") {
  Told e;
  e.left.rnic.write_register(EXRNIC_REG_RETRY_LIMIT, 1);
  e.left.rnic.write_register(EXRNIC_REG_RTO_CYCLES, 0);
  e.right.rnic.write_register(EXRNIC_REG_CONTROL, 0);  // it drops what comes
  e.left.post(inlined(push_of({}, 0), Bytes(8)));
  CHECK(e.left.wait(100'000'000).status == EXRNIC_CQE_STATUS_RETRY_EXC_ERR);
  e.testbed.run_for(2000);
  std::map<uint32_t, exrnic_eqe> told;
  while (const auto eqe = e.left.rnic.poll(e.events)) told[eqe->event_type] = *eqe;
  REQUIRE(told.size() == 2);
  CHECK(told[EXRNIC_EQE_TYPE_PEER_DEAD].number == 1);
  CHECK(told[EXRNIC_EQE_TYPE_QP_ERROR].number == Exchange::kLeftQpn);
  CHECK(told[EXRNIC_EQE_TYPE_QP_ERROR].detail == EXRNIC_QP_CAUSE_NO_ANSWER);
}

TEST_CASE("a queue pair that ends by its own time-out is told, and no peer") {
  Told e;
  exrnic_mbox_modify_qp change{};
  change.qpn = Exchange::kLeftQpn;
  change.state = EXRNIC_QP_STATE_RTS;
  change.attributes = EXRNIC_QP_ATTRIBUTES_TIMEOUT;
  change.timeout = 1;
  e.rest();  // the two have met
  REQUIRE(e.left.rnic.modify(change) == EXRNIC_MBOX_STATUS_OK);
  e.right.rnic.write_register(EXRNIC_REG_CONTROL, 0);  // it drops what comes
  e.left.post(inlined(push_of({}, 0), Bytes(8)));
  CHECK(e.left.wait().status == EXRNIC_CQE_STATUS_RETRY_EXC_ERR);
  e.expect(EXRNIC_EQE_TYPE_QP_ERROR, Exchange::kLeftQpn, EXRNIC_QP_CAUSE_NO_ANSWER);
}

TEST_CASE("a completion queue that overruns is told by its number, with who loses a completion") {
  Told e;
  Queue cq = e.left.rnic.create_cq(kCqn, End::kPage, 3);
  QueuePair qp = e.left.rnic.create_qp(kQpn, End::kPage, End::kPd, cq);
  QueuePair peer = e.right.rnic.create_qp(kQpn, End::kPage, End::kPd, e.right.cq);
  e.left.rnic.connect(qp, 1, kQpn);
  e.right.rnic.connect(peer, 0, kQpn);
  for (int i = 0; i < 12; ++i) e.left.rnic.put(qp, inlined(push_of({}, 0), Bytes(8)));
  e.left.rnic.ring(qp);
  e.rest();
  std::set<std::pair<uint32_t, uint32_t>> told;
  while (const auto eqe = e.left.rnic.poll(e.events)) {
    told.insert({eqe->event_type, eqe->number});
    if (eqe->event_type == EXRNIC_EQE_TYPE_QP_ERROR)
      CHECK(eqe->detail == EXRNIC_QP_CAUSE_COMPLETION);
  }
  CHECK(told == std::set<std::pair<uint32_t, uint32_t>>{{EXRNIC_EQE_TYPE_QP_ERROR, kQpn},
                                                        {EXRNIC_EQE_TYPE_CQ_ERROR, kCqn}});
}

TEST_CASE("the link that goes and comes is told each time") {
  Told e;
  const auto& link = e.testbed.fabric().topology().links.at(0);
  e.testbed.fabric().set_up(link, false);
  e.expect(EXRNIC_EQE_TYPE_LINK, 0, 0);
  e.testbed.fabric().set_up(link, true);
  e.expect(EXRNIC_EQE_TYPE_LINK, 0, 1);
}

// A completion queue of the left node that tells an event queue of its own.
struct Heard : Told {
  explicit Heard(uint32_t log_entries = 6)
      : other(left.rnic.create_eq(kOtherEqn, kOtherVector, log_entries)),
        cq(left.rnic.create_cq(kCqn, End::kPage, other)),
        qp(left.rnic.create_qp(kQpn, End::kPage, End::kPd, cq)),
        peer(right.rnic.create_qp(kQpn, End::kPage, End::kPd, right.cq)) {
    left.rnic.connect(qp, 1, kQpn);
    right.rnic.connect(peer, 0, kQpn);
  }
  void push() {
    left.rnic.post(qp, inlined(push_of({}, 0), Bytes(8)));
    left.rnic.wait(cq, End::kPage);
    testbed.run_for(2000);
  }

  EventQueue other;
  Queue cq;
  QueuePair qp;
  QueuePair peer;
};

TEST_CASE("an armed completion queue tells its event queue, once, and that fires if it is armed") {
  Heard e;
  e.push();
  CHECK_FALSE(e.left.rnic.poll(e.other).has_value());  // nobody armed it
  e.left.rnic.arm(e.cq, End::kPage);
  e.push();
  auto eqe = e.left.rnic.poll(e.other);
  REQUIRE(eqe.has_value());
  CHECK(eqe->event_type == EXRNIC_EQE_TYPE_COMPLETION);
  CHECK(eqe->number == kCqn);
  CHECK(e.fired(kOtherVector) == 0);
  e.left.rnic.ring(e.other, true);
  e.push();
  CHECK_FALSE(e.left.rnic.poll(e.other).has_value());  // once
  CHECK(e.fired(kOtherVector) == 0);
  e.left.rnic.arm(e.cq, End::kPage);
  e.push();
  CHECK(e.left.rnic.poll(e.other).has_value());
  CHECK(e.fired(kOtherVector) == 1);
  CHECK(e.fired() == 0);
  // An event that was not taken when the queue is armed fires at once.
  e.left.rnic.ring(e.other);
  e.left.rnic.arm(e.cq, End::kPage);
  e.push();
  CHECK(e.fired(kOtherVector) == 1);
  e.left.rnic.ring(e.other, true);
  e.testbed.run_for(2000);
  CHECK(e.fired(kOtherVector) == 2);
}

TEST_CASE("an event queue that nobody reads keeps events of others from nobody, and loses none") {
  Heard e(3);
  // More completion queues than it has entries, all fired.
  std::set<uint32_t> armed;
  for (uint32_t i = 0; i < 20; ++i) {
    const Queue cq = e.left.rnic.create_cq(100 + i, End::kPage, e.other);
    QueuePair qp = e.left.rnic.create_qp(100 + i, End::kPage, End::kPd, cq);
    QueuePair peer = e.right.rnic.create_qp(100 + i, End::kPage, End::kPd, e.right.cq);
    e.left.rnic.connect(qp, 1, 100 + i);
    e.right.rnic.connect(peer, 0, 100 + i);
    e.left.rnic.arm(cq, End::kPage);
    e.left.rnic.post(qp, inlined(push_of({}, 0), Bytes(8)));
    armed.insert(cq.number);
  }
  e.rest();
  CHECK(e.left.rnic.counter(EXRNIC_COUNTER_EVENTS_LATE) >= 12);
  e.fail_locally();
  e.expect(EXRNIC_EQE_TYPE_QP_ERROR, Exchange::kLeftQpn, EXRNIC_QP_CAUSE_WORK_REQUEST);
  std::set<uint32_t> told;
  bool late = false;
  for (int round = 0; round < 20; ++round) {
    while (const auto eqe = e.left.rnic.poll(e.other)) {
      told.insert(eqe->number);
      late |= eqe->flags & EXRNIC_EQE_FLAGS_LATE;
    }
    e.left.rnic.ring(e.other);
    e.testbed.run_for(1000);
  }
  CHECK(told == armed);
  CHECK(late);
}

TEST_CASE("what happens while there is no event queue waits for it, if the object does") {
  Exchange e;
  const auto fail = [&](End& end) {
    Work bad = push_of({}, 0);
    bad.flags |= 0x80;
    end.post(bad);
    end.wait();
  };
  fail(e.left);
  fail(e.right);
  e.right.rnic.stop(Exchange::kRightQpn);
  e.left.rnic.stop(Exchange::kLeftQpn);
  e.left.rnic.modify(Exchange::kLeftQpn, EXRNIC_QP_STATE_RESET);  // that hides nothing
  e.right.rnic.must(EXRNIC_MBOX_OP_DESTROY_QP, exrnic_mbox_object{Exchange::kRightQpn});
  EventQueue left = e.left.rnic.create_eq(EXRNIC_EQN_ASYNC, kVector);
  EventQueue right = e.right.rnic.create_eq(EXRNIC_EQN_ASYNC, kVector);
  e.testbed.run_for(2000);
  const auto eqe = e.left.rnic.poll(left);
  REQUIRE(eqe.has_value());
  CHECK(eqe->number == Exchange::kLeftQpn);
  CHECK_FALSE(e.right.rnic.poll(right).has_value());
}

TEST_CASE("behind the end of an event queue nothing is written to it") {
  Heard e;
  const Bytes before = e.left.rnic.host().peek(e.other.ring, 4096);
  e.left.rnic.must(EXRNIC_MBOX_OP_DESTROY_EQ, exrnic_mbox_object{kOtherEqn});
  e.left.rnic.host().revoke(e.other.ring, 4096);
  e.left.rnic.arm(e.cq, End::kPage);
  e.push();
  e.rest();
  CHECK(e.left.rnic.host().peek(e.other.ring, 4096) == before);
  CHECK(e.left.rnic.host().refused_writes().empty());
  // A queue of that number again hears what its completion queues had to tell.
  EventQueue again = e.left.rnic.create_eq(kOtherEqn, kOtherVector);
  e.testbed.run_for(2000);
  const auto eqe = e.left.rnic.poll(again);
  REQUIRE(eqe.has_value());
  CHECK(eqe->number == kCqn);
}

TEST_CASE("a consumer index that cannot be is refused and counted, and changes nothing") {
  Heard e;
  const uint64_t before = e.left.rnic.counter(EXRNIC_COUNTER_DOORBELLS_REFUSED);
  for (const uint32_t garbage : {1u << 30, 0x8000'0000u, ~0u - 5}) {
    EventQueue bad = e.other;
    bad.index = garbage;
    e.left.rnic.ring(bad, true);
    bad.eqn = 30;  // there is none
    e.left.rnic.ring(bad);
  }
  e.testbed.run_for(1000);
  CHECK(e.left.rnic.counter(EXRNIC_COUNTER_DOORBELLS_REFUSED) == before + 6);
  e.left.rnic.ring(e.other, true);
  e.left.rnic.arm(e.cq, End::kPage);
  e.push();
  CHECK(e.left.rnic.poll(e.other).has_value());
  CHECK(e.fired(kOtherVector) == 1);
}

TEST_CASE("an event queue whose memory the host refuses stops nobody") {
  Heard e;
  e.left.rnic.host().revoke(e.other.ring, 4096);
  e.left.rnic.ring(e.other, true);
  e.left.rnic.arm(e.cq, End::kPage);
  e.push();
  e.rest();
  CHECK_FALSE(e.left.rnic.host().refused_writes().empty());
  e.left.post(inlined(push_of({}, 0), Bytes(8)));
  CHECK(e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
}

}  // namespace
}  // namespace exrnic::testing
