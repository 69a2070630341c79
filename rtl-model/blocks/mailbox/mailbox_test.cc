// SPDX-License-Identifier: BSD-2-Clause
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "rtl-model/blocks/mailbox/mailbox_bench.h"

namespace exrnic::testing {
namespace {

constexpr exrnic_mbox_status kOk = EXRNIC_MBOX_STATUS_OK;
constexpr exrnic_mbox_status kBadOpcode = EXRNIC_MBOX_STATUS_BAD_OPCODE;
constexpr exrnic_mbox_status kBadIndex = EXRNIC_MBOX_STATUS_BAD_INDEX;
constexpr exrnic_mbox_status kBadState = EXRNIC_MBOX_STATUS_BAD_STATE;
constexpr exrnic_mbox_status kBadParameter = EXRNIC_MBOX_STATUS_BAD_PARAMETER;

constexpr uint32_t kQpn = 0x155;
constexpr uint32_t kCqn = 0x3fe;
constexpr uint32_t kPage = 0x42;
constexpr uint32_t kStagIndex = 0x1234;
constexpr uint32_t kStag = kStagIndex << EXRNIC_STAG_INDEX_SHIFT | 0x5a;

exrnic_mbox_object object(uint32_t index) { return {index}; }
exrnic_mbox_create_cq cq_payload() { return {kCqn, kPage, 0x123456789ac0, 10, 17}; }
exrnic_mbox_create_qp qp_payload() {
  return {kQpn,           kPage,         0xbeef, kCqn, kCqn - 1, 12, 2, EXRNIC_SERVICE_RC,
          0xaaaaaaaaaac0, 0xbbbbbbbbbb80};
}
exrnic_mbox_register_mr mr_payload() {
  return {kStag,
          0xcafe,
          0x7f0000000123,
          0x100000001,
          0x1111111140,
          EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_REMOTE_WRITE | EXRNIC_ACCESS_REMOTE_READ,
          EXRNIC_PAGE_SHIFT};
}
CqConfig own_cq() { return {true, kPage, 4, 1, 0x40}; }

// A mailbox with the two completion queues that qp_payload() names.
void create_cqs(Mailbox& mailbox) {
  mailbox.cqs[kCqn] = own_cq();
  mailbox.cqs[kCqn - 1] = own_cq();
}
Qp qp_in(uint8_t state) {
  Qp qp;
  qp.cfg.valid = true;
  qp.cfg.page = kPage;
  qp.cfg.generation = 0xff;
  qp.cfg.dest_node = 9;
  qp.cfg.dest_qpn = 0x777;
  qp.status.state = state;
  qp.sq_producer = 0xfff0;
  qp.sq_consumer = 0xffe0;
  qp.halted = true;
  return qp;
}

TEST_CASE("No operation ends well and disturbs nobody") {
  Mailbox mailbox;
  CHECK(mailbox.run(EXRNIC_MBOX_OP_NOP, object(0)) == kOk);
  CHECK_FALSE(mailbox.has_answer);
  CHECK(mailbox.order == "d");
}

TEST_CASE("A command that does not exist is refused, whatever its low bits say") {
  Mailbox mailbox;
  for (const uint32_t op : {9u, 0x100u, 0x103u, 0x80000001u, 0xffffffffu})
    CHECK(mailbox.run(op, cq_payload()) == kBadOpcode);
  CHECK_FALSE(mailbox.cqs[kCqn].valid);
}

TEST_CASE(
    "Tables change only while the core is at rest, which lasts until old pages are forgotten") {
  Mailbox mailbox;
  create_cqs(mailbox);
  mailbox.run(EXRNIC_MBOX_OP_CREATE_QP, qp_payload());
  CHECK(mailbox.order == "1wcfF0d");
  mailbox.run(EXRNIC_MBOX_OP_DESTROY_QP, object(kQpn));
  CHECK(mailbox.order == "1wfF0d");
  mailbox.run(EXRNIC_MBOX_OP_REGISTER_MR, mr_payload());
  CHECK(mailbox.order == "1wfF0d");
  mailbox.run(EXRNIC_MBOX_OP_INVALIDATE_MR, object(kStag));
  CHECK(mailbox.order == "1wfF0d");
  mailbox.run(EXRNIC_MBOX_OP_DESTROY_CQ, object(kCqn));
  CHECK(mailbox.order == "1wfF0d");
}

TEST_CASE("A completion queue is created as asked") {
  Mailbox mailbox;
  CHECK(mailbox.run(EXRNIC_MBOX_OP_CREATE_CQ, cq_payload()) == kOk);
  const CqConfig& cq = mailbox.cqs[kCqn];
  CHECK(cq.valid);
  CHECK(cq.page == kPage);
  CHECK(cq.log_entries == 10);
  CHECK(cq.msix_vector == 17);
  CHECK(cq.pbl == 0x123456789ac0);
  CHECK(mailbox.run(EXRNIC_MBOX_OP_CREATE_CQ, cq_payload()) == kBadState);
  CHECK(mailbox.run(EXRNIC_MBOX_OP_DESTROY_CQ, object(kCqn)) == kOk);
  CHECK_FALSE(mailbox.cqs[kCqn].valid);
  CHECK(mailbox.run(EXRNIC_MBOX_OP_DESTROY_CQ, object(kCqn)) == kBadState);
  CHECK(mailbox.run(EXRNIC_MBOX_OP_DESTROY_CQ, object(EXRNIC_MAX_CQ + kCqn)) == kBadIndex);
}

TEST_CASE("Each field of a new completion queue is checked") {
  exrnic_mbox_create_cq payload = cq_payload();
  exrnic_mbox_status expected = kBadIndex;
  SECTION("number") { payload.cqn = EXRNIC_MAX_CQ; }
  SECTION("number, high bits") { payload.cqn |= 0x80000000; }
  SECTION("page") { payload.page = EXRNIC_USER_PAGES; }
  SECTION("vector") { payload.msix_vector = EXRNIC_MSIX_VECTORS; }
  SECTION("too small") { payload.log_entries = EXRNIC_RING_LOG_MIN - 1, expected = kBadParameter; }
  SECTION("too large") { payload.log_entries = EXRNIC_CQ_LOG_MAX + 1, expected = kBadParameter; }
  SECTION("size, high bits") { payload.log_entries = 0x10000004, expected = kBadParameter; }
  SECTION("PBL") { payload.pbl_address += 8, expected = kBadParameter; }
  SECTION("smallest") { payload.log_entries = EXRNIC_RING_LOG_MIN, expected = kOk; }
  SECTION("largest") {
    payload = {EXRNIC_MAX_CQ - 1, EXRNIC_USER_PAGES - 1, ~uint64_t{63}, EXRNIC_CQ_LOG_MAX,
               EXRNIC_MSIX_VECTORS - 1};
    expected = kOk;
  }
  Mailbox mailbox;
  CHECK(mailbox.run(EXRNIC_MBOX_OP_CREATE_CQ, payload) == expected);
  CHECK((mailbox.order.find('w') != std::string::npos) == (expected == kOk));
}

TEST_CASE("A queue pair is created as asked: in RESET, empty, of a new generation") {
  Mailbox mailbox;
  create_cqs(mailbox);
  mailbox.qps[kQpn] = qp_in(EXRNIC_QP_STATE_ERROR);
  mailbox.qps[kQpn].cfg.valid = false;
  mailbox.qps[kQpn].status.fault = true;
  CHECK(mailbox.run(EXRNIC_MBOX_OP_CREATE_QP, qp_payload()) == kOk);
  const Qp& qp = mailbox.qps[kQpn];
  CHECK(qp.cfg.valid);
  CHECK(qp.cfg.page == kPage);
  CHECK(qp.cfg.pd == 0xbeef);
  CHECK(qp.cfg.send_cqn == kCqn);
  CHECK(qp.cfg.recv_cqn == kCqn - 1);
  CHECK(qp.cfg.sq_log == 12);
  CHECK(qp.cfg.rq_log == 2);
  CHECK(qp.cfg.sq_pbl == 0xaaaaaaaaaac0);
  CHECK(qp.cfg.rq_pbl == 0xbbbbbbbbbb80);
  CHECK(qp.cfg.generation == 0);  // after 0xff
  CHECK(qp.cfg.dest_node == 0);
  CHECK(qp.cfg.dest_qpn == 0);
  CHECK(qp.status.state == EXRNIC_QP_STATE_RESET);
  CHECK_FALSE(qp.status.fault);
  CHECK(qp.sq_producer == 0);
  CHECK_FALSE(qp.halted);
  CHECK(mailbox.wakes.empty());
  CHECK(mailbox.run(EXRNIC_MBOX_OP_CREATE_QP, qp_payload()) == kBadState);
}

TEST_CASE("Each field of a new queue pair is checked") {
  Mailbox mailbox;
  create_cqs(mailbox);
  exrnic_mbox_create_qp payload = qp_payload();
  exrnic_mbox_status expected = kBadIndex;
  SECTION("number") { payload.qpn = EXRNIC_MAX_QP; }
  SECTION("number, high bits") { payload.qpn |= 0x10000; }
  SECTION("page") { payload.page = EXRNIC_USER_PAGES + kPage; }
  SECTION("domain") { payload.pd = EXRNIC_MAX_PD; }
  SECTION("send queue's completion queue") { payload.send_cqn = EXRNIC_MAX_CQ + kCqn; }
  SECTION("receive queue's completion queue") { payload.recv_cqn = EXRNIC_MAX_CQ + kCqn; }
  SECTION("one does not exist") { mailbox.cqs[kCqn].valid = false; }
  SECTION("the other does not exist") { mailbox.cqs[kCqn - 1].valid = false; }
  SECTION("one is of another page") { mailbox.cqs[kCqn].page++; }
  SECTION("the other is of another page") { mailbox.cqs[kCqn - 1].page++; }
  SECTION("service") { payload.service = EXRNIC_SERVICE_RC + 1, expected = kBadParameter; }
  SECTION("send queue too small") { payload.sq_log_slots = 1, expected = kBadParameter; }
  SECTION("send queue too large") { payload.sq_log_slots = 13, expected = kBadParameter; }
  SECTION("receive queue too small") { payload.rq_log_slots = 0, expected = kBadParameter; }
  SECTION("receive queue too large") { payload.rq_log_slots = 0x104, expected = kBadParameter; }
  SECTION("send queue's PBL") { payload.sq_pbl_address |= 0x20, expected = kBadParameter; }
  SECTION("receive queue's PBL") { payload.rq_pbl_address |= 1, expected = kBadParameter; }
  SECTION("both on one completion queue") { payload.recv_cqn = kCqn, expected = kOk; }
  CHECK(mailbox.run(EXRNIC_MBOX_OP_CREATE_QP, payload) == expected);
  CHECK((mailbox.order.find('w') != std::string::npos) == (expected == kOk));
}

TEST_CASE("A queue pair changes its state only along the arrows of the specification") {
  for (uint32_t from = 0; from <= EXRNIC_QP_STATE_ERROR; ++from) {
    for (uint32_t to = 0; to <= EXRNIC_QP_STATE_ERROR; ++to) {
      CAPTURE(from, to);
      const bool allowed =
          to == EXRNIC_QP_STATE_RESET || to == EXRNIC_QP_STATE_ERROR || to == from + 1;
      Mailbox mailbox;
      const Qp before = mailbox.qps[kQpn] = qp_in(static_cast<uint8_t>(from));
      const exrnic_mbox_modify_qp payload{kQpn, to, 0x21, 0x654321};
      CHECK(mailbox.run(EXRNIC_MBOX_OP_MODIFY_QP, payload) == (allowed ? kOk : kBadState));
      const Qp& qp = mailbox.qps[kQpn];
      const bool to_rtr = allowed && to == EXRNIC_QP_STATE_RTR;
      const bool to_reset = to == EXRNIC_QP_STATE_RESET;
      const bool wakes = allowed && (to == EXRNIC_QP_STATE_RTS || to == EXRNIC_QP_STATE_ERROR);
      CHECK(qp.status.state == (allowed ? to : from));
      CHECK(qp.cfg.dest_node == (to_rtr ? 0x21 : before.cfg.dest_node));
      CHECK(qp.cfg.dest_qpn == (to_rtr ? 0x654321 : before.cfg.dest_qpn));
      CHECK(qp.cfg.generation == (to_reset ? 0 : 0xff));
      CHECK(qp.sq_consumer == (to_reset ? 0 : before.sq_consumer));
      CHECK(qp.halted == !to_reset);
      CHECK(mailbox.wakes == (wakes ? std::vector<unsigned>{kQpn} : std::vector<unsigned>{}));
      CHECK(mailbox.greetings == (to_rtr ? std::vector<unsigned>{0x21} : std::vector<unsigned>{}));
    }
  }
}

TEST_CASE("Each field of a state change is checked") {
  Mailbox mailbox;
  mailbox.qps[kQpn] = qp_in(EXRNIC_QP_STATE_INIT);
  exrnic_mbox_modify_qp payload{kQpn, EXRNIC_QP_STATE_RTR, 5, 0xffffff};
  exrnic_mbox_status expected = kBadParameter;
  SECTION("number") { payload.qpn = EXRNIC_MAX_QP + kQpn, expected = kBadIndex; }
  SECTION("no such queue pair") { mailbox.qps[kQpn].cfg.valid = false, expected = kBadState; }
  SECTION("state") { payload.state = EXRNIC_QP_STATE_ERROR + 1; }
  SECTION("state, high bits") { payload.state |= 0x100; }
  SECTION("node") { payload.dest_node = EXRNIC_MAX_NODE; }
  SECTION("own node") { payload.dest_node = kNode; }
  SECTION("peer's queue pair") { payload.dest_qpn = 0x1000000; }
  SECTION("the limits") { payload.dest_node = EXRNIC_MAX_NODE - 1, expected = kOk; }
  CHECK(mailbox.run(EXRNIC_MBOX_OP_MODIFY_QP, payload) == expected);
  CHECK((mailbox.qps[kQpn].status.state == EXRNIC_QP_STATE_RTR) == (expected == kOk));
}

TEST_CASE("The driver's ERROR has no cause; one that is there already keeps its own") {
  Mailbox mailbox;
  Qp& qp = mailbox.qps[kQpn] = qp_in(EXRNIC_QP_STATE_RTS);
  const exrnic_mbox_modify_qp payload{kQpn, EXRNIC_QP_STATE_ERROR, 0, 0};
  qp.status.fault = qp.status.exact = true;  // left from before
  mailbox.run(EXRNIC_MBOX_OP_MODIFY_QP, payload);
  CHECK_FALSE(qp.status.fault);
  CHECK_FALSE(qp.status.exact);
  qp.status = {EXRNIC_QP_STATE_ERROR, true, EXRNIC_CQE_STATUS_REM_OP_ERR, 0x206, true, 99, true};
  CHECK(mailbox.run(EXRNIC_MBOX_OP_MODIFY_QP, payload) == kOk);
  CHECK(qp.status.fault);
  CHECK(qp.status.fault_detail == 0x206);
  CHECK(qp.status.exact);
  CHECK(qp.status.told);
}

TEST_CASE("A command is judged by what the tables say when the core has come to rest") {
  Mailbox mailbox;
  Qp& qp = mailbox.qps[kQpn] = qp_in(EXRNIC_QP_STATE_RTR);
  mailbox.while_coming_to_rest = [&] {  // the peer refuses something
    qp.status = {EXRNIC_QP_STATE_ERROR, true, EXRNIC_CQE_STATUS_REM_OP_ERR, 0x206, true, 99, true};
  };
  SECTION("a pair that went to ERROR meanwhile does not come back to life") {
    const exrnic_mbox_modify_qp payload{kQpn, EXRNIC_QP_STATE_RTS, 0, 0};
    CHECK(mailbox.run(EXRNIC_MBOX_OP_MODIFY_QP, payload) == kBadState);
  }
  SECTION("nor does it lose its cause") {
    const exrnic_mbox_modify_qp payload{kQpn, EXRNIC_QP_STATE_ERROR, 0, 0};
    CHECK(mailbox.run(EXRNIC_MBOX_OP_MODIFY_QP, payload) == kOk);
  }
  CHECK(qp.status.state == EXRNIC_QP_STATE_ERROR);
  CHECK(qp.status.fault);
}

TEST_CASE("A query answers with state, peer and ring, and disturbs nobody") {
  Mailbox mailbox;
  mailbox.qps[kQpn] = qp_in(EXRNIC_QP_STATE_RTS);
  CHECK(mailbox.run(EXRNIC_MBOX_OP_QUERY_QP, object(kQpn)) == kOk);
  CHECK(mailbox.has_answer);
  CHECK(mailbox.answer.state == EXRNIC_QP_STATE_RTS);
  CHECK(mailbox.answer.dest_node == 9);
  CHECK(mailbox.answer.dest_qpn == 0x777);
  CHECK(mailbox.answer.sq_producer == 0xfff0);
  CHECK(mailbox.answer.sq_consumer == 0xffe0);
  CHECK(mailbox.order == "d");
  CHECK(mailbox.run(EXRNIC_MBOX_OP_QUERY_QP, object(kQpn + 1)) == kBadState);
  CHECK_FALSE(mailbox.has_answer);
  CHECK(mailbox.run(EXRNIC_MBOX_OP_QUERY_QP, object(EXRNIC_MAX_QP + kQpn)) == kBadIndex);
}

TEST_CASE("A destroyed queue pair is gone and keeps its generation for the next one") {
  Mailbox mailbox;
  mailbox.qps[kQpn] = qp_in(EXRNIC_QP_STATE_RTS);
  CHECK(mailbox.run(EXRNIC_MBOX_OP_DESTROY_QP, object(kQpn)) == kOk);
  CHECK_FALSE(mailbox.qps[kQpn].cfg.valid);
  CHECK(mailbox.qps[kQpn].cfg.generation == 0xff);
  CHECK(mailbox.run(EXRNIC_MBOX_OP_DESTROY_QP, object(kQpn)) == kBadState);
  CHECK(mailbox.run(EXRNIC_MBOX_OP_DESTROY_QP, object(0xffffffff)) == kBadIndex);
}

TEST_CASE("A region is registered as asked, and goes only by its whole STag") {
  Mailbox mailbox;
  exrnic_mbox_register_mr payload = mr_payload();
  payload.page_shift = EXRNIC_HUGE_PAGE_SHIFT;
  CHECK(mailbox.run(EXRNIC_MBOX_OP_REGISTER_MR, payload) == kOk);
  const Region& region = mailbox.regions[kStagIndex];
  CHECK(region.valid);
  CHECK(region.key == 0x5a);
  CHECK(region.pd == 0xcafe);
  CHECK(region.access == 7);
  CHECK(region.huge);
  CHECK(region.base == 0x7f0000000123);
  CHECK(region.length == 0x100000001);
  CHECK(region.pbl_address == 0x1111111140);
  CHECK(mailbox.run(EXRNIC_MBOX_OP_REGISTER_MR, payload) == kBadState);
  CHECK(mailbox.run(EXRNIC_MBOX_OP_INVALIDATE_MR, object(kStag + 1)) == kBadState);
  CHECK(mailbox.run(EXRNIC_MBOX_OP_INVALIDATE_MR, object(kStag | 0x80000000)) == kBadIndex);
  CHECK(region.valid);
  CHECK(mailbox.run(EXRNIC_MBOX_OP_INVALIDATE_MR, object(kStag)) == kOk);
  CHECK_FALSE(region.valid);
  CHECK(mailbox.run(EXRNIC_MBOX_OP_INVALIDATE_MR, object(kStag)) == kBadState);
}

TEST_CASE("Each field of a new region is checked") {
  exrnic_mbox_register_mr payload = mr_payload();
  exrnic_mbox_status expected = kBadParameter;
  SECTION("index") { payload.stag = EXRNIC_MAX_STAG << 8, expected = kBadIndex; }
  SECTION("domain") { payload.pd = EXRNIC_MAX_PD, expected = kBadIndex; }
  SECTION("no bytes") { payload.length = 0; }
  SECTION("wraps") { payload.base = ~uint64_t{0}, payload.length = 2; }
  SECTION("wraps by much") { payload.base = 2, payload.length = ~uint64_t{0}; }
  SECTION("ends at the end") { payload.base = ~uint64_t{0}, payload.length = 1, expected = kOk; }
  SECTION("PBL") { payload.pbl_address += 32; }
  SECTION("a right that does not exist") { payload.access = EXRNIC_ACCESS_REMOTE_READ << 1; }
  SECTION("rights, high bits") { payload.access |= 0x80000000; }
  SECTION("no right") { payload.access = 0, expected = kOk; }
  SECTION("page size") { payload.page_shift = 13; }
  SECTION("page size, high bits") { payload.page_shift = 0x10c; }
  Mailbox mailbox;
  CHECK(mailbox.run(EXRNIC_MBOX_OP_REGISTER_MR, payload) == expected);
  CHECK(mailbox.regions[kStagIndex].valid == (expected == kOk));
}

}  // namespace
}  // namespace exrnic::testing
