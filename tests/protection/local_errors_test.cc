// SPDX-License-Identifier: BSD-2-Clause
// Work requests that the own core refuses, and what becomes of work in each state of a queue pair.
#include <functional>
#include <string>

#include "tests/support/exchange.h"

namespace exrnic::testing {
namespace {

constexpr uint64_t kBytes = 20'000;

struct LocalCase {
  std::string name;
  exrnic_cqe_status status;
  std::function<Bytes(Exchange& e)> slots;
};

Bytes spoiled(const Work& work, const std::function<void(exrnic_wqe&)>& spoil) {
  Bytes slots = slots_of(work);
  exrnic_wqe wqe = first_slot(slots);
  spoil(wqe);
  set_first_slot(slots, wqe);
  return slots;
}

const std::vector<LocalCase>& local_cases() {
  using W = exrnic_wqe;
  constexpr auto kMalformed = EXRNIC_CQE_STATUS_LOC_QP_OP_ERR;
  const auto eight = [](Exchange& e) { return Elements{element(e.left.near, 0, 8)}; };
  const auto many = [](Exchange& e) { return scattered(e.left.near, 900, 7); };  // three slots
  static const std::vector<LocalCase> cases = {
      {"opcode 0", kMalformed,
       [=](Exchange& e) { return spoiled(send_of(eight(e)), [](W& w) { w.opcode = 0; }); }},
      {"a receive in the send queue", kMalformed,
       [=](Exchange& e) {
         return spoiled(send_of(eight(e)), [](W& w) { w.opcode = EXRNIC_WQE_OPCODE_RECV; });
       }},
      {"a solicited PUSH", kMalformed,
       [=](Exchange& e) {
         Work work = push_of(eight(e), 0);
         work.flags |= EXRNIC_WQE_FLAGS_SOLICITED;
         return slots_of(work);
       }},
      {"an inline PULL", kMalformed,
       [](Exchange&) { return slots_of(inlined(pull_of({}, 0), Bytes(8))); }},
      {"inline data and elements", kMalformed,
       [](Exchange&) {
         return spoiled(inlined(send_of({}), Bytes(16)), [](W& w) { w.num_sge = 1; });
       }},
      {"inline data beyond the limit", kMalformed,
       [](Exchange&) {
         return spoiled(inlined(send_of({}), Bytes(64)), [](W& w) { ++w.length; });
       }},
      {"a slot too many for its inline data", kMalformed,
       [](Exchange&) {
         return spoiled(inlined(send_of({}), Bytes(33)), [](W& w) { w.length = 32; });
       }},
      {"a slot too few for its elements", kMalformed,
       [=](Exchange& e) { return spoiled(send_of(many(e)), [](W& w) { w.num_slots = 2; }); }},
      {"a slot too many for its elements", kMalformed,
       [=](Exchange& e) { return spoiled(send_of(many(e)), [](W& w) { w.num_sge = 6; }); }},
      {"more elements than there may be", kMalformed,
       [](Exchange& e) { return slots_of(send_of(scattered(e.left.near, 900, 17))); }},
      {"immediate data of a SEND", kMalformed,
       [=](Exchange& e) { return spoiled(send_of(eight(e)), [](W& w) { w.imm_data = 1; }); }},
      {"a local invalidation with a length", kMalformed,
       [](Exchange&) {
         return spoiled(local_invalidate_of(kNearStag), [](W& w) { w.length = 1; });
       }},
      {"elements longer than the message", EXRNIC_CQE_STATUS_LOC_LEN_ERR,
       [=](Exchange& e) { return spoiled(send_of(many(e)), [](W& w) { --w.length; }); }},
      {"a message too long", EXRNIC_CQE_STATUS_LOC_LEN_ERR,
       [](Exchange&) {
         return slots_of(pull_of({{kNearBase, EXRNIC_MESSAGE_MAX + 1, kNearStag}}, 0));
       }},
      {"the last of many elements outside its region", EXRNIC_CQE_STATUS_LOC_PROT_ERR,
       [](Exchange& e) {
         Elements elements = scattered(e.left.near, 900, 16);
         elements.back().address = kNearBase + kBytes;
         return slots_of(send_of(elements));
       }},
  };
  return cases;
}

TEST_CASE(
    "a work request that the core cannot execute ends in its error, those behind it flushed") {
  for (const LocalCase& one : local_cases()) {
    INFO(one.name);
    Exchange e(kBytes);
    for (int i = 0; i < 3; ++i) e.right.receive({element(e.right.near, 0, 1000)});
    e.left.rnic.put(e.left.qp, pull_of({element(e.left.near, 5000, 3000)}, 0));
    e.left.rnic.put(e.left.qp.sq, one.slots(e));
    e.left.rnic.put(e.left.qp, send_of({}));
    e.left.rnic.ring(e.left.qp);
    CHECK(e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    const exrnic_cqe cqe = e.left.wait();
    CHECK(cqe.status == one.status);
    CHECK(cqe.opcode != EXRNIC_WQE_OPCODE_RECV);
    exrnic_cqe last = e.left.wait();
    while (last.wqe_index != e.left.qp.sq.index - 1) {  // its slots may count as work of their own
      CHECK(last.status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
      last = e.left.wait();
    }
    CHECK(last.status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
    CHECK(e.left.rnic.counter(EXRNIC_COUNTER_WQE_ERRORS) == 1);
    e.rest();
    CHECK_FALSE(e.right.rnic.poll(e.right.recv_cq, End::kPage).has_value());
  }
}

TEST_CASE("in ERROR all work of both queues is flushed, in the order of each, by its last slots") {
  Exchange e(50'000);
  std::vector<uint32_t> sends, receives;
  for (uint32_t i = 0; i < 6; ++i) {
    e.left.rnic.put(e.left.qp, send_of(scattered(e.left.near, 3000, 1 + 3 * i)));
    sends.push_back(e.left.qp.sq.index - 1);
    e.left.receive(scattered(e.left.near, 3000, 16 - 3 * i));
    receives.push_back(e.left.qp.rq.index - 1);
  }
  e.testbed.run_while_busy(1'000'000);
  REQUIRE(e.left.rnic.modify(Exchange::kLeftQpn, EXRNIC_QP_STATE_ERROR) == EXRNIC_MBOX_STATUS_OK);
  e.left.rnic.ring(e.left.qp);
  for (const uint32_t slot : sends) {
    const exrnic_cqe cqe = e.left.wait();
    CHECK(cqe.status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
    CHECK(cqe.wqe_index == slot);
  }
  for (const uint32_t slot : receives) {
    const exrnic_cqe cqe = e.left.wait_receive();
    CHECK(cqe.status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
    CHECK(cqe.opcode == EXRNIC_WQE_OPCODE_RECV);
    CHECK(cqe.wqe_index == slot);
  }
  // What is posted to it now comes back at once.
  e.left.post(send_of({}));
  CHECK(e.left.wait().status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
  e.left.receive({});
  CHECK(e.left.wait_receive().status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
}

TEST_CASE("work waits for its state: receives may be posted before the peer is known") {
  Exchange e;
  QueuePairOptions options;
  options.recv_cq = &e.right.recv_cq;
  QueuePair left = e.left.rnic.create_qp(70, End::kPage, End::kPd, e.left.cq);
  QueuePair right = e.right.rnic.create_qp(71, End::kPage, End::kPd, e.right.cq, options);
  const auto refused = e.left.rnic.counter(EXRNIC_COUNTER_DOORBELLS_REFUSED);
  e.left.rnic.post(left, send_of({}));  // in RESET
  CHECK(e.left.rnic.counter(EXRNIC_COUNTER_DOORBELLS_REFUSED) == refused + 1);
  left.sq.index = 0;
  REQUIRE(e.left.rnic.modify(70, EXRNIC_QP_STATE_INIT) == EXRNIC_MBOX_STATUS_OK);
  REQUIRE(e.right.rnic.modify(71, EXRNIC_QP_STATE_INIT) == EXRNIC_MBOX_STATUS_OK);
  e.left.rnic.post(left, send_of({element(e.left.near, 0, 8)}));
  e.right.rnic.post_receive(right, {element(e.right.near, 0, 8)});
  REQUIRE(e.left.rnic.modify(70, EXRNIC_QP_STATE_RTR, 1, 71) == EXRNIC_MBOX_STATUS_OK);
  REQUIRE(e.right.rnic.modify(71, EXRNIC_QP_STATE_RTR, 0, 70) == EXRNIC_MBOX_STATUS_OK);
  e.rest();
  CHECK_FALSE(e.left.rnic.poll(e.left.cq, End::kPage).has_value());
  REQUIRE(e.left.rnic.modify(70, EXRNIC_QP_STATE_RTS) == EXRNIC_MBOX_STATUS_OK);
  CHECK(e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(e.right.wait_receive().status == EXRNIC_CQE_STATUS_SUCCESS);
  // One in RTR answers PULLs, too.
  e.left.rnic.post(left, pull_of({element(e.left.near, 0, 2000)}, 0));
  CHECK(e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
}

}  // namespace
}  // namespace exrnic::testing
