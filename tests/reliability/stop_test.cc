// SPDX-License-Identifier: BSD-2-Clause
// Queue pairs that the driver takes away while the core has much to do: before it resets or
// destroys one, it takes it to ERROR and waits until nothing of it is under way.
#include <catch2/generators/catch_generators.hpp>
#include <vector>

#include "tests/support/exchange.h"

namespace exrnic::testing {
namespace {

constexpr uint32_t kSrqn = 9;
constexpr uint32_t kLong = 100'000;
constexpr uint32_t kCrowd = 12;

// Long PUSHes of the right node, each on a queue pair of its own: whoever is woken now waits for
// some turns of 16 segments, longer than the driver needs for its next command.
struct Crowd {
  explicit Crowd(Exchange& e) {
    for (uint32_t i = 0; i < kCrowd; ++i) {
      QueuePair left = e.left.rnic.create_qp(100 + i, End::kPage, End::kPd, e.left.cq);
      QueuePair right = e.right.rnic.create_qp(200 + i, End::kPage, End::kPd, e.right.cq);
      e.left.rnic.connect(left, 1, 200 + i);
      e.right.rnic.connect(right, 0, 100 + i);
      pushers.push_back(right);
    }
  }
  void push(Exchange& e) {
    for (QueuePair& qp : pushers)
      e.right.rnic.post(qp, push_of({element(e.right.near, 0, kLong)}, 0));
  }

  std::vector<QueuePair> pushers;
};

void reset(RnicDriver& rnic, uint32_t qpn) {
  REQUIRE(rnic.modify(qpn, EXRNIC_QP_STATE_RESET) == EXRNIC_MBOX_STATUS_OK);
}
void destroy(RnicDriver& rnic, uint32_t qpn) {
  rnic.must(EXRNIC_MBOX_OP_DESTROY_QP, exrnic_mbox_object{qpn});
}

TEST_CASE("a peer hears of the end of its PULL before its queue pair there is taken away") {
  const auto take_away = GENERATE(reset, destroy);
  Exchange e(kLong);
  Crowd crowd(e);
  e.left.post(pull_of({element(e.left.near, 0, kLong)}, 0));
  e.testbed.run_until([&] { return e.left.rnic.host().writes().size() > 2; }, 1'000'000);
  REQUIRE(e.right.rnic.query(Exchange::kRightQpn).under_way == 1);
  crowd.push(e);
  e.right.rnic.stop(Exchange::kRightQpn);
  take_away(e.right.rnic, Exchange::kRightQpn);
  const exrnic_cqe cqe = e.left.wait();
  CHECK(cqe.opcode == EXRNIC_WQE_OPCODE_PULL);
  CHECK(cqe.status == EXRNIC_CQE_STATUS_REM_OP_ERR);
  CHECK(e.left.rnic.query(Exchange::kLeftQpn).under_way == 0);
}

TEST_CASE("a shared receive that a message has taken comes back before its queue pair goes") {
  const auto take_away = GENERATE(reset, destroy);
  Exchange e(kLong);
  Crowd crowd(e);
  SharedReceiveQueue srq = e.right.rnic.create_srq(kSrqn, End::kPage, End::kPd);
  QueuePairOptions options;
  options.srqn = kSrqn;
  options.recv_cq = &e.right.recv_cq;
  QueuePair sender = e.left.rnic.create_qp(80, End::kPage, End::kPd, e.left.cq);
  const QueuePair taker = e.right.rnic.create_qp(81, End::kPage, End::kPd, e.right.cq, options);
  e.left.rnic.connect(sender, 1, taker.qpn);
  e.right.rnic.connect(taker, 0, sender.qpn);
  e.right.rnic.post_receive(srq, {element(e.right.far, 0, kLong)});
  e.left.rnic.post(sender, send_of({element(e.left.near, 0, kLong)}));
  e.testbed.run_until([&] { return e.right.rnic.host().writes().size() > 2; }, 1'000'000);
  REQUIRE(e.right.rnic.query(taker.qpn).under_way == 1);
  crowd.push(e);
  e.right.rnic.stop(taker.qpn);
  take_away(e.right.rnic, taker.qpn);
  const exrnic_cqe flushed = e.right.wait_receive();
  CHECK(flushed.qpn == taker.qpn);
  CHECK(flushed.status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
  CHECK(flushed.wqe_index == 0);
}

TEST_CASE("a queue pair at rest has nothing under way, in whatever state it is") {
  Exchange e;
  const auto under_way = [&] { return e.right.rnic.query(Exchange::kRightQpn).under_way; };
  e.right.receive({element(e.right.far, 0, 100)});
  e.right.receive({element(e.right.far, 0, 100)});
  CHECK(under_way() == 0);
  e.left.post(send_of({element(e.left.near, 0, 50)}));
  CHECK(e.right.wait_receive().status == EXRNIC_CQE_STATUS_SUCCESS);
  e.rest();
  CHECK(under_way() == 0);
  e.right.rnic.stop(Exchange::kRightQpn);
  CHECK(e.right.wait_receive().status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
  CHECK(under_way() == 0);
}

}  // namespace
}  // namespace exrnic::testing
