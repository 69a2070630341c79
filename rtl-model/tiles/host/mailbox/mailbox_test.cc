// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "rtl-model/tiles/host/mailbox/mailbox_payloads.h"

namespace exrnic::testing {
namespace {

TEST_CASE("No operation ends well and disturbs nobody") {
  Mailbox mailbox;
  CHECK(mailbox.run(EXRNIC_MBOX_OP_NOP, object(0)) == kOk);
  CHECK_FALSE(mailbox.has_answer);
  CHECK(mailbox.order == "d");
}

TEST_CASE("Before a command stops the core, what stores of windows have begun is sent") {
  Mailbox mailbox;
  mailbox.dut().drained_i = 0;
  mailbox.dut().op_i = EXRNIC_MBOX_OP_DESTROY_QP;
  mailbox.dut().start_i = 1;
  mailbox.cycle();
  mailbox.dut().start_i = 0;
  for (int i = 0; i < 20; ++i) {
    mailbox.cycle();
    CHECK(mailbox.dut().drain_o);
    CHECK_FALSE(mailbox.dut().quiesce_o);
  }
  mailbox.dut().drained_i = 1;
  mailbox.cycle();
  CHECK_FALSE(mailbox.dut().drain_o);
  CHECK(mailbox.dut().quiesce_o);
}

TEST_CASE("A command that does not exist is refused, whatever its low bits say") {
  Mailbox mailbox;
  for (const uint32_t op :
       {EXRNIC_MBOX_OP_RESIZE_CQ + 1u, 0x100u, 0x103u, 0x80000001u, 0xffffffffu})
    CHECK(mailbox.run(op, cq_payload()) == kBadOpcode);
  CHECK_FALSE(mailbox.cqs[kCqn].valid);
}

TEST_CASE(
    "Tables change only while the core is at rest, which lasts until old pages are forgotten") {
  Mailbox mailbox;
  create_cqs(mailbox);
  mailbox.run(EXRNIC_MBOX_OP_CREATE_QP, qp_payload());
  CHECK(mailbox.order == "1wctfF0d");
  mailbox.run(EXRNIC_MBOX_OP_DESTROY_QP, object(kQpn));
  CHECK(mailbox.order == "1wcgfFa0d");
  mailbox.run(EXRNIC_MBOX_OP_REGISTER_MR, mr_payload());
  CHECK(mailbox.order == "1wfF0d");
  mailbox.run(EXRNIC_MBOX_OP_INVALIDATE_MR, object(kStag));
  CHECK(mailbox.order == "1wfF0d");
  mailbox.run(EXRNIC_MBOX_OP_RESIZE_CQ, resize_payload());
  CHECK(mailbox.order == "1wfF0d");
  mailbox.run(EXRNIC_MBOX_OP_DESTROY_CQ, object(kCqn));
  CHECK(mailbox.order == "1wcfF0d");
}

// Of a port: a number, or words.
bool is_zero(uint64_t port) { return port == 0; }
template <std::size_t kWords>
bool is_zero(const VlWide<kWords>& port) {
  return std::all_of(port.m_storage, port.m_storage + kWords,
                     [](uint32_t word) { return word == 0; });
}

TEST_CASE("What is not written is zero, whatever the command says: so nothing toggles") {
  Mailbox mailbox;
  for (uint32_t op = 0; op <= EXRNIC_MBOX_OP_RESIZE_CQ; ++op) {
    CAPTURE(op);
    mailbox.run(op, object(~0u));  // refused, or nothing
    CHECK(mailbox.order.find('w') == std::string::npos);
    CHECK(is_zero(mailbox.dut().command_cq_config_o));
    CHECK(is_zero(mailbox.dut().eq_o));
    CHECK(is_zero(mailbox.dut().command_srq_config_o));
    CHECK(is_zero(mailbox.dut().command_srq_limit_o));
    CHECK(is_zero(mailbox.dut().command_mr_o));
    CHECK(is_zero(mailbox.dut().command_window_o));
  }
}

TEST_CASE("A completion queue is created as asked") {
  Mailbox mailbox;
  CHECK(mailbox.run(EXRNIC_MBOX_OP_CREATE_CQ, cq_payload()) == kOk);
  const CqConfig& cq = mailbox.cqs[kCqn];
  CHECK(cq.valid);
  CHECK(cq.page == kPage);
  CHECK(cq.log_entries == 10);
  CHECK(cq.msix_vector == 17);
  CHECK(cq.moderation_count == 16);
  CHECK(cq.moderation_ns == 4000);
  CHECK(cq.pbl == 0x123456789ac0);
  CHECK_FALSE(cq.has_eq);
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
  SECTION("event queue") { payload.eqn = EXRNIC_MAX_EQ; }
  SECTION("event queue that does not exist") { payload.eqn = 4; }
  SECTION("too small") { payload.log_entries = EXRNIC_RING_LOG_MIN - 1, expected = kBadParameter; }
  SECTION("too large") { payload.log_entries = EXRNIC_CQ_LOG_MAX + 1, expected = kBadParameter; }
  SECTION("size, high bits") { payload.log_entries = 0x10000004, expected = kBadParameter; }
  SECTION("PBL") { payload.pbl_address += 8, expected = kBadParameter; }
  SECTION("moderation count") {
    payload.moderation_count = EXRNIC_MODERATION_COUNT_MAX + 1, expected = kBadParameter;
  }
  SECTION("moderation time") {
    payload.moderation_ns = EXRNIC_MODERATION_NS_MAX + 1, expected = kBadParameter;
  }
  SECTION("smallest") {
    payload.log_entries = EXRNIC_RING_LOG_MIN;
    payload.moderation_count = payload.moderation_ns = 0;
    expected = kOk;
  }
  SECTION("largest") {
    payload = {EXRNIC_MAX_CQ - 1,
               EXRNIC_USER_PAGES - 1,
               ~uint64_t{63},
               EXRNIC_CQ_LOG_MAX,
               EXRNIC_MSIX_VECTORS - 1,
               0xffff,
               0xffffff,
               EXRNIC_NO_EQ,
               {}};
    expected = kOk;
  }
  Mailbox mailbox;
  CHECK(mailbox.run(EXRNIC_MBOX_OP_CREATE_CQ, payload) == expected);
  CHECK((mailbox.order.find('w') != std::string::npos) == (expected == kOk));
}

TEST_CASE("A completion queue gets another ring, and all else of it stays") {
  Mailbox mailbox;
  CHECK(mailbox.run(EXRNIC_MBOX_OP_CREATE_EQ, eq_payload()) == kOk);
  exrnic_mbox_create_cq payload = cq_payload();
  SECTION("with a vector") {}
  SECTION("with an event queue") { payload.eqn = 5; }
  CHECK(mailbox.run(EXRNIC_MBOX_OP_CREATE_CQ, payload) == kOk);
  CqConfig expected = mailbox.cqs[kCqn];
  mailbox.cq_producers[kCqn] = 0xfffffff0;
  CHECK(mailbox.run(EXRNIC_MBOX_OP_RESIZE_CQ, resize_payload()) == kOk);
  REQUIRE(mailbox.has_answer);
  CHECK(mailbox.answer<exrnic_mbox_resized_cq>().producer == 0xfffffff0);
  CHECK(mailbox.answer<exrnic_mbox_resize_cq>().pbl_address == resize_payload().pbl_address);
  expected.log_entries = resize_payload().log_entries;
  expected.pbl = resize_payload().pbl_address;
  CHECK(mailbox.cqs[kCqn] == expected);
}

TEST_CASE("Each field of a resize is checked, and whether what is unread has room") {
  exrnic_mbox_resize_cq payload = resize_payload();
  exrnic_mbox_status expected = kBadIndex;
  uint32_t unread = 1;
  SECTION("number") { payload.cqn = EXRNIC_MAX_CQ; }
  SECTION("number, high bits") { payload.cqn |= 0x80000000; }
  SECTION("no such queue") { payload.cqn = kCqn - 2, expected = kBadState; }
  SECTION("too small") { payload.log_entries = EXRNIC_RING_LOG_MIN - 1, expected = kBadParameter; }
  SECTION("too large") { payload.log_entries = EXRNIC_CQ_LOG_MAX + 1, expected = kBadParameter; }
  SECTION("size, high bits") { payload.log_entries = 0x10000004, expected = kBadParameter; }
  SECTION("PBL") { payload.pbl_address += 8, expected = kBadParameter; }
  SECTION("more unread than entries") { unread = 9, expected = kBadState; }
  SECTION("as many unread as entries") { unread = 8, expected = kOk; }
  SECTION("largest") {
    payload = {kCqn, EXRNIC_CQ_LOG_MAX, ~uint64_t{63}};
    unread = 1u << EXRNIC_CQ_LOG_MAX, expected = kOk;
  }
  Mailbox mailbox;
  create_cqs(mailbox);
  mailbox.cq_unread[kCqn] = unread;
  CHECK(mailbox.run(EXRNIC_MBOX_OP_RESIZE_CQ, payload) == expected);
  CHECK((mailbox.order.find('w') != std::string::npos) == (expected == kOk));
  CHECK(mailbox.has_answer == (expected == kOk));
}

TEST_CASE("A completion queue may name an event queue that exists, and then no vector") {
  Mailbox mailbox;
  CHECK(mailbox.run(EXRNIC_MBOX_OP_CREATE_EQ, eq_payload()) == kOk);
  exrnic_mbox_create_cq payload = cq_payload();
  payload.eqn = 5;
  payload.msix_vector = ~0u;
  CHECK(mailbox.run(EXRNIC_MBOX_OP_CREATE_CQ, payload) == kOk);
  CHECK(mailbox.cqs[kCqn].has_eq);
  CHECK(mailbox.cqs[kCqn].eqn == 5);
}

TEST_CASE("An event queue is made as asked, at rest, and ends") {
  Mailbox mailbox;
  CHECK(mailbox.run(EXRNIC_MBOX_OP_CREATE_EQ, eq_payload()) == kOk);
  CHECK(mailbox.order.find("1w") != std::string::npos);
  const EqConfig& eq = mailbox.eqs[5];
  CHECK(eq.valid);
  CHECK(eq.log_entries == 9);
  CHECK(eq.address == 0x5555555540);
  CHECK(eq.msix_vector == 18);
  CHECK(mailbox.run(EXRNIC_MBOX_OP_CREATE_EQ, eq_payload()) == kBadState);
  CHECK(mailbox.run(EXRNIC_MBOX_OP_DESTROY_EQ, object(5)) == kOk);
  CHECK(mailbox.order.find("1w") != std::string::npos);
  CHECK_FALSE(eq.valid);
  CHECK(mailbox.run(EXRNIC_MBOX_OP_DESTROY_EQ, object(5)) == kBadState);
  CHECK(mailbox.run(EXRNIC_MBOX_OP_DESTROY_EQ, object(EXRNIC_MAX_EQ + 5)) == kBadIndex);
}

TEST_CASE("Each field of a new event queue is checked") {
  exrnic_mbox_create_eq payload = eq_payload();
  exrnic_mbox_status expected = kBadIndex;
  SECTION("number") { payload.eqn = EXRNIC_MAX_EQ; }
  SECTION("number, high bits") { payload.eqn |= 0x80000000; }
  SECTION("vector") { payload.msix_vector = EXRNIC_MSIX_VECTORS; }
  SECTION("too small") { payload.log_entries = EXRNIC_RING_LOG_MIN - 1, expected = kBadParameter; }
  SECTION("too large") { payload.log_entries = EXRNIC_EQ_LOG_MAX + 1, expected = kBadParameter; }
  SECTION("address") { payload.address += 8, expected = kBadParameter; }
  SECTION("smallest") { payload.log_entries = EXRNIC_RING_LOG_MIN, expected = kOk; }
  SECTION("largest") {
    payload = {EXRNIC_MAX_EQ - 1, EXRNIC_EQ_LOG_MAX, ~uint64_t{63}, EXRNIC_MSIX_VECTORS - 1, {}};
    expected = kOk;
  }
  Mailbox mailbox;
  CHECK(mailbox.run(EXRNIC_MBOX_OP_CREATE_EQ, payload) == expected);
  CHECK((mailbox.order.find('w') != std::string::npos) == (expected == kOk));
}

TEST_CASE("A region is registered as asked, and goes only by its whole STag") {
  Mailbox mailbox;
  exrnic_mbox_register_mr payload = mr_payload();
  payload.page_shift = EXRNIC_HUGE_PAGE_SHIFT;
  CHECK(mailbox.run(EXRNIC_MBOX_OP_REGISTER_MR, payload) == kOk);
  const Mr& region = mailbox.regions[kStagIndex];
  CHECK(region.valid);
  CHECK(region.key == 0x5a);
  CHECK(region.pd == 0xcafe);
  CHECK(region.access == 7);
  CHECK(region.huge_pages);
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

TEST_CASE(
    "A region that work requests register, and a memory window, need no pages, and go whatever "
    "their "
    "key is") {
  const auto kind = GENERATE(EXRNIC_REGION_KIND_FAST, EXRNIC_REGION_KIND_MEMORY_WINDOW,
                             EXRNIC_REGION_KIND_DOMAIN_WINDOW);
  Mailbox mailbox;
  exrnic_mbox_register_mr payload{};
  payload.stag = kStag;
  payload.pd = 0x77;
  payload.kind = kind;
  payload.length = 0;
  payload.pbl_address = 4;
  payload.access = ~0u;
  CHECK(mailbox.run(EXRNIC_MBOX_OP_REGISTER_MR, payload) == kOk);
  const Mr& region = mailbox.regions[kStagIndex];
  CHECK(region.valid);
  CHECK(region.kind == kind);
  CHECK(region.invalidated);
  CHECK(region.pd == 0x77);
  CHECK(mailbox.run(EXRNIC_MBOX_OP_INVALIDATE_MR, object(kStag + 1)) == kOk);
  CHECK_FALSE(region.valid);
}

TEST_CASE("Each command about an STag is another life of what is behind it") {
  Mailbox mailbox;
  const Mr& region = mailbox.regions[kStagIndex];
  mailbox.regions[kStagIndex].life = 0xfffe;
  mailbox.run(EXRNIC_MBOX_OP_REGISTER_MR, mr_payload());
  CHECK(region.life == 0xffff);
  CHECK(mailbox.run(EXRNIC_MBOX_OP_REGISTER_MR, mr_payload()) == kBadState);
  CHECK(region.life == 0xffff);
  CHECK(mailbox.run(EXRNIC_MBOX_OP_INVALIDATE_MR, object(kStag)) == kOk);
  CHECK(region.life == 0);
}

TEST_CASE("A region that was invalidated is still the driver's: taken until the driver frees it") {
  Mailbox mailbox;
  mailbox.run(EXRNIC_MBOX_OP_REGISTER_MR, mr_payload());
  Mr& region = mailbox.regions[kStagIndex];
  region.invalidated = true;
  CHECK(mailbox.run(EXRNIC_MBOX_OP_REGISTER_MR, mr_payload()) == kBadState);
  CHECK(mailbox.run(EXRNIC_MBOX_OP_INVALIDATE_MR, object(kStag)) == kOk);
  CHECK_FALSE(region.valid);
  CHECK(mailbox.run(EXRNIC_MBOX_OP_REGISTER_MR, mr_payload()) == kOk);
  CHECK(region.valid);
  CHECK_FALSE(region.invalidated);
}

TEST_CASE("Each field of a new region is checked") {
  exrnic_mbox_register_mr payload = mr_payload();
  exrnic_mbox_status expected = kBadParameter;
  SECTION("index") { payload.stag = EXRNIC_MAX_STAG << 8, expected = kBadIndex; }
  SECTION("domain") { payload.pd = EXRNIC_MAX_PD, expected = kBadIndex; }
  SECTION("no bytes") { payload.length = 0; }
  SECTION("kind") { payload.kind = EXRNIC_REGION_KIND_DOMAIN_WINDOW + 1; }
  SECTION("wraps") { payload.base = ~uint64_t{0}, payload.length = 2; }
  SECTION("wraps by much") { payload.base = 2, payload.length = ~uint64_t{0}; }
  SECTION("ends at the end") { payload.base = ~uint64_t{0}, payload.length = 1, expected = kOk; }
  SECTION("PBL") { payload.pbl_address += 32; }
  SECTION("a right that does not exist") { payload.access = EXRNIC_ACCESS_MW_BIND << 1; }
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
