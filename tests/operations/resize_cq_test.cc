// SPDX-License-Identifier: BSD-2-Clause
// A completion queue gets another ring while work is under way: what it has written and what comes
// then is there once, in order; all else of it stays.
#include <algorithm>

#include "tests/support/exchange.h"

namespace exrnic::testing {
namespace {

constexpr uint32_t kVector = 7;
constexpr uint32_t kCqn = 40;
constexpr uint32_t kQpn = 41;
constexpr uint32_t kLeast = 1u << EXRNIC_RING_LOG_MIN;

// A queue pair of the left node whose completions, of both its queues, go to a queue of their own.
struct Resized {
  explicit Resized(uint32_t log_entries, const Moderation& moderation = {})
      : cq(e.left.rnic.create_cq(kCqn, End::kPage, log_entries, kVector, moderation)) {
    connect();
  }
  struct TellsEventQueue {};
  Resized(uint32_t log_entries, TellsEventQueue /*tag*/)
      : eq(e.left.rnic.create_eq(1, kVector)),
        cq(e.left.rnic.create_cq(kCqn, End::kPage, eq, log_entries)) {
    connect();
  }

  void connect() {
    qp = e.left.rnic.create_qp(kQpn, End::kPage, End::kPd, cq);
    peer = e.right.rnic.create_qp(kQpn, End::kPage, End::kPd, e.right.cq);
    e.left.rnic.connect(qp, 1, kQpn);
    e.right.rnic.connect(peer, 0, kQpn);
  }
  void push(unsigned count) {
    const Work work = inlined(push_of({}, 0), Bytes(8));
    for (unsigned i = 0; i < count; ++i) e.left.rnic.put(qp, work);
    e.left.rnic.ring(qp);
  }
  // The next completions are those of the next work requests, all good.
  void take(unsigned count) {
    for (unsigned i = 0; i < count; ++i, ++taken) {
      const exrnic_cqe cqe = e.left.rnic.wait(cq, End::kPage);
      CHECK(cqe.wqe_index == static_cast<uint16_t>(taken));
      CHECK(cqe.status == EXRNIC_CQE_STATUS_SUCCESS);
    }
  }
  exrnic_mbox_status resize(uint32_t log_entries) { return e.left.rnic.resize_cq(cq, log_entries); }
  void arm(bool solicited = false) { e.left.rnic.arm(cq, End::kPage, solicited); }
  long fired() {
    const auto& all = e.left.rnic.host().interrupts();
    return std::count(all.begin(), all.end(), kVector);
  }
  // Nothing came twice, was lost, or went to a ring of old.
  void expect_no_more() {
    e.rest();
    CHECK_FALSE(e.left.rnic.poll(cq, End::kPage).has_value());
    CHECK(e.left.rnic.counter(EXRNIC_COUNTER_CQ_OVERRUNS) == 0);
    e.expect_nothing_refused();
  }

