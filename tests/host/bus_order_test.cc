// SPDX-License-Identifier: BSD-2-Clause
// On PCIe a completion passes no store that came before it. So whether the core takes a store must
// not depend on a completion: not while a command brings it to rest, nor while it reads a page
// list, nor for room to send. What is stored while a command runs may come before it or behind it.
#include "tests/support/exchange.h"
#include "tests/support/ntb.h"

namespace exrnic::testing {
namespace {

constexpr uint64_t kSlowNs = 20'000;
constexpr uint64_t kSoon = 10 * kSlowNs;

void slow_down(RnicDriver& rnic, const PinnedPages& memory) {
  for (const uint64_t page : memory.pages)
    rnic.host().slow_reads(page, uint64_t{1} << EXRNIC_PAGE_SHIFT, kSlowNs);
}

void modify_to(End& end, exrnic_qp_state state) {
  exrnic_mbox_modify_qp change{};
  change.qpn = end.qp.qpn;
  change.state = state;
  end.rnic.begin(EXRNIC_MBOX_OP_MODIFY_QP, &change, sizeof change);
}

bool busy(End& end) {
  return end.rnic.read_register(EXRNIC_REG_MBOX_STATUS) == EXRNIC_MBOX_STATUS_BUSY;
}

// All kinds of stores of a process, and one of the driver.
void store_all(End& end) {
  end.rnic.store_doorbell(End::kPage, EXRNIC_DOORBELL_CQ_ARM, end.cq.number, end.cq.index);
  end.rnic.store_doorbell(End::kPage, EXRNIC_DOORBELL_CQ_ARM_SOLICITED, end.recv_cq.number,
                          end.recv_cq.index);
  end.rnic.store_doorbell(End::kPage, EXRNIC_DOORBELL_RQ, end.qp.qpn, end.qp.rq.index);
  end.rnic.store_doorbell(End::kPage, EXRNIC_DOORBELL_SQ, end.qp.qpn, end.qp.sq.index);
  end.rnic.store_doorbell(End::kPage, EXRNIC_DOORBELL_CQ, end.cq.number, end.cq.index);
  end.rnic.store_doorbell(End::kPage, EXRNIC_DOORBELL_CQ, EXRNIC_MAX_CQ, 0);
  end.rnic.write_register(EXRNIC_REG_COMBINE_CYCLES, EXRNIC_COMBINE_CYCLES_DEFAULT);
}

void expect_no_time_out(Exchange& e) {
  for (End* end : {&e.left, &e.right})
    CHECK(end->rnic.counter(EXRNIC_COUNTER_DMA_READ_TIMEOUTS) == 0);
}

TEST_CASE("stores are taken while a command waits for reads that stand behind them") {
  Exchange e;
  slow_down(e.left.rnic, e.left.near.memory);
  for (int round = 0; round < 3; ++round) {
    e.left.post(push_of({element(e.left.near, 0, 3000)}, 0));
    e.testbed.run_for(2'000);  // the core waits for its host
    e.left.rnic.write_register(EXRNIC_REG_MBOX_COMMAND, EXRNIC_MBOX_OP_MODIFY_SRQ);
    e.testbed.run_for(1'000);
    for (int i = 0; i < 5; ++i) store_all(e.left);
    CHECK(busy(e.left));
    CHECK(e.left.wait(kSoon).status == EXRNIC_CQE_STATUS_SUCCESS);
    CHECK_FALSE(busy(e.left));
  }
  expect_no_time_out(e);
}

TEST_CASE("stores are taken while a completion waits for the page list of its queue") {
  Exchange e;
  e.left.rnic.host().slow_reads(e.left.cq.ring.pbl, EXRNIC_PBL_LINE_SIZE, kSlowNs);
  e.left.post(inlined(push_of({}, 0), Bytes(8, 0x77)));
  e.testbed.run_for(kSlowNs / 2);  // it is acknowledged
  CHECK_FALSE(e.left.rnic.poll(e.left.cq, End::kPage));
  for (int i = 0; i < 5; ++i) store_all(e.left);
  CHECK(e.left.wait(kSoon).status == EXRNIC_CQE_STATUS_SUCCESS);
  e.rest();
  // Armed in between: it fires.
  CHECK(e.left.rnic.host().interrupts() == std::vector<unsigned>{1});
  expect_no_time_out(e);
}

TEST_CASE("a storm of stores and commands with slow reads behind them ends well") {
  Exchange e;
  for (End* end : {&e.left, &e.right}) {
    slow_down(end->rnic, end->near.memory);
    slow_down(end->rnic, end->qp.sq.ring);
    end->rnic.host().slow_reads(end->cq.ring.pbl, EXRNIC_PBL_LINE_SIZE, kSlowNs / 4);
  }
  for (uint32_t round = 0; round < 20; ++round) {
    for (End* end : {&e.left, &e.right}) {
      end->post(push_of({element(end->near, round, 5000)}, round));
      store_all(*end);
      end->rnic.write_register(EXRNIC_REG_MBOX_COMMAND, EXRNIC_MBOX_OP_MODIFY_SRQ);
    }
    for (int i = 0; i < 8; ++i) {
      e.testbed.run_for(3'000);
      for (End* end : {&e.left, &e.right}) store_all(*end);
    }
    for (End* end : {&e.left, &e.right})
      REQUIRE(end->wait(kSoon).status == EXRNIC_CQE_STATUS_SUCCESS);
  }
  expect_no_time_out(e);
}

// ---- Doorbells behind a command that has not ended

TEST_CASE("what is posted before a RESET has ended is not executed, and not there later") {
  Exchange e;
  slow_down(e.left.rnic, e.left.near.memory);
  e.left.post(push_of({element(e.left.near, 0, 3000)}, 0));
  e.testbed.run_for(2'000);
  modify_to(e.left, EXRNIC_QP_STATE_RESET);
  e.left.post(inlined(push_of({}, 5000), Bytes(8, 0x77)));
  e.left.receive({element(e.left.near, 0, 8)});
  CHECK(busy(e.left));
  e.rest();
  CHECK(e.left.rnic.read_register(EXRNIC_REG_MBOX_STATUS) == EXRNIC_MBOX_STATUS_OK);
  const exrnic_mbox_query_qp now = e.left.rnic.query(e.left.qp.qpn);
  CHECK(now.state == EXRNIC_QP_STATE_RESET);
  CHECK(now.sq_producer == 0);
  CHECK(now.sq_consumer == 0);
  CHECK_FALSE(e.left.rnic.poll(e.left.cq, End::kPage));
  CHECK(e.right.rnic.read(e.right.far, 5000, 8) != Bytes(8, 0x77));

  CHECK(e.right.rnic.modify(e.right.qp.qpn, EXRNIC_QP_STATE_RESET) == EXRNIC_MBOX_STATUS_OK);
  e.left.qp.sq.index = e.left.qp.rq.index = 0;
  e.connect();
  e.left.post(inlined(push_of({}, 6000), Bytes(8, 0x33)));
  CHECK(e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(e.right.rnic.read(e.right.far, 6000, 8) == Bytes(8, 0x33));
}

TEST_CASE("what is posted before a command to ERROR has ended is flushed, each once") {
  Exchange e;
  slow_down(e.left.rnic, e.left.near.memory);
  e.left.post(push_of({element(e.left.near, 0, 3000)}, 0));
  e.testbed.run_for(2'000);
  modify_to(e.left, EXRNIC_QP_STATE_ERROR);
  for (int i = 0; i < 3; ++i) e.left.post(inlined(push_of({}, 5000), Bytes(8, 0x77)));
  CHECK(busy(e.left));
  for (uint32_t i = 0; i < 4; ++i) {
    const exrnic_cqe cqe = e.left.wait(kSoon);
    CHECK(cqe.wqe_index == i);
    if (i > 0) CHECK(cqe.status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
  }
  e.rest();
  CHECK_FALSE(e.left.rnic.poll(e.left.cq, End::kPage));
  CHECK(e.right.rnic.read(e.right.far, 5000, 8) != Bytes(8, 0x77));
}

TEST_CASE("a queue that is armed while a command runs, with completions in it, fires once") {
  Exchange e;
  e.left.post(inlined(push_of({}, 0), Bytes(8, 0x77)));
  e.rest();
  slow_down(e.left.rnic, e.left.near.memory);
  e.left.post(push_of({element(e.left.near, 0, 3000)}, 0));
  e.testbed.run_for(2'000);
  e.left.rnic.write_register(EXRNIC_REG_MBOX_COMMAND, EXRNIC_MBOX_OP_MODIFY_SRQ);
  e.left.rnic.store_doorbell(End::kPage, EXRNIC_DOORBELL_CQ_ARM, e.left.cq.number, 0);
  CHECK(busy(e.left));
  e.rest();
  CHECK(e.left.rnic.host().interrupts() == std::vector<unsigned>{1});
}

// ---- Windows and ports

constexpr unsigned kMany = 300;  // more than there are slots

// A second queue pair, for the window: what is posted goes by the first one.
struct WithWindow : Exchange {
  static constexpr uint32_t kSecondLeft = 30, kSecondRight = 31;
  static constexpr uint32_t kBytes = 16'000;

  explicit WithWindow(bool connects = true) : Exchange(kBytes) {
    QueuePairOptions options;
    options.recv_cq = &left.recv_cq;
    second_left = left.rnic.create_qp(kSecondLeft, End::kPage, End::kPd, left.cq, options);
    options.recv_cq = &right.recv_cq;
    second_right = right.rnic.create_qp(kSecondRight, End::kPage, End::kPd, right.cq, options);
    left.rnic.connect(second_left, 1, kSecondRight);
    if (connects) connect_right();
    REQUIRE(open(left, kSecondLeft));
    slow_down(left.rnic, left.near.memory);
  }

  void connect_right() { right.rnic.connect(second_right, 0, kSecondLeft); }
  static bool open(End& end, uint32_t qpn) {
    return RemoteWindow(end.rnic, kWindow).set(qpn, kFarStag, kFarBase, kBytes, kStore | kLoad) ==
           EXRNIC_MBOX_STATUS_OK;
  }

  void push() { left.post(push_of({element(left.near, 0, 3000)}, 0)); }
  void expect_pushed(uint64_t limit_ns = kSoon) {
    CHECK(left.wait(limit_ns).status == EXRNIC_CQE_STATUS_SUCCESS);
    for (End* end : {&left, &right})
      CHECK(end->rnic.counter(EXRNIC_COUNTER_DMA_READ_TIMEOUTS) == 0);
  }

  // None goes on where another has ended. Behind what is pushed.
  static void store(End& end, unsigned count) {
    for (unsigned i = 0; i < count; ++i)
      RemoteWindow(end.rnic, kWindow).store(8192 + 16 * i, 8, 1000 + i);
  }
  void store(unsigned count) { store(left, count); }
  void expect_stored(unsigned count) {
    for (unsigned i = 0; i < count; ++i) REQUIRE(window.load(8192 + 16 * i, 8) == 1000 + i);
  }

  static constexpr uint32_t kWindow = 3;
  RemoteWindow window{left.rnic, kWindow};
  QueuePair second_left, second_right;
};

TEST_CASE("stores to windows are taken while a command waits for reads that stand behind them") {
  WithWindow e;
  e.push();
  e.testbed.run_for(2'000);
  e.left.rnic.write_register(EXRNIC_REG_MBOX_COMMAND, EXRNIC_MBOX_OP_MODIFY_SRQ);
  e.testbed.run_for(1'000);
  CHECK(busy(e.left));
  e.store(kMany);
  e.expect_pushed();
  e.expect_stored(kMany);
}

TEST_CASE("stores to windows are taken while segments before them wait for their payload") {
  WithWindow e;
  e.push();
  e.testbed.run_for(2'000);
  e.store(kMany);
  e.left.rnic.write_register(EXRNIC_REG_MBOX_COMMAND, EXRNIC_MBOX_OP_MODIFY_SRQ);
  store_all(e.left);
  e.expect_pushed();
  e.expect_stored(kMany);
  CHECK_FALSE(busy(e.left));
}

TEST_CASE("stores to windows are taken while segments that wait for their payload have all slots") {
  WithWindow e;
  constexpr unsigned kPushes = 60;  // as many as a node may hold
  for (unsigned i = 0; i < kPushes; ++i) e.left.post(push_of({element(e.left.near, i, 900)}, 0));
  e.testbed.run_for(15'000);
  e.store(kMany);
  e.testbed.run_for(1'000);
  CHECK_FALSE(e.left.rnic.poll(e.left.cq, End::kPage));
  for (unsigned i = 0; i < kPushes; ++i) e.expect_pushed();
  e.expect_stored(kMany);
}

TEST_CASE("stores to windows are taken while a completion waits for the page list of its queue") {
  WithWindow e;
  e.left.rnic.host().slow_reads(e.left.cq.ring.pbl, EXRNIC_PBL_LINE_SIZE, kSlowNs);
  e.left.post(inlined(push_of({}, 0), Bytes(8, 0x77)));
  e.testbed.run_for(kSlowNs / 2);  // it is acknowledged
  e.store(kMany);
  e.expect_pushed();
  e.expect_stored(kMany);
}

TEST_CASE("stores to the registers of ports are taken, whatever their node waits for") {
  WithWindow e;
  Port here{e.left.rnic, 3}, there{e.right.rnic, 2};
  here.open(1, 2, 9);
  there.open(0, 3, 9);
  e.testbed.run_for(kSlowNs);
  REQUIRE(here.linked());
  e.left.rnic.host().slow_reads(e.left.cq.ring.pbl, EXRNIC_PBL_LINE_SIZE, kSlowNs);
  e.left.post(inlined(push_of({}, 0), Bytes(8, 0x77)));
  e.push();
  e.testbed.run_for(2'000);
  for (unsigned i = 0; i < kMany; ++i) here.set_peer_spad(i % EXRNIC_PORT_SPADS, i);
  e.expect_pushed();
  e.expect_pushed();
  e.rest();
  CHECK(here.linked());
  CHECK(there.spad((kMany - 1) % EXRNIC_PORT_SPADS) == kMany - 1);
}

constexpr uint64_t kMeetNs = EXRNIC_MEET_CYCLES * 4;

TEST_CASE("stores to a window whose queue pair has not met its peer are taken at last") {
  WithWindow e(false);
  e.push();
  e.testbed.run_for(2'000);
  e.store(8);
  e.expect_pushed(kMeetNs + kSoon);
}

TEST_CASE("what two nodes store to each other, while both wait for page lists, is taken in time") {
  WithWindow e;
  REQUIRE(WithWindow::open(e.right, WithWindow::kSecondRight));
  for (End* end : {&e.left, &e.right})
    end->rnic.host().slow_reads(end->far.memory.pbl, EXRNIC_PBL_LINE_SIZE, kSlowNs);
  for (End* end : {&e.left, &e.right}) WithWindow::store(*end, kMany);
  const auto all_taken = [&](unsigned node) {
    return e.testbed.node(node).rnic().peek_counter(EXRNIC_COUNTER_WINDOW_STORES) == kMany;
  };
  constexpr uint64_t kCycleNs = 4;
  CHECK(e.testbed.run_until([&] { return all_taken(0) && all_taken(1); },
                            4 * kCycleNs * EXRNIC_ROOM_CYCLES) == RunResult::kDone);
  for (End* end : {&e.left, &e.right})
    CHECK(end->rnic.counter(EXRNIC_COUNTER_DMA_READ_TIMEOUTS) == 0);
}

}  // namespace
}  // namespace exrnic::testing
