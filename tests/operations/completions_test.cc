// SPDX-License-Identifier: BSD-2-Clause
// Completion queues: what arms them, when they fire, and what happens when they are full.
#include <algorithm>

#include "tests/support/exchange.h"

namespace exrnic::testing {
namespace {

constexpr uint32_t kVector = 7;
constexpr uint32_t kModeratedCqn = 40;
constexpr uint32_t kQpn = 41;

// A queue pair of the left node whose completions, of both its queues, go to a queue of their own.
struct Moderated {
  explicit Moderated(const Moderation& moderation, uint32_t log_entries = 6)
      : cq(e.left.rnic.create_cq(kModeratedCqn, End::kPage, log_entries, kVector, moderation)),
        qp(e.left.rnic.create_qp(kQpn, End::kPage, End::kPd, cq)),
        peer(e.right.rnic.create_qp(kQpn, End::kPage, End::kPd, e.right.cq)) {
    e.left.rnic.connect(qp, 1, kQpn);
    e.right.rnic.connect(peer, 0, kQpn);
  }

  void push(unsigned count = 1) {
    const Work work = inlined(push_of({}, 0), Bytes(8));
    for (unsigned i = 0; i < count; ++i) e.left.rnic.put(qp, work);
    e.left.rnic.ring(qp);
  }
  void receive_from_peer(uint8_t flags) {
    e.left.rnic.post_receive(qp, {});
    e.right.rnic.post(peer, send_of({}, flags));
  }
  void take(unsigned count) {
    for (unsigned i = 0; i < count; ++i) e.left.rnic.wait(cq, End::kPage);
  }
  void arm(bool solicited = false) { e.left.rnic.arm(cq, End::kPage, solicited); }
  long fired() {
    const auto& all = e.left.rnic.host().interrupts();
    return std::count(all.begin(), all.end(), kVector);
  }
  // Waits for an interrupt; returns how long it took.
  uint64_t until_fired(uint64_t limit_ns) {
    const long before = fired();
    const uint64_t start = e.testbed.now_ns();
    e.testbed.run_until([&] { return fired() > before; }, limit_ns);
    return e.testbed.now_ns() - start;
  }
  void rest() { e.rest(); }

