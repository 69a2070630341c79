// SPDX-License-Identifier: BSD-2-Clause
// Windows whose region or queue pair at the peer goes: loads read all ones, stores are dropped, the
// owner is told which queue pair it was, and all that does not share that queue pair goes on.
#include <catch2/generators/catch_generators.hpp>

#include "tests/support/exchange.h"
#include "tests/support/ntb.h"

namespace exrnic::testing {
namespace {

constexpr uint32_t kBytes = 6000;
constexpr uint32_t kStayStag = 0x0000'55'31;
constexpr uint64_t kStayBase = 0x4400'0000'0000;
constexpr uint32_t kOtherQpn = 41;  // at both nodes, as the next one
constexpr uint32_t kWorkQpn = 75;

enum class Going { kDeregistered, kInvalidated, kInvalidatedByPeer, kError, kReset, kDestroyed };

// The left node has windows on a region of the right one that goes, and on one that stays; and
// queue pairs with other windows and other work.
struct Ending : Exchange {
  Ending() : Exchange(kBytes) {
    stay = right.rnic.create_region(kStayStag, End::kPd, kStayBase, kBytes, kAllRights);
    for (End* end : {&left, &right}) {
      QueuePairOptions options;
      options.recv_cq = &end->recv_cq;
      const unsigned peer = 1 - end->rnic.node();
      for (const uint32_t qpn : {kOtherQpn, kWorkQpn}) {
        QueuePair qp = end->rnic.create_qp(qpn, End::kPage, End::kPd, end->cq, options);
        end->rnic.connect(qp, peer, qpn);
        (end == &left ? left_work : right_work) = qp;
      }
    }
    REQUIRE(goes.set(kLeftQpn, kFarStag, kFarBase, kBytes, kStore | kLoad) ==
            EXRNIC_MBOX_STATUS_OK);
    REQUIRE(shares.set(kLeftQpn, kStayStag, kStayBase, kBytes, kStore | kLoad) ==
            EXRNIC_MBOX_STATUS_OK);
    REQUIRE(other.set(kOtherQpn, kStayStag, kStayBase, kBytes, kStore | kLoad) ==
            EXRNIC_MBOX_STATUS_OK);
    for (RemoteWindow* window : {&goes, &shares, &other}) REQUIRE(window->load(8, 8) == 0);
    rest();
  }

