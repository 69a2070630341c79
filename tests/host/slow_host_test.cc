// SPDX-License-Identifier: BSD-2-Clause
// Hosts that are slow to answer the RNIC's reads of their memory, and hosts that never do.
#include <algorithm>
#include <vector>

#include "tests/support/exchange.h"
#include "tests/support/window_owner.h"

namespace exrnic::testing {
namespace {

constexpr uint64_t kNever = HostPort::kNever;
// A read that has no answer fails behind this one, and before two of them are over.
constexpr uint8_t kTimeoutShift = 18;  // of a board that is impatient, for the sake of time
constexpr uint64_t kTimeoutNs = uint64_t{1} << kTimeoutShift;
constexpr uint64_t kLongest = 2 * kTimeoutNs + 10'000'000;
constexpr uint32_t kLong = 12'288;
constexpr uint8_t kOld = 0x11;
constexpr uint8_t kNew = 0xee;

void slow_down(RnicDriver& rnic, const PinnedPages& memory, uint64_t wait_ns) {
  for (const uint64_t page : memory.pages)
    rnic.host().slow_reads(page, uint64_t{1} << EXRNIC_PAGE_SHIFT, wait_ns);
}

CoreFactory cores(uint8_t timeout_shift) {
  return [=, make_core = test_cores()](const CoreConfig& config, CoreSink& sink) {
    CoreConfig board = config;
    board.read_timeout_shift = timeout_shift;
    return make_core(board, sink);
  };
}

// Two queue pairs of the same nodes, processes and completion queues.
struct TwoPairs : Exchange {
  static constexpr uint32_t kSecondLeft = 30;
  static constexpr uint32_t kSecondRight = 31;

  explicit TwoPairs(uint8_t timeout_shift = kTimeoutShift)
      : Exchange(20'000, {}, options_for("dc-25g"), cores(timeout_shift)) {
    QueuePairOptions options;
    options.recv_cq = &left.recv_cq;
    second_left = left.rnic.create_qp(kSecondLeft, End::kPage, End::kPd, left.cq, options);
    options.recv_cq = &right.recv_cq;
    second_right = right.rnic.create_qp(kSecondRight, End::kPage, End::kPd, right.cq, options);
    left.rnic.connect(second_left, 1, kSecondRight);
    right.rnic.connect(second_right, 0, kSecondLeft);
  }