  Exchange e;
  Queue cq;
  QueuePair qp;
  QueuePair peer;
};

TEST_CASE("a queue armed for solicited completions fires for a solicited one, not for others") {
  Moderated m({});
  m.arm(true);
  m.push(3);
  m.receive_from_peer(0);
  m.take(4);
  m.rest();
  CHECK(m.fired() == 0);
  m.receive_from_peer(EXRNIC_WQE_FLAGS_SOLICITED);
  m.take(1);
  m.rest();
  CHECK(m.fired() == 1);
  m.receive_from_peer(EXRNIC_WQE_FLAGS_SOLICITED);
  m.take(1);
  m.rest();
  CHECK(m.fired() == 1);  // once
}

TEST_CASE("a queue armed for solicited completions fires for a failed one, too") {
  Moderated m({});
  m.arm(true);
  Work bad = push_of({}, 0);
  bad.flags |= 0x80;
  m.e.left.rnic.post(m.qp, bad);
  m.take(1);
  m.rest();
  CHECK(m.fired() == 1);
}

TEST_CASE("arming a queue that has completions fires at once, of whatever kind they are") {
  for (const bool solicited : {false, true}) {
    Moderated m({100, 1'000'000});  // moderation makes no difference
    m.push(2);
    m.rest();
    CHECK(m.fired() == 0);
    m.arm(solicited);
    CHECK(m.until_fired(10'000) < 10'000);
    m.rest();
    CHECK(m.fired() == 1);
  }
}

TEST_CASE("a moderated queue fires behind its count of completions") {
  Moderated m({5, 10'000'000});
  m.arm();
  m.push(4);
  m.take(4);
  m.e.testbed.run_for(100'000);
  CHECK(m.fired() == 0);
  m.push(1);
  CHECK(m.until_fired(100'000) < 100'000);
  m.rest();
  CHECK(m.fired() == 1);
}

TEST_CASE("a moderated queue fires its time after the first completion when fewer come") {
  constexpr uint32_t kDelay = 50'000;
  Moderated m({100, kDelay});
  m.arm();
  m.e.testbed.run_for(200'000);
  CHECK(m.fired() == 0);  // the time runs from the first completion
  m.push(3);
  const uint64_t first = m.e.left.rnic.wait(m.cq, End::kPage).timestamp;
  m.take(2);
  CHECK(m.until_fired(200'000) < 200'000);
  const uint64_t waited = m.e.testbed.now_ns() - first;
  CHECK(waited >= kDelay);
  CHECK(waited < kDelay + 20'000);
  m.rest();
  CHECK(m.fired() == 1);
}

TEST_CASE("a count without a time does not wait for completions that may never come") {
  Moderated m({100, 0});
  m.arm();
  m.push(1);
  CHECK(m.until_fired(100'000) < 100'000);
}

TEST_CASE("only completions that the arm asks for are counted") {
  Moderated m({2, 10'000'000});
  m.arm(true);
  m.push(3);
  m.receive_from_peer(EXRNIC_WQE_FLAGS_SOLICITED);
  m.take(4);
  m.e.testbed.run_for(100'000);
  CHECK(m.fired() == 0);
  m.receive_from_peer(EXRNIC_WQE_FLAGS_SOLICITED);
  CHECK(m.until_fired(100'000) < 100'000);
}

TEST_CASE("the driver may not ask for more moderation than there is") {
  Exchange e;
  exrnic_mbox_create_cq create{};
  create.cqn = kModeratedCqn;
  create.eqn = EXRNIC_NO_EQ;
  create.page = End::kPage;
  create.log_entries = 4;
  create.pbl_address = e.left.cq.ring.pbl;
  const auto status = [&](uint32_t count, uint32_t ns) {
    create.moderation_count = count;
    create.moderation_ns = ns;
    return e.left.rnic.command(EXRNIC_MBOX_OP_CREATE_CQ, create);
  };
  CHECK(status(0x10000, 0) == EXRNIC_MBOX_STATUS_BAD_PARAMETER);
  CHECK(status(0, 0x1000000) == EXRNIC_MBOX_STATUS_BAD_PARAMETER);
  CHECK(status(0xffff, 0xffffff) == EXRNIC_MBOX_STATUS_OK);
}

TEST_CASE(
    "a queue that is full loses completions, and takes the queue pair of a lost one to ERROR") {
  Moderated m({}, 3);
  m.push(12);  // a queue of eight
  m.rest();
  CHECK(m.e.left.rnic.query(kQpn).state == EXRNIC_QP_STATE_ERROR);
  CHECK(m.e.left.rnic.counter(EXRNIC_COUNTER_CQ_OVERRUNS) >= 4);
  for (uint32_t i = 0; i < 8; ++i) {
    const exrnic_cqe cqe = m.e.left.rnic.wait(m.cq, End::kPage);
    CHECK(cqe.status == EXRNIC_CQE_STATUS_SUCCESS);
    CHECK(cqe.wqe_index == i);
  }
  CHECK_FALSE(m.e.left.rnic.poll(m.cq, End::kPage).has_value());
  // Another queue pair goes on.
  m.e.left.post(inlined(push_of({}, 0), Bytes(8)));
  CHECK(m.e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
}

TEST_CASE("a consumer index that goes back takes no room back, and its queue still finds out") {
  Moderated m({}, 3);
  m.push(8);
  m.take(8);
  Queue before = m.cq;
  before.index = 0;
  m.e.left.rnic.arm(before, End::kPage);
  m.push(8);
  m.rest();
  CHECK(m.e.left.rnic.counter(EXRNIC_COUNTER_CQ_OVERRUNS) == 0);
  CHECK(m.fired() == 1);
  m.push(1);
  m.rest();
  CHECK(m.e.left.rnic.counter(EXRNIC_COUNTER_CQ_OVERRUNS) == 1);
}

TEST_CASE("receives whose completions find no room are lost likewise") {
  Moderated m({}, 3);
  for (int i = 0; i < 9; ++i) m.receive_from_peer(0);
  m.rest();
  CHECK(m.e.left.rnic.query(kQpn).state == EXRNIC_QP_STATE_ERROR);
  CHECK(m.e.left.rnic.counter(EXRNIC_COUNTER_CQ_OVERRUNS) == 1);
  CHECK(m.e.left.rnic.counter(EXRNIC_COUNTER_RECVS) == 9);
}

TEST_CASE("a completion queue whose PBL the host took back loses completions, and nothing strays") {
  Moderated m({});
  m.e.left.rnic.host().revoke(m.cq.ring.pbl, EXRNIC_PBL_LINE_SIZE);
  m.push(1);
  m.rest();
  CHECK(m.e.left.rnic.query(kQpn).state == EXRNIC_QP_STATE_ERROR);
  CHECK(m.e.left.rnic.counter(EXRNIC_COUNTER_CQ_OVERRUNS) == 1);
  CHECK(m.e.left.rnic.host().refused_writes().empty());
}

}  // namespace
}  // namespace exrnic::testing