  void go(Going how) {
    switch (how) {
      case Going::kDeregistered:
        return right.rnic.must(EXRNIC_MBOX_OP_INVALIDATE_MR, exrnic_mbox_object{kFarStag});
      case Going::kInvalidated:
        right.rnic.post(right_work, local_invalidate_of(kFarStag));
        CHECK(right.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
        return;
      case Going::kInvalidatedByPeer:
        right.rnic.post_receive(right_work, {});
        left.rnic.post(left_work,
                       with_imm(send_of({}), EXRNIC_WQE_OPCODE_SEND_INVALIDATE, kFarStag));
        CHECK(left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
        CHECK(right.wait_receive().status == EXRNIC_CQE_STATUS_SUCCESS);
        return;
      case Going::kError:
        right.rnic.modify(kRightQpn, EXRNIC_QP_STATE_ERROR);
        return;
      case Going::kReset:
      case Going::kDestroyed:
        right.rnic.stop(kRightQpn);
        right.rnic.modify(kRightQpn, EXRNIC_QP_STATE_RESET);
        if (how == Going::kDestroyed)
          right.rnic.must(EXRNIC_MBOX_OP_DESTROY_QP, exrnic_mbox_object{kRightQpn});
        return;
    }
  }

  // The others, and that both nodes still do all of it.
  void expect_the_others_go_on() {
    other.store(64, 8, 0x1234);
    CHECK(other.load(64, 8) == 0x1234);
    left.rnic.post(left_work, remote_push(128));
    CHECK(left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    right.rnic.post_receive(right_work, {});
    left.rnic.post(left_work, send_of({}));
    CHECK(left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    CHECK(right.wait_receive().status == EXRNIC_CQE_STATUS_SUCCESS);
    for (End* end : {&left, &right})
      for (const uint32_t qpn : {kOtherQpn, kWorkQpn})
        CHECK(end->rnic.query(qpn).state == EXRNIC_QP_STATE_RTS);
  }
  // Whom the device has named since the last look.
  std::vector<uint32_t> failed(End& end) {
    std::vector<uint32_t> all;
    EventQueue& events = &end == &left ? left_events : right_events;
    while (const auto eqe = end.rnic.poll(events))
      if (eqe->event_type == EXRNIC_EQE_TYPE_QP_ERROR) all.push_back(eqe->number);
    return all;
  }
  Work remote_push(uint64_t offset) {
    Work work = inlined(push_of({}, 0), Bytes(16, 7));
    work.remote_stag = kStayStag;
    work.remote_to = kStayBase + offset;
    return work;
  }

  EventQueue left_events = left.rnic.create_eq(EXRNIC_EQN_ASYNC, 2);
  EventQueue right_events = right.rnic.create_eq(EXRNIC_EQN_ASYNC, 2);
  Region stay;
  QueuePair left_work, right_work;
  RemoteWindow goes{left.rnic, 5}, shares{left.rnic, 6}, other{left.rnic, 7};
};

TEST_CASE(
    "when the peer's region or queue pair goes, its windows end, their owner is told, and nobody "
    "else hears of it") {
  const Going how = GENERATE(Going::kDeregistered, Going::kInvalidated, Going::kInvalidatedByPeer,
                             Going::kError, Going::kReset, Going::kDestroyed);
  const bool stores = GENERATE(true, false);
  Ending e;
  const Bytes far = e.right.rnic.read(e.right.far, 0, kBytes);
  e.go(how);
  e.expect_the_others_go_on();
  if (stores) {
    e.goes.store(8, 8, 1);
  } else {
    CHECK(e.goes.load(8, 8) == kAllOnes);
  }
  e.rest();
  // Told: which queue pair, and no other one.
  CHECK(e.failed(e.left) == std::vector<uint32_t>{Exchange::kLeftQpn});
  CHECK(e.left.state() == EXRNIC_QP_STATE_ERROR);
  for (const uint32_t qpn : e.failed(e.right)) CHECK(qpn == Exchange::kRightQpn);
  // Its windows have ended; one on a region that stays with them, as it shares the queue pair.
  const uint64_t refused = e.left.rnic.counter(EXRNIC_COUNTER_WINDOW_REFUSED);
  for (RemoteWindow* window : {&e.goes, &e.shares}) {
    window->store(16, 8, 1);
    CHECK(window->load(16, 8) == kAllOnes);
  }
  e.rest();
  CHECK(e.left.rnic.counter(EXRNIC_COUNTER_WINDOW_REFUSED) == refused + 4);
  CHECK(difference(e.right.rnic.read(e.right.far, 0, kBytes), far) == "");
  CHECK(e.right.rnic.read(e.stay, 16, 8) == Bytes(8));
  e.expect_the_others_go_on();
  e.rest();
  CHECK(e.right.rnic.read(e.stay, 128, 16) == Bytes(16, 7));
  e.expect_nothing_refused();
}

TEST_CASE("stores that are under way when the peer's region goes are placed or dropped") {
  Ending e;
  for (uint64_t i = 0; i < 200; ++i) e.goes.store(8 * i, 8, kAllOnes);
  e.right.rnic.must(EXRNIC_MBOX_OP_INVALIDATE_MR, exrnic_mbox_object{kFarStag});
  const Bytes then = e.right.rnic.read(e.right.far, 0, kBytes);
  for (uint64_t i = 200; i < 400; ++i) e.goes.store(8 * i, 8, kAllOnes);
  e.rest();
  CHECK(e.failed(e.left) == std::vector<uint32_t>{Exchange::kLeftQpn});
  CHECK(difference(e.right.rnic.read(e.right.far, 0, kBytes), then) == "");
  e.expect_the_others_go_on();
  e.rest();
  e.expect_nothing_refused();
}

}  // namespace
}  // namespace exrnic::testing
