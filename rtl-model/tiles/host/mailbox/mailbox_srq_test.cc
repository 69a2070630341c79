// SPDX-License-Identifier: BSD-2-Clause
#include <catch2/catch_test_macros.hpp>

#include "rtl-model/tiles/host/mailbox/mailbox_payloads.h"

namespace exrnic::testing {
namespace {

TEST_CASE("A queue pair takes its receives from the shared queue that it names, if both agree") {
  Mailbox mailbox;
  create_cqs(mailbox);
  mailbox.srqs[kSrqn] = own_srq();
  exrnic_mbox_create_qp payload = qp_payload();
  payload.srqn = kSrqn;
  exrnic_mbox_status expected = kBadIndex;
  SECTION("they do") { expected = kOk; }
  SECTION("beyond the table") { payload.srqn = EXRNIC_MAX_SRQ; }
  SECTION("far beyond the table") { payload.srqn = 0x80000000 | kSrqn; }
  SECTION("does not exist") { mailbox.srqs[kSrqn].cfg.valid = false; }
  SECTION("of another page") { mailbox.srqs[kSrqn].cfg.page++; }
  SECTION("of another domain") { mailbox.srqs[kSrqn].cfg.pd++, expected = kBadParameter; }
  CHECK(mailbox.run(EXRNIC_MBOX_OP_CREATE_QP, payload) == expected);
  CHECK(mailbox.qps[kQpn].cfg.valid == (expected == kOk));
  CHECK(mailbox.qps[kQpn].cfg.has_srq == (expected == kOk));
  if (expected == kOk) CHECK(mailbox.qps[kQpn].cfg.srqn == kSrqn);
}

TEST_CASE("A shared receive queue is created as asked, and empty") {
  Mailbox mailbox;
  mailbox.srqs[kSrqn] = own_srq();
  mailbox.srqs[kSrqn].cfg.valid = false;
  CHECK(mailbox.run(EXRNIC_MBOX_OP_CREATE_SRQ, srq_payload()) == kOk);
  const Srq& srq = mailbox.srqs[kSrqn];
  CHECK(srq.cfg.valid);
  CHECK(srq.cfg.page == kPage);
  CHECK(srq.cfg.pd == kPd);
  CHECK(srq.cfg.log_slots == 9);
  CHECK(srq.cfg.pbl == 0xcccccccccc00);
  CHECK(srq.limit == 100);
  CHECK(srq.producer == 0);
  CHECK(srq.consumer == 0);
  CHECK(mailbox.order == "1wcfF0d");
  CHECK(mailbox.run(EXRNIC_MBOX_OP_CREATE_SRQ, srq_payload()) == kBadState);
}

TEST_CASE("Each field of a new shared receive queue is checked") {
  exrnic_mbox_create_srq payload = srq_payload();
  exrnic_mbox_status expected = kBadIndex;
  SECTION("number") { payload.srqn = EXRNIC_MAX_SRQ; }
  SECTION("number, high bits") { payload.srqn |= 0x10000; }
  SECTION("page") { payload.page = EXRNIC_USER_PAGES + kPage; }
  SECTION("domain") { payload.pd = EXRNIC_MAX_PD; }
  SECTION("too small") { payload.log_slots = EXRNIC_RING_LOG_MIN - 1, expected = kBadParameter; }
  SECTION("too large") { payload.log_slots = EXRNIC_SQ_LOG_MAX + 1, expected = kBadParameter; }
  SECTION("size, high bits") { payload.log_slots |= 0x100, expected = kBadParameter; }
  SECTION("PBL") { payload.pbl_address += 8, expected = kBadParameter; }
  SECTION("limit") { payload.limit = EXRNIC_SRQ_LIMIT_MAX + 1, expected = kBadParameter; }
  SECTION("the limits") {
    payload.srqn = EXRNIC_MAX_SRQ - 1, payload.page = EXRNIC_USER_PAGES - 1;
    payload.pd = EXRNIC_MAX_PD - 1, payload.log_slots = EXRNIC_SQ_LOG_MAX;
    payload.limit = 0xffff, expected = kOk;
  }
  SECTION("the least") {
    payload.log_slots = EXRNIC_RING_LOG_MIN, payload.limit = 0, expected = kOk;
  }
  Mailbox mailbox;
  CHECK(mailbox.run(EXRNIC_MBOX_OP_CREATE_SRQ, payload) == expected);
  CHECK((mailbox.order.find('w') != std::string::npos) == (expected == kOk));
}

TEST_CASE("The limit of a shared receive queue is armed anew, and nothing else of it changes") {
  Mailbox mailbox;
  const Srq before = mailbox.srqs[kSrqn] = own_srq();
  exrnic_mbox_modify_srq payload{kSrqn, 0xffff};
  CHECK(mailbox.run(EXRNIC_MBOX_OP_MODIFY_SRQ, payload) == kOk);
  CHECK(mailbox.order == "1wfF0d");
  const Srq& srq = mailbox.srqs[kSrqn];
  CHECK(srq.limit == 0xffff);
  CHECK(srq.cfg.valid);
  CHECK(srq.cfg.page == before.cfg.page);
  CHECK(srq.cfg.pd == before.cfg.pd);
  CHECK(srq.cfg.log_slots == before.cfg.log_slots);
  CHECK(srq.cfg.pbl == before.cfg.pbl);
  CHECK(srq.producer == before.producer);
  CHECK(srq.consumer == before.consumer);
  payload.limit = EXRNIC_SRQ_LIMIT_MAX + 1;
  CHECK(mailbox.run(EXRNIC_MBOX_OP_MODIFY_SRQ, payload) == kBadParameter);
  payload.srqn = EXRNIC_MAX_SRQ + kSrqn;
  CHECK(mailbox.run(EXRNIC_MBOX_OP_MODIFY_SRQ, payload) == kBadIndex);
  payload.srqn = kSrqn - 1;
  CHECK(mailbox.run(EXRNIC_MBOX_OP_MODIFY_SRQ, payload) == kBadState);
  CHECK(srq.limit == 0xffff);
}

TEST_CASE("A destroyed shared receive queue is gone") {
  Mailbox mailbox;
  mailbox.srqs[kSrqn] = own_srq();
  CHECK(mailbox.run(EXRNIC_MBOX_OP_DESTROY_SRQ, object(kSrqn)) == kOk);
  CHECK(mailbox.order == "1wfF0d");
  CHECK_FALSE(mailbox.srqs[kSrqn].cfg.valid);
  CHECK(mailbox.run(EXRNIC_MBOX_OP_DESTROY_SRQ, object(kSrqn)) == kBadState);
  CHECK(mailbox.run(EXRNIC_MBOX_OP_DESTROY_SRQ, object(EXRNIC_MAX_SRQ)) == kBadIndex);
}

TEST_CASE("A query of a shared receive queue answers with limit and ring, and keeps the rest") {
  Mailbox mailbox;
  mailbox.srqs[kSrqn] = own_srq();
  CHECK(mailbox.run(EXRNIC_MBOX_OP_QUERY_SRQ, object(kSrqn)) == kOk);
  CHECK(mailbox.has_answer);
  const auto answer = mailbox.answer<exrnic_mbox_query_srq>();
  CHECK(answer.limit == 7);
  CHECK(answer.producer == 0x10);
  CHECK(answer.consumer == 0xfffe);
  // What stood in the payload behind the answer.
  for (std::size_t i = sizeof(answer); i < mailbox.answer_bytes.size(); ++i)
    CHECK(mailbox.answer_bytes[i] == 0xa5);
  CHECK(mailbox.order == "d");
  CHECK(mailbox.run(EXRNIC_MBOX_OP_QUERY_SRQ, object(kSrqn - 1)) == kBadState);
  CHECK_FALSE(mailbox.has_answer);
  CHECK(mailbox.run(EXRNIC_MBOX_OP_QUERY_SRQ, object(EXRNIC_MAX_SRQ + kSrqn)) == kBadIndex);
}

}  // namespace
}  // namespace exrnic::testing