  void expect_told(End& end) {
    CHECK(end.rnic.counter(EXRNIC_COUNTER_DMA_READ_TIMEOUTS) > 0);
    CHECK(end.rnic.counter(EXRNIC_COUNTER_DMA_READ_TIMEOUTS) <=
          end.rnic.counter(EXRNIC_COUNTER_DMA_READ_ERRORS));
    // An event of before waits for its queue.
    std::optional<EventQueue>& events = end.rnic.node() == 0 ? left_events : right_events;
    if (!events) events = end.rnic.create_eq(EXRNIC_EQN_ASYNC, EXRNIC_MSIX_VECTOR_CONTROL);
    testbed.run_for(1000);
    bool told = false;
    while (const auto eqe = end.rnic.poll(*events))
      told |= eqe->event_type == EXRNIC_EQE_TYPE_HOST_SILENT;
    end.rnic.ring(*events);
    CHECK(told);
  }
  // The core goes on: with the driver's commands, and with work towards the same peer.
  void expect_life() {
    for (End* end : {&left, &right})
      end->rnic.create_region(0x0555'00 + end->rnic.node(), End::kPd, 0, 4096, 0);
    left.rnic.post(second_left, inlined(push_of({}, 100), Bytes(8, 0x5a)));
    CHECK(left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    CHECK(right.rnic.read(right.far, 100, 8) == Bytes(8, 0x5a));
  }

  QueuePair second_left;
  QueuePair second_right;
  std::optional<EventQueue> left_events, right_events;
};

// ---- Hosts that never answer

TEST_CASE("a PUSH whose payload the host never gives ends in an error, and the core goes on") {
  TwoPairs e(EXRNIC_READ_TIMEOUT_SHIFT);
  slow_down(e.left.rnic, e.left.near.memory, kNever);
  e.left.post(push_of({element(e.left.near, 0, 3000)}, 0));
  const uint64_t interval = uint64_t{1} << EXRNIC_READ_TIMEOUT_SHIFT;
  const exrnic_cqe cqe = e.left.wait(2 * interval + 100'000);
  CHECK(cqe.status == EXRNIC_CQE_STATUS_LOC_PROT_ERR);
  CHECK(e.testbed.now_ns() > interval);
  CHECK(e.left.state() == EXRNIC_QP_STATE_ERROR);
  e.expect_told(e.left);
  e.expect_life();
  e.rest(kLongest);
}

TEST_CASE("a command that waits for a read without an answer ends, and so do register loads") {
  TwoPairs e;
  slow_down(e.left.rnic, e.left.near.memory, kNever);
  e.left.post(push_of({element(e.left.near, 0, 100)}, 0));
  e.testbed.run_for(20'000);
  e.left.rnic.write_register(EXRNIC_REG_MBOX_COMMAND, EXRNIC_MBOX_OP_MODIFY_SRQ);
  e.testbed.run_for(20'000);
  CHECK(e.left.rnic.read_register(EXRNIC_REG_MBOX_STATUS) == EXRNIC_MBOX_STATUS_BUSY);
  e.testbed.run_for(kLongest);
  CHECK(e.left.rnic.read_register(EXRNIC_REG_MBOX_STATUS) != EXRNIC_MBOX_STATUS_BUSY);
  CHECK(e.left.wait().status == EXRNIC_CQE_STATUS_LOC_PROT_ERR);
  e.expect_told(e.left);
  e.expect_life();
}

TEST_CASE("work requests that the host never gives end in an error") {
  TwoPairs e;
  slow_down(e.left.rnic, e.left.qp.sq.ring, kNever);
  e.left.post(push_of({element(e.left.near, 0, 100)}, 0));
  CHECK(e.left.wait(kLongest).status == EXRNIC_CQE_STATUS_LOC_QP_OP_ERR);
  e.expect_told(e.left);
  e.expect_life();
}

TEST_CASE("a page list that the host never gives is an error of the work request") {
  TwoPairs e;
  e.left.rnic.host().slow_reads(e.left.near.memory.pbl, 4096, kNever);
  e.left.post(push_of({element(e.left.near, 0, 100)}, 0));
  CHECK(e.left.wait(kLongest).status == EXRNIC_CQE_STATUS_LOC_PROT_ERR);
  e.expect_told(e.left);
  e.expect_life();
}

TEST_CASE("a PULL whose answer the peer's host never gives ends in an error") {
  TwoPairs e;
  slow_down(e.right.rnic, e.right.far.memory, kNever);
  e.left.post(pull_of({element(e.left.near, 0, 3000)}, 0));
  CHECK(e.left.wait(kLongest).status == EXRNIC_CQE_STATUS_REM_OP_ERR);
  e.expect_told(e.right);
  slow_down(e.right.rnic, e.right.far.memory, 0);
  e.expect_life();
}

TEST_CASE("a receive that the host never gives is an error of the receiver") {
  TwoPairs e;
  slow_down(e.right.rnic, e.right.qp.rq.ring, kNever);
  e.right.receive({element(e.right.near, 0, 100)});
  e.left.post(send_of({element(e.left.near, 0, 100)}));
  // What was fetched ahead is asked for once more when the message is there.
  CHECK(e.right.wait_receive(2 * kLongest).status == EXRNIC_CQE_STATUS_LOC_QP_OP_ERR);
  CHECK(e.left.wait(kLongest).status == EXRNIC_CQE_STATUS_REM_OP_ERR);
  e.expect_told(e.right);
  e.expect_life();
}

TEST_CASE("an answer that comes when its read has failed is given to nobody") {
  TwoPairs e;
  const Bytes old(kLong, kOld);
  e.left.rnic.write(e.left.near, 0, old);
  slow_down(e.left.rnic, e.left.near.memory, 3 * kTimeoutNs);
  e.left.post(push_of({element(e.left.near, 0, kLong)}, 0));
  CHECK(e.left.wait(kLongest).status == EXRNIC_CQE_STATUS_LOC_PROT_ERR);
  slow_down(e.left.rnic, e.left.near.memory, 0);
  // Reads go on while the late answers come.
  const uint64_t begin = e.testbed.now_ns();
  const Bytes fresh(kLong, kNew);
  e.left.rnic.write(e.left.near, 0, fresh);
  for (uint64_t offset = 0; e.testbed.now_ns() - begin < 2 * kTimeoutNs; offset ^= 1) {
    e.left.rnic.post(e.second_left, push_of({element(e.left.near, 0, kLong)}, offset));
    REQUIRE(e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    REQUIRE(difference(e.right.rnic.read(e.right.far, offset, kLong), fresh) == "");
    e.testbed.run_for(kTimeoutNs / 16);
  }
  e.rest(kLongest);
}

// ---- Hosts that are slow: what was let in before an invalidation

// The left node PULLs what the right node's owner then takes back.
struct TakenBack : TwoPairs {
  static constexpr uint64_t kSlowNs = 100'000;

  TakenBack() {
    right.rnic.write(right.far, 0, Bytes(kLong, kOld));
    slow_down(right.rnic, right.far.memory, kSlowNs);
    left.post(pull_of({element(left.near, 0, kLong)}, 0));
    testbed.run_for(5'000);  // the right node has asked its host, and waits
    REQUIRE_FALSE(left.rnic.poll(left.cq, End::kPage));
  }

  // The owner knows that the region is invalidated, and uses the memory for something else.
  void use_anew() {
    right.rnic.write(right.far, 0, Bytes(kLong, kNew));
    const exrnic_cqe pulled = left.wait(kLongest);
    REQUIRE(pulled.opcode == EXRNIC_WQE_OPCODE_PULL);
    const Bytes got = left.rnic.read(left.near, 0, kLong);
    CHECK(std::count(got.begin(), got.end(), kNew) == 0);
    if (pulled.status == EXRNIC_CQE_STATUS_SUCCESS)
      CHECK(difference(got, Bytes(kLong, kOld)) == "");
    // Nobody reads the region any more.
    left.rnic.post(second_left, pull_of({element(left.near, 0, 8)}, 0));
    CHECK(left.wait().status == EXRNIC_CQE_STATUS_REM_ACCESS_ERR);
  }
};

Work unsignaled(Work work) {
  work.flags = 0;
  return work;
}

TEST_CASE("behind the completion of a remote invalidation nothing is read for a PULL from before") {
  TakenBack e;
  e.right.rnic.post_receive(e.second_right, {element(e.right.near, 0, 8)});
  e.left.rnic.post(e.second_left,
                   unsignaled(with_imm(send_of({element(e.left.near, 0, 8)}),
                                       EXRNIC_WQE_OPCODE_SEND_INVALIDATE, kFarStag)));
  const exrnic_cqe received = e.right.wait_receive();
  CHECK(received.status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK((received.flags & EXRNIC_CQE_FLAGS_INVALIDATED) != 0);
  e.use_anew();
}

TEST_CASE("behind the completion of a local invalidation nothing is read for a PULL from before") {
  TakenBack e;
  e.right.rnic.post(e.second_right, local_invalidate_of(kFarStag));
  const exrnic_cqe invalidated = e.right.wait();
  CHECK(invalidated.opcode == EXRNIC_WQE_OPCODE_LOCAL_INVALIDATE);
  CHECK(invalidated.status == EXRNIC_CQE_STATUS_SUCCESS);
  e.use_anew();
}

// The right node's window, which is bound by a queue pair to its own node: so the bind does not
// wait behind what goes to the peer, who PULLs by the window.
struct OwnWindow : TwoPairs {
  static constexpr uint32_t kAlone = 32;

  OwnWindow()
      : window(right, EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_MW_BIND,
               EXRNIC_REGION_KIND_DOMAIN_WINDOW),
        alone(right.rnic.create_qp(kAlone, End::kPage, End::kPd, right.cq, QueuePairOptions{})) {
    right.rnic.connect(alone, 1, kAlone);
    right.rnic.write(window.region, 0, Bytes(WindowOwner::kBytes, kOld));
  }

  exrnic_cqe bind(const Bind& bind) {
    right.rnic.put(alone, bind_of(bind));
    right.rnic.ring(alone);
    return right.wait(kLongest);
  }
  // The right node has asked its host, and waits.
  void pull(const Work& work) {
    left.post(work);
    testbed.run_for(5'000);
    REQUIRE_FALSE(left.rnic.poll(left.cq, End::kPage));
  }

  WindowOwner window;
  QueuePair alone;
};

TEST_CASE("behind the completion of a bind nothing is read for a PULL by the one before it") {
  OwnWindow e;
  REQUIRE(e.bind(e.window.bind()).status == EXRNIC_CQE_STATUS_SUCCESS);
  slow_down(e.right.rnic, e.window.region.memory, TakenBack::kSlowNs);
  e.pull(e.window.by_window(pull_of({element(e.left.near, 0, WindowOwner::kLength)}, 0)));
  Bind narrower = e.window.bind(EXRNIC_ACCESS_REMOTE_WRITE);
  ++narrower.stag;
  CHECK(e.bind(narrower).status == EXRNIC_CQE_STATUS_SUCCESS);
  e.right.rnic.write(e.window.region, 0, Bytes(WindowOwner::kBytes, kNew));
  CHECK(e.left.wait(kLongest).opcode == EXRNIC_WQE_OPCODE_PULL);
  const Bytes got = e.left.rnic.read(e.left.near, 0, WindowOwner::kLength);
  CHECK(std::count(got.begin(), got.end(), kNew) == 0);
}

TEST_CASE("an invalidation with nothing to wait for is not held up by a slow host") {
  TwoPairs e;
  slow_down(e.right.rnic, e.right.far.memory, 1'000'000);
  e.right.rnic.post(e.second_right, local_invalidate_of(kFarStag));
  CHECK(e.right.wait(10'000).status == EXRNIC_CQE_STATUS_SUCCESS);
}

}  // namespace
}  // namespace exrnic::testing