  Exchange e;
  EventQueue eq;
  Queue cq;
  QueuePair qp;
  QueuePair peer;
  uint32_t taken = 0;
};

TEST_CASE(
    "completions go on in larger and smaller rings while work is under way, over many rounds") {
  Resized r(EXRNIC_RING_LOG_MIN);
  for (const uint32_t log : {5u, 3u, 9u, 4u, 3u, 3u, 7u}) {
    for (unsigned round = 0; round < 5; ++round) {
      r.push(kLeast);
      r.e.testbed.run_for(700 * round);
      r.take(round % 3);
      CHECK(r.resize(round % 2 ? log : EXRNIC_RING_LOG_MIN) == EXRNIC_MBOX_STATUS_OK);
      r.take(kLeast - round % 3);
    }
    // More than a round of the larger one.
    for (unsigned done = 0; done < (1u << log) + kLeast; done += kLeast) {
      r.push(kLeast);
      r.take(kLeast);
    }
  }
  r.expect_no_more();
}

TEST_CASE("messages complete over a resize of the queue of their receives") {
  Exchange e;
  uint16_t posted = 0, taken = 0;
  for (const uint32_t log : {4u, 10u, 3u, 6u}) {
    for (unsigned i = 0; i < kLeast; ++i) e.right.receive({});
    for (unsigned i = 0; i < kLeast; ++i, ++posted) e.left.post(send_of({}));
    e.testbed.run_for(1'500);
    CHECK(e.right.rnic.resize_cq(e.right.recv_cq, log) == EXRNIC_MBOX_STATUS_OK);
    while (taken != posted) CHECK(e.right.wait_receive().wqe_index == taken++);
    for (unsigned i = 0; i < kLeast; ++i) e.left.wait();
  }
  e.rest();
  CHECK_FALSE(e.right.rnic.poll(e.right.recv_cq, End::kPage).has_value());
  e.expect_nothing_refused();
}

TEST_CASE("a ring with too little room for what is not taken is refused, and nothing changes") {
  Resized r(4);
  r.push(12);
  r.e.rest();
  CHECK(r.resize(3) == EXRNIC_MBOX_STATUS_BAD_STATE);
  r.take(3);
  CHECK(r.resize(3) == EXRNIC_MBOX_STATUS_BAD_STATE);
  r.take(1);
  CHECK(r.resize(3) == EXRNIC_MBOX_STATUS_OK);  // full
  r.take(8);
  r.push(8);
  r.take(8);
  r.expect_no_more();
}

TEST_CASE("a queue that is full has room again in a larger ring") {
  Resized r(3);
  r.push(8);
  r.e.rest();
  CHECK(r.resize(4) == EXRNIC_MBOX_STATUS_OK);
  r.push(8);
  r.take(16);
  r.expect_no_more();
}

TEST_CASE(
    "a resize that names no queue, no size or no page list is refused, and the queue goes on") {
  Resized r(4);
  RnicDriver& rnic = r.e.left.rnic;
  const auto status = [&](uint32_t cqn, uint32_t log, uint64_t pbl) {
    return rnic.command(EXRNIC_MBOX_OP_RESIZE_CQ, exrnic_mbox_resize_cq{cqn, log, pbl});
  };
  const uint64_t pbl = rnic.pin(0, 4096, DmaRights::kWrite).pbl;
  CHECK(status(kCqn + 1, 4, pbl) == EXRNIC_MBOX_STATUS_BAD_STATE);
  CHECK(status(EXRNIC_MAX_CQ, 4, pbl) == EXRNIC_MBOX_STATUS_BAD_INDEX);
  CHECK(status(~0u, 4, pbl) == EXRNIC_MBOX_STATUS_BAD_INDEX);
  CHECK(status(kCqn, EXRNIC_RING_LOG_MIN - 1, pbl) == EXRNIC_MBOX_STATUS_BAD_PARAMETER);
  CHECK(status(kCqn, EXRNIC_CQ_LOG_MAX + 1, pbl) == EXRNIC_MBOX_STATUS_BAD_PARAMETER);
  CHECK(status(kCqn, ~0u, pbl) == EXRNIC_MBOX_STATUS_BAD_PARAMETER);
  CHECK(status(kCqn, 4, pbl + 8) == EXRNIC_MBOX_STATUS_BAD_PARAMETER);
  r.push(16);
  r.take(16);
  r.push(16);
  r.take(16);
  r.expect_no_more();
}

TEST_CASE("an armed queue stays armed over a resize, and fires once") {
  Resized r(4);
  r.push(3);
  r.take(3);
  r.arm();
  CHECK(r.resize(3) == EXRNIC_MBOX_STATUS_OK);
  r.e.rest();
  CHECK(r.fired() == 0);
  r.push(2);
  r.take(2);
  r.e.rest();
  CHECK(r.fired() == 1);
  CHECK(r.resize(5) == EXRNIC_MBOX_STATUS_OK);  // not armed by it
  r.push(2);
  r.take(2);
  r.e.rest();
  CHECK(r.fired() == 1);
}

TEST_CASE("what a moderated queue has counted, and its time, go on over a resize") {
  constexpr uint32_t kDelay = 100'000;
  Resized r(4, {3, kDelay});
  r.arm();
  r.push(2);
  r.take(2);
  CHECK(r.resize(3) == EXRNIC_MBOX_STATUS_OK);
  CHECK(r.fired() == 0);
  SECTION("its count") {
    r.push(1);
    r.e.testbed.run_until([&] { return r.fired() != 0; }, kDelay / 4);
  }
  SECTION("its time") { r.e.testbed.run_for(2 * kDelay); }
  CHECK(r.fired() == 1);
}

TEST_CASE("a queue that tells an event queue does so over a resize") {
  Resized r(4, Resized::TellsEventQueue{});
  r.arm();
  CHECK(r.resize(6) == EXRNIC_MBOX_STATUS_OK);
  r.e.left.rnic.ring(r.eq, true);
  r.push(1);
  r.take(1);
  r.e.rest();
  const auto eqe = r.e.left.rnic.poll(r.eq);
  REQUIRE(eqe.has_value());
  CHECK(eqe->event_type == EXRNIC_EQE_TYPE_COMPLETION);
  CHECK(eqe->number == kCqn);
  CHECK(r.fired() == 1);
}

TEST_CASE(
    "a completion that waits for the page list of the old ring is written before the resize") {
  Resized r(4);
  r.e.left.rnic.host().slow_reads(r.cq.ring.pbl, EXRNIC_PBL_LINE_SIZE, 20'000);
  r.push(5);
  r.e.testbed.run_for(5'000);
  CHECK(r.resize(3) == EXRNIC_MBOX_STATUS_OK);
  r.take(5);
  r.push(8);
  r.take(8);
  r.expect_no_more();
}

// A program that does so loses completions, as one with too small a queue does; its RNIC says so.
TEST_CASE("a ring that may be too small for what comes is taken or not, and either is whole") {
  unsigned times = 0, refused = 0;
  for (uint64_t delay = 0; delay < 10'000; delay += 500, ++times) {
    Resized r(4);
    r.push(12);
    r.e.testbed.run_for(delay);
    const exrnic_mbox_status status = r.resize(3);
    const bool taken = status == EXRNIC_MBOX_STATUS_OK;
    CHECK((taken || status == EXRNIC_MBOX_STATUS_BAD_STATE));
    r.e.rest();
    r.take(taken ? 8 : 12);
    CHECK_FALSE(r.e.left.rnic.poll(r.cq, End::kPage).has_value());
    CHECK((r.e.left.rnic.query(kQpn).state == EXRNIC_QP_STATE_ERROR) == taken);
    r.e.expect_nothing_refused();
    refused += !taken;
  }
  CHECK(refused > 0);
  CHECK(refused < times);
}

}  // namespace
}  // namespace exrnic::testing
