// SPDX-License-Identifier: BSD-2-Clause
#include <catch2/catch_test_macros.hpp>
#include <iterator>

#include "rtl-model/tiles/host/mailbox/mailbox_payloads.h"

namespace exrnic::testing {
namespace {

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
  CHECK(qp.cfg.pd == kPd);
  CHECK(qp.cfg.send_cqn == kCqn);
  CHECK(qp.cfg.recv_cqn == kCqn - 1);
  CHECK(qp.cfg.sq_log == 12);
  CHECK(qp.cfg.rq_log == 3);
  CHECK(qp.cfg.sq_pbl == 0xaaaaaaaaaac0);
  CHECK(qp.cfg.rq_pbl == 0xbbbbbbbbbb80);
  CHECK_FALSE(qp.cfg.has_srq);
  CHECK(qp.cfg.places_out == 5);
  CHECK(qp.cfg.places_in == EXRNIC_MAX_READS);
  check_new_attributes(qp.cfg);
  CHECK(qp.cfg.generation == 1);  // after 0xffff
  CHECK(qp.cfg.dest_node == 0);
  CHECK(qp.cfg.dest_qpn == 0);
  CHECK(qp.status.state == EXRNIC_QP_STATE_RESET);
  CHECK_FALSE(qp.status.fault);
  CHECK(qp.sq_producer == 0);
  CHECK_FALSE(qp.sq.halted);
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
  SECTION("firmware's domain") { payload.pd = EXRNIC_FW_PD; }
  SECTION("send queue's completion queue") { payload.send_cqn = EXRNIC_MAX_CQ + kCqn; }
  SECTION("receive queue's completion queue") { payload.recv_cqn = EXRNIC_MAX_CQ + kCqn; }
  SECTION("one does not exist") { mailbox.cqs[kCqn].valid = false; }
  SECTION("the other does not exist") { mailbox.cqs[kCqn - 1].valid = false; }
  SECTION("one is of another page") { mailbox.cqs[kCqn].page++; }
  SECTION("the other is of another page") { mailbox.cqs[kCqn - 1].page++; }
  SECTION("service") { payload.service = EXRNIC_SERVICE_UD + 1, expected = kBadParameter; }
  SECTION("send queue too small") { payload.sq_log_slots = 1, expected = kBadParameter; }
  SECTION("send queue too large") { payload.sq_log_slots = 13, expected = kBadParameter; }
  SECTION("receive queue too small") { payload.rq_log_slots = 0, expected = kBadParameter; }
  SECTION("receive queue too large") { payload.rq_log_slots = 0x104, expected = kBadParameter; }
  SECTION("send queue's PBL") { payload.sq_pbl_address |= 0x20, expected = kBadParameter; }
  SECTION("receive queue's PBL") { payload.rq_pbl_address |= 1, expected = kBadParameter; }
  SECTION("both on one completion queue") { payload.recv_cqn = kCqn, expected = kOk; }
  SECTION("more PULLs than the core holds") {
    payload.max_reads_out = EXRNIC_MAX_READS + 1, expected = kBadParameter;
  }
  SECTION("more of the peer's than the core holds") {
    payload.max_reads_in = EXRNIC_MAX_READS + 1, expected = kBadParameter;
  }
  SECTION("room for a GRH, of another service") {
    payload.flags = EXRNIC_QP_FLAGS_GRH, expected = kBadParameter;
  }
  SECTION("room for a GRH") {
    payload.flags = EXRNIC_QP_FLAGS_GRH, payload.service = EXRNIC_SERVICE_UD, expected = kOk;
  }
  SECTION("flags that there are not") {
    payload.flags = 0x100 | EXRNIC_QP_FLAGS_GRH, payload.service = EXRNIC_SERVICE_UD;
    expected = kBadParameter;
  }
  SECTION("reads, high bits") { payload.max_reads_in = 0x100, expected = kBadParameter; }
  SECTION("no PULL in either direction") {
    payload.max_reads_out = payload.max_reads_in = 0, expected = kOk;
  }
  CHECK(mailbox.run(EXRNIC_MBOX_OP_CREATE_QP, payload) == expected);
  CHECK((mailbox.order.find('w') != std::string::npos) == (expected == kOk));
  CHECK(mailbox.qps[kQpn].cfg.grh == (expected == kOk && payload.flags != 0));
}

TEST_CASE(
    "A queue pair takes the places for its reads when it is created, and has them until it is "
    "destroyed") {
  Mailbox mailbox;
  create_cqs(mailbox);
  CHECK(mailbox.run(EXRNIC_MBOX_OP_CREATE_QP, qp_payload()) == kOk);
  CHECK(mailbox.order == "1wctfF0d");
  const exrnic_mbox_modify_qp reset = change_to(EXRNIC_QP_STATE_RESET);
  CHECK(mailbox.run(EXRNIC_MBOX_OP_MODIFY_QP, reset) == kOk);
  CHECK(mailbox.order == "1wcfF0d");
  CHECK(mailbox.run(EXRNIC_MBOX_OP_DESTROY_QP, object(kQpn)) == kOk);
  CHECK(mailbox.order == "1wcgfFa0d");
  CHECK(mailbox.qps[kQpn].cfg.max_reads_out == 5);  // so many go back
  CHECK(mailbox.qps[kQpn].cfg.max_reads_in == EXRNIC_MAX_READS);
}

TEST_CASE("A queue pair whose reads find no room is refused, and nothing has changed") {
  Mailbox mailbox;
  create_cqs(mailbox);
  exrnic_mbox_create_qp payload = qp_payload();
  exrnic_mbox_status expected = kNoRoom;
  SECTION("PULLs") { mailbox.pulls_free = 4; }
  SECTION("the peer's") { mailbox.reads_free = EXRNIC_MAX_READS - EXRNIC_READ_SLICE; }
  SECTION("nothing is free") { mailbox.pulls_free = mailbox.reads_free = 0; }
  SECTION("what it asks for is out of range, too") {
    mailbox.pulls_free = 0;
    payload.max_reads_out = EXRNIC_MAX_READS + 1;
    expected = kBadParameter;
  }
  SECTION("just enough") {
    mailbox.pulls_free = 8;
    mailbox.reads_free = EXRNIC_MAX_READS;
    expected = kOk;
  }
  SECTION("one that needs none") {
    mailbox.pulls_free = mailbox.reads_free = 0;
    payload.max_reads_out = payload.max_reads_in = 0;
    expected = kOk;
  }
  CHECK(mailbox.run(EXRNIC_MBOX_OP_CREATE_QP, payload) == expected);
  CHECK(mailbox.order == (expected == kOk ? "1wctfF0d" : "10d"));
}

TEST_CASE("A queue pair changes its state only along the arrows of the specification") {
  const std::string arrows =  // from RESET, INIT, RTR, RTS, ERROR, SQD; so to as well
      "xx..x."
      "xxx.x."
      "x..xx."
      "x..xxx"
      "x...x."
      "x..xxx";
  for (uint32_t from = 0; from <= EXRNIC_QP_STATE_SQD; ++from) {
    for (uint32_t to = 0; to <= EXRNIC_QP_STATE_SQD; ++to) {
      CAPTURE(from, to);
      const bool allowed = arrows.at(6 * from + to) == 'x';
      Mailbox mailbox;
      const Qp before = mailbox.qps[kQpn] = qp_in(static_cast<exrnic_qp_state>(from));
      exrnic_mbox_modify_qp payload = change_to(to);
      payload.dest_node = 0x21;
      payload.dest_qpn = 0x654321;
      CHECK(mailbox.run(EXRNIC_MBOX_OP_MODIFY_QP, payload) == (allowed ? kOk : kBadState));
      const Qp& qp = mailbox.qps[kQpn];
      const bool to_rtr = allowed && to == EXRNIC_QP_STATE_RTR;
      const bool to_reset = to == EXRNIC_QP_STATE_RESET;
      CHECK((qp.status.drains != qp.ended.drained) ==
            (from == EXRNIC_QP_STATE_RTS && to == EXRNIC_QP_STATE_SQD));
      const bool wakes = allowed && to >= EXRNIC_QP_STATE_RTR;
      CHECK(qp.status.state == (allowed ? to : from));
      CHECK(qp.cfg.dest_node == (to_rtr ? 0x21 : before.cfg.dest_node));
      CHECK(qp.cfg.dest_qpn == (to_rtr ? 0x654321 : before.cfg.dest_qpn));
      CHECK(qp.cfg.generation == (to_reset ? 1 : 0xffff));
      CHECK(qp.sq.consumer == (to_reset ? 0 : before.sq.consumer));
      CHECK(qp.sq.halted == !to_reset);
      CHECK(mailbox.wakes == (wakes ? std::vector<unsigned>{kQpn} : std::vector<unsigned>{}));
    }
  }
}

TEST_CASE("Each field of a state change is checked") {
  Mailbox mailbox;
  mailbox.qps[kQpn] = qp_in(EXRNIC_QP_STATE_INIT);
  exrnic_mbox_modify_qp payload = change_to(EXRNIC_QP_STATE_RTR);
  payload.dest_node = 5;
  payload.dest_qpn = EXRNIC_RESERVED_QPN - 1;
  exrnic_mbox_status expected = kBadParameter;
  SECTION("number") { payload.qpn = EXRNIC_MAX_QP + kQpn, expected = kBadIndex; }
  SECTION("no such queue pair") { mailbox.qps[kQpn].cfg.valid = false, expected = kBadState; }
  SECTION("state") { payload.state = EXRNIC_QP_STATE_SQD + 1; }
  SECTION("state, high bits") { payload.state |= 0x100; }
  SECTION("node") { payload.dest_node = kNNode; }
  SECTION("own node") { payload.dest_node = kNode, expected = kOk; }
  SECTION("peer's queue pair") { payload.dest_qpn = 0x1000000; }
  SECTION("that of a group") { payload.dest_qpn = EXRNIC_GROUP_QPN; }
  SECTION("that of firmware") { payload.dest_qpn = EXRNIC_FW_QPN; }
  SECTION("that of a port") { payload.dest_qpn = EXRNIC_PORT_QPN + 3; }
  SECTION("no peer") { payload.attributes = 0; }
  SECTION("an attribute that there is not") {
    payload.attributes |= EXRNIC_QP_ATTRIBUTES_RETRY_COUNT << 1;
  }
  SECTION("the limits") { payload.dest_node = kNNode - 1, expected = kOk; }
  CHECK(mailbox.run(EXRNIC_MBOX_OP_MODIFY_QP, payload) == expected);
  CHECK((mailbox.qps[kQpn].status.state == EXRNIC_QP_STATE_RTR) == (expected == kOk));
}

TEST_CASE("A queue pair of datagrams has keys, and no peer") {
  Mailbox mailbox;
  Qp& qp = mailbox.qps[kQpn] = qp_in(EXRNIC_QP_STATE_RESET);
  qp.cfg.service = EXRNIC_SERVICE_UD;
  exrnic_mbox_modify_qp change = change_to(EXRNIC_QP_STATE_INIT);
  CHECK(mailbox.run(EXRNIC_MBOX_OP_MODIFY_QP, change) == kBadParameter);
  change.attributes = kKeys;
  change.qkey = 0xdeadbeef;
  mailbox.set_pkey(1, EXRNIC_PKEY_FULL);
  mailbox.set_pkey(EXRNIC_PKEYS - 1, 1);
  for (const uint32_t index : {0u, 1u, uint32_t{EXRNIC_PKEYS}, 0x8000'000fu}) {
    change.pkey_index = index;
    CHECK(mailbox.run(EXRNIC_MBOX_OP_MODIFY_QP, change) == kBadParameter);
  }
  change.pkey_index = EXRNIC_PKEYS - 1;
  CHECK(mailbox.run(EXRNIC_MBOX_OP_MODIFY_QP, change) == kOk);
  CHECK(qp.cfg.qkey == 0xdeadbeef);
  CHECK(qp.cfg.pkey_index == EXRNIC_PKEYS - 1);
  change.qkey = 1;
  change.state = EXRNIC_QP_STATE_RTR;
  change.attributes = EXRNIC_QP_ATTRIBUTES_DEST;
  CHECK(mailbox.run(EXRNIC_MBOX_OP_MODIFY_QP, change) == kBadState);
  change.attributes = 0;
  CHECK(mailbox.run(EXRNIC_MBOX_OP_MODIFY_QP, change) == kOk);
  CHECK(qp.cfg.dest_node == kNode);
  CHECK(qp.cfg.qkey == 0xdeadbeef);
}

TEST_CASE("Attachments are changed at rest, and judged by what is attached") {
  Mailbox mailbox;
  mailbox.qps[kQpn] = qp_in(EXRNIC_QP_STATE_RTS);
  mailbox.qps[kQpn].cfg.service = EXRNIC_SERVICE_UD;
  const auto attach = EXRNIC_MBOX_OP_ATTACH_GROUP, detach = EXRNIC_MBOX_OP_DETACH_GROUP;
  const exrnic_mbox_group group{kQpn, EXRNIC_GROUP_MAX};
  CHECK(mailbox.run(attach, group) == kOk);
  CHECK(mailbox.order == "1fFa0d");
  CHECK(mailbox.run(detach, group) == kBadState);
  mailbox.group_found = true;
  CHECK(mailbox.run(attach, group) == kBadState);
  CHECK(mailbox.run(detach, group) == kOk);
  mailbox.group_found = false;
  mailbox.group_full = true;
  CHECK(mailbox.run(attach, group) == kBadIndex);
  mailbox.run(EXRNIC_MBOX_OP_DESTROY_QP, object(kQpn));
  const unsigned ops[] = {0, 1, 0, 1, 0, 2};  // of enum group_op_e
  REQUIRE(mailbox.group_changes.size() == std::size(ops));
  for (size_t i = 0; i < std::size(ops); ++i) {
    CHECK(mailbox.group_changes[i].op == ops[i]);
    CHECK(mailbox.group_changes[i].qpn == kQpn);
    if (ops[i] != 2) CHECK(mailbox.group_changes[i].group == EXRNIC_GROUP_MAX);
  }
}

TEST_CASE("Each field of a change of attachments is checked") {
  Mailbox mailbox;
  mailbox.qps[kQpn] = qp_in(EXRNIC_QP_STATE_RTS);
  mailbox.qps[kQpn].cfg.service = EXRNIC_SERVICE_UD;
  exrnic_mbox_group group{kQpn, 1};
  exrnic_mbox_status expected = kBadState;
  SECTION("number") { group.qpn = EXRNIC_MAX_QP + kQpn, expected = kBadIndex; }
  SECTION("no such queue pair") { mailbox.qps[kQpn].cfg.valid = false; }
  SECTION("service") { mailbox.qps[kQpn].cfg.service = EXRNIC_SERVICE_UC; }
  SECTION("group") { group.group = EXRNIC_GROUP_MAX + 1, expected = kBadParameter; }
  CHECK(mailbox.run(EXRNIC_MBOX_OP_ATTACH_GROUP, group) == expected);
  CHECK(mailbox.group_changes.empty());
}

// Attributes of service RC, with a good value of each that is not the first one.
exrnic_mbox_modify_qp with_attributes(uint32_t to, uint32_t attributes) {
  exrnic_mbox_modify_qp change = change_to(to);
  change.attributes = attributes;
  change.dest_node = 0x21;
  change.dest_qpn = 0x654321;
  change.qkey = 0xdeadbeef;
  change.pkey_index = 1;
  change.access = EXRNIC_ACCESS_REMOTE_READ;
  change.path_mtu = 512;
  change.max_reads_in = 3;
  change.max_reads_out = 2;
  change.min_rnr_timer = EXRNIC_RNR_TIMER_MAX;
  change.rnr_retry = EXRNIC_RNR_RETRY_ENDLESS;
  change.timeout = EXRNIC_QP_TIMEOUT_MAX;
  change.retry_count = EXRNIC_QP_RETRY_COUNT_MAX;
  return change;
}

void check_attributes(const QpConfig& cfg, const QpConfig& before,
                      const exrnic_mbox_modify_qp& change) {
  const auto given = [&](uint32_t attribute) { return (change.attributes & attribute) != 0; };
  const bool dest = given(EXRNIC_QP_ATTRIBUTES_DEST);
  CHECK(cfg.dest_node == (dest ? change.dest_node : before.dest_node));
  CHECK(cfg.dest_qpn == (dest ? change.dest_qpn : before.dest_qpn));
  CHECK(cfg.qkey == (given(EXRNIC_QP_ATTRIBUTES_QKEY) ? change.qkey : before.qkey));
  CHECK(cfg.pkey_index ==
        (given(EXRNIC_QP_ATTRIBUTES_PKEY_INDEX) ? change.pkey_index : before.pkey_index));
  CHECK(cfg.access == (given(EXRNIC_QP_ATTRIBUTES_ACCESS) ? change.access : before.access));
  CHECK(cfg.path_mtu == (given(EXRNIC_QP_ATTRIBUTES_PATH_MTU) ? change.path_mtu : before.path_mtu));
  CHECK(cfg.max_reads_in ==
        (given(EXRNIC_QP_ATTRIBUTES_MAX_READS_IN) ? change.max_reads_in : before.max_reads_in));
  CHECK(cfg.max_reads_out ==
        (given(EXRNIC_QP_ATTRIBUTES_MAX_READS_OUT) ? change.max_reads_out : before.max_reads_out));
  CHECK(cfg.rnr_timer ==
        (given(EXRNIC_QP_ATTRIBUTES_MIN_RNR_TIMER) ? change.min_rnr_timer : before.rnr_timer));
  CHECK(cfg.rnr_retry ==
        (given(EXRNIC_QP_ATTRIBUTES_RNR_RETRY) ? change.rnr_retry : before.rnr_retry));
  CHECK(cfg.timeout == (given(EXRNIC_QP_ATTRIBUTES_TIMEOUT) ? change.timeout : before.timeout));
  CHECK(cfg.retry_count ==
        (given(EXRNIC_QP_ATTRIBUTES_RETRY_COUNT) ? change.retry_count : before.retry_count));
}

// As the specification lists them.
uint32_t attributes_of(uint32_t from, uint32_t to, exrnic_service service) {
  const bool rc = service == EXRNIC_SERVICE_RC, ud = service == EXRNIC_SERVICE_UD;
  const bool init = to == EXRNIC_QP_STATE_INIT, rtr = to == EXRNIC_QP_STATE_RTR,
             rts = to == EXRNIC_QP_STATE_RTS,
             sqd = to == EXRNIC_QP_STATE_SQD && from == EXRNIC_QP_STATE_SQD;
  uint32_t all = 0;
  if (ud && (init || rtr || rts || sqd)) all |= EXRNIC_QP_ATTRIBUTES_QKEY;
  if (ud && (init || rtr || sqd)) all |= EXRNIC_QP_ATTRIBUTES_PKEY_INDEX;
  if (!ud && (init || rtr || rts || sqd)) all |= EXRNIC_QP_ATTRIBUTES_ACCESS;
  if (!ud && rtr) all |= EXRNIC_QP_ATTRIBUTES_DEST | EXRNIC_QP_ATTRIBUTES_PATH_MTU;
  if (rc && (rtr || sqd)) all |= EXRNIC_QP_ATTRIBUTES_MAX_READS_IN;
  if (rc && ((rts && from == EXRNIC_QP_STATE_RTR) || sqd))
    all |= EXRNIC_QP_ATTRIBUTES_MAX_READS_OUT;
  if (rc && (rtr || rts || sqd)) all |= EXRNIC_QP_ATTRIBUTES_MIN_RNR_TIMER;
  if (rc && (rts || sqd))
    all |= EXRNIC_QP_ATTRIBUTES_RNR_RETRY | EXRNIC_QP_ATTRIBUTES_TIMEOUT |
           EXRNIC_QP_ATTRIBUTES_RETRY_COUNT;
  return all;
}

TEST_CASE("Each change of state takes its attributes, of each service, and refuses all others") {
  const std::pair<uint32_t, uint32_t> arrows[] = {
      {EXRNIC_QP_STATE_RESET, EXRNIC_QP_STATE_INIT}, {EXRNIC_QP_STATE_INIT, EXRNIC_QP_STATE_INIT},
      {EXRNIC_QP_STATE_INIT, EXRNIC_QP_STATE_RTR},   {EXRNIC_QP_STATE_RTR, EXRNIC_QP_STATE_RTS},
      {EXRNIC_QP_STATE_RTS, EXRNIC_QP_STATE_RTS},    {EXRNIC_QP_STATE_RTS, EXRNIC_QP_STATE_ERROR},
      {EXRNIC_QP_STATE_RTS, EXRNIC_QP_STATE_RESET},  {EXRNIC_QP_STATE_RTS, EXRNIC_QP_STATE_SQD},
      {EXRNIC_QP_STATE_SQD, EXRNIC_QP_STATE_SQD},    {EXRNIC_QP_STATE_SQD, EXRNIC_QP_STATE_RTS},
  };
  for (const auto service : {EXRNIC_SERVICE_RC, EXRNIC_SERVICE_UC, EXRNIC_SERVICE_UD}) {
    for (const auto& [from, to] : arrows) {
      const uint32_t all = attributes_of(from, to, service);
      uint32_t needed = 0;
      if (service != EXRNIC_SERVICE_UD && to == EXRNIC_QP_STATE_RTR)
        needed = EXRNIC_QP_ATTRIBUTES_DEST;
      if (service == EXRNIC_SERVICE_UD && from == EXRNIC_QP_STATE_RESET) needed = kKeys;
      for (uint32_t bit = 0; bit <= EXRNIC_QP_ATTRIBUTES_RETRY_COUNT; bit = bit ? 2 * bit : 1) {
        for (const bool whole : {false, true}) {
          CAPTURE(service, from, to, bit, whole);
          Mailbox mailbox;
          mailbox.set_pkey(1, EXRNIC_PKEY_DEFAULT);
          Qp& qp = mailbox.qps[kQpn] = qp_in(static_cast<exrnic_qp_state>(from));
          qp.cfg.service = service;
          QpConfig before = qp.cfg;
          const auto change = with_attributes(to, (whole ? all : needed) | bit);
          const bool taken = (bit & ~all) == 0;
          CHECK(mailbox.run(EXRNIC_MBOX_OP_MODIFY_QP, change) == (taken ? kOk : kBadState));
          CHECK(qp.status.state == (taken ? to : from));
          if (to == EXRNIC_QP_STATE_RESET && taken) continue;
          if (taken && service == EXRNIC_SERVICE_UD && to == EXRNIC_QP_STATE_RTR)
            before.dest_node = kNode;
          check_attributes(qp.cfg, before, taken ? change : change_to(to, 0));
        }
      }
    }
  }
}

TEST_CASE("An attribute out of range is refused, and then none is changed") {
  using Set = void (*)(exrnic_mbox_modify_qp*);
  const std::pair<Set, bool> values[] = {
      {[](auto* to) { to->access = 0; }, true},
      {[](auto* to) { to->access = EXRNIC_ACCESS_REMOTE_ATOMIC; }, true},
      {[](auto* to) { to->access = EXRNIC_ACCESS_LOCAL_WRITE; }, false},
      {[](auto* to) { to->access = 16; }, false},
      {[](auto* to) { to->access |= 0x100; }, false},
      {[](auto* to) { to->path_mtu = EXRNIC_MTU_MIN; }, true},
      {[](auto* to) { to->path_mtu = EXRNIC_MTU_MAX; }, true},
      {[](auto* to) { to->path_mtu = EXRNIC_MTU_MIN + EXRNIC_MTU_STEP; }, true},
      {[](auto* to) { to->path_mtu = EXRNIC_MTU_MIN - EXRNIC_MTU_STEP; }, false},
      {[](auto* to) { to->path_mtu = EXRNIC_MTU_MAX + EXRNIC_MTU_STEP; }, false},
      {[](auto* to) { to->path_mtu = EXRNIC_MTU_MIN + 1; }, false},
      {[](auto* to) { to->path_mtu |= 0x10000; }, false},
      {[](auto* to) { to->max_reads_in = 0; }, true},
      {[](auto* to) { to->max_reads_in = 4; }, true},
      {[](auto* to) { to->max_reads_in = 5; }, false},
      {[](auto* to) { to->max_reads_in = 32; }, false},
      {[](auto* to) { to->min_rnr_timer = 0; }, true},
      {[](auto* to) { to->min_rnr_timer = EXRNIC_RNR_TIMER_MAX + 1; }, false},
      // Those that are not given do not count.
      {[](auto* to) { to->rnr_retry = to->max_reads_out = 255; }, true},
      {[](auto* to) { to->pkey_index = ~0u; }, true},
  };
  for (size_t i = 0; i < std::size(values); ++i) {
    CAPTURE(i);
    Mailbox mailbox;
    Qp& qp = mailbox.qps[kQpn] = qp_in(EXRNIC_QP_STATE_INIT);
    const QpConfig before = qp.cfg;
    const uint32_t all =
        attributes_of(EXRNIC_QP_STATE_INIT, EXRNIC_QP_STATE_RTR, EXRNIC_SERVICE_RC);
    auto change = with_attributes(EXRNIC_QP_STATE_RTR, all);
    values[i].first(&change);
    const bool good = values[i].second;
    CHECK(mailbox.run(EXRNIC_MBOX_OP_MODIFY_QP, change) == (good ? kOk : kBadParameter));
    CHECK(qp.status.state == (good ? EXRNIC_QP_STATE_RTR : EXRNIC_QP_STATE_INIT));
    check_attributes(qp.cfg, before, good ? change : change_to(EXRNIC_QP_STATE_RTR, 0));
  }
  for (const auto& [set, good] : {
           std::pair<Set, bool>([](auto* to) { to->rnr_retry = 8; }, false),
           std::pair<Set, bool>([](auto* to) { to->timeout = 32; }, false),
           std::pair<Set, bool>([](auto* to) { to->retry_count = 8; }, false),
           std::pair<Set, bool>([](auto* to) { to->max_reads_out = 5; }, true),
           std::pair<Set, bool>([](auto* to) { to->max_reads_out = 6; }, false),
       }) {
    Mailbox mailbox;
    mailbox.qps[kQpn] = qp_in(EXRNIC_QP_STATE_RTR);
    auto change =
        with_attributes(EXRNIC_QP_STATE_RTS,
                        attributes_of(EXRNIC_QP_STATE_RTR, EXRNIC_QP_STATE_RTS, EXRNIC_SERVICE_RC));
    set(&change);
    CHECK(mailbox.run(EXRNIC_MBOX_OP_MODIFY_QP, change) == (good ? kOk : kBadParameter));
  }
}

TEST_CASE(
    "A send queue that drains does so until the completer says that it has, or it is in RTS") {
  Mailbox mailbox;
  Qp& qp = mailbox.qps[kQpn] = qp_in(EXRNIC_QP_STATE_RTS);
  const auto draining = [&] {
    CHECK(mailbox.run(EXRNIC_MBOX_OP_QUERY_QP, object(kQpn)) == kOk);
    return mailbox.answer<exrnic_mbox_query_qp>().sq_draining;
  };
  CHECK(draining() == 0);
  CHECK(mailbox.run(EXRNIC_MBOX_OP_MODIFY_QP, change_to(EXRNIC_QP_STATE_SQD)) == kOk);
  CHECK(mailbox.wakes == std::vector<unsigned>{kQpn});
  CHECK(draining() == 1);
  CHECK(mailbox.run(EXRNIC_MBOX_OP_MODIFY_QP, change_to(EXRNIC_QP_STATE_SQD)) == kOk);
  CHECK(draining() == 1);
  qp.ended.drained = qp.status.drains;
  CHECK(mailbox.run(EXRNIC_MBOX_OP_MODIFY_QP, change_to(EXRNIC_QP_STATE_SQD)) == kOk);
  CHECK(draining() == 0);
  for (int again = 0; again < 3; ++again) {  // and leaves before it has
    CHECK(mailbox.run(EXRNIC_MBOX_OP_MODIFY_QP, change_to(EXRNIC_QP_STATE_RTS)) == kOk);
    CHECK(draining() == 0);
    CHECK(mailbox.run(EXRNIC_MBOX_OP_MODIFY_QP, change_to(EXRNIC_QP_STATE_SQD)) == kOk);
    CHECK(draining() == 1);
  }
  qp.status.state = EXRNIC_QP_STATE_ERROR;
  CHECK(draining() == 0);
}

TEST_CASE("RESET takes all attributes back, and the places for reads stay") {
  Mailbox mailbox;
  Qp& qp = mailbox.qps[kQpn] = qp_in(EXRNIC_QP_STATE_RTS);
  qp.cfg.qkey = qp.cfg.pkey_index = 3;
  CHECK(mailbox.run(EXRNIC_MBOX_OP_MODIFY_QP, change_to(EXRNIC_QP_STATE_RESET)) == kOk);
  CHECK(qp.cfg.places_out == 5);
  CHECK(qp.cfg.places_in == 4);
  check_new_attributes(qp.cfg);
}

TEST_CASE("The driver's ERROR of a queue pair whose message comes again keeps which one that is") {
  Mailbox mailbox;
  Qp& qp = mailbox.qps[kQpn] = qp_in(EXRNIC_QP_STATE_RTS);
  qp.status.rnr = qp.status.exact = true;
  const exrnic_mbox_modify_qp payload = change_to(EXRNIC_QP_STATE_ERROR);
  mailbox.run(EXRNIC_MBOX_OP_MODIFY_QP, payload);
  CHECK(qp.status.rnr);
  CHECK(qp.status.exact);
}

TEST_CASE("The driver's ERROR has no cause; one that is there already keeps its own") {
  Mailbox mailbox;
  Qp& qp = mailbox.qps[kQpn] = qp_in(EXRNIC_QP_STATE_RTS);
  const exrnic_mbox_modify_qp payload = change_to(EXRNIC_QP_STATE_ERROR);
  qp.status.fault = qp.status.exact = true;  // left from before
  mailbox.run(EXRNIC_MBOX_OP_MODIFY_QP, payload);
  CHECK_FALSE(qp.status.fault);
  CHECK_FALSE(qp.status.exact);
  qp.status = refused();
  CHECK(mailbox.run(EXRNIC_MBOX_OP_MODIFY_QP, payload) == kOk);
  CHECK(qp.status.fault);
  CHECK(qp.status.fault_detail == EXRNIC_TERM_CODE_OPCODE);
  CHECK(qp.status.exact);
  CHECK(qp.status.told);
}

TEST_CASE("A command is judged by what the tables say when the core has come to rest") {
  Mailbox mailbox;
  Qp& qp = mailbox.qps[kQpn] = qp_in(EXRNIC_QP_STATE_RTR);
  mailbox.while_coming_to_rest = [&] {  // the peer refuses something
    qp.status = refused();
  };
  SECTION("a pair that went to ERROR meanwhile does not come back to life") {
    const exrnic_mbox_modify_qp payload = change_to(EXRNIC_QP_STATE_RTS);
    CHECK(mailbox.run(EXRNIC_MBOX_OP_MODIFY_QP, payload) == kBadState);
  }
  SECTION("nor does it lose its cause") {
    const exrnic_mbox_modify_qp payload = change_to(EXRNIC_QP_STATE_ERROR);
    CHECK(mailbox.run(EXRNIC_MBOX_OP_MODIFY_QP, payload) == kOk);
  }
  CHECK(qp.status.state == EXRNIC_QP_STATE_ERROR);
  CHECK(qp.status.fault);
}

TEST_CASE("A query answers with state, peer, ring and attributes, and disturbs nobody") {
  Mailbox mailbox;
  mailbox.qps[kQpn] = qp_in(EXRNIC_QP_STATE_RTS);
  mailbox.qps[kQpn].cfg.pkey_index = 13;
  mailbox.qps[kQpn].cfg.qkey = 0xabcdef01;
  CHECK(mailbox.run(EXRNIC_MBOX_OP_QUERY_QP, object(kQpn)) == kOk);
  CHECK(mailbox.has_answer);
  const auto answer = mailbox.answer<exrnic_mbox_query_qp>();
  CHECK(answer.state == EXRNIC_QP_STATE_RTS);
  CHECK(answer.dest_node == 9);
  CHECK(answer.dest_qpn == 0x777);
  CHECK(answer.sq_producer == 0xfff0);
  CHECK(answer.sq_consumer == 0xffe0);
  CHECK(answer.pkey_index == 13);
  CHECK(answer.qkey == 0xabcdef01);
  CHECK(answer.access == EXRNIC_ACCESS_REMOTE_WRITE);
  CHECK(answer.path_mtu == 1040);
  CHECK(answer.max_reads_in == 2);
  CHECK(answer.max_reads_out == 1);
  CHECK(answer.min_rnr_timer == 19);
  CHECK(answer.rnr_retry == 5);
  CHECK(answer.timeout == 18);
  CHECK(answer.retry_count == 6);
  CHECK(mailbox.order == "d");
  CHECK(mailbox.run(EXRNIC_MBOX_OP_QUERY_QP, object(kQpn + 1)) == kBadState);
  CHECK_FALSE(mailbox.has_answer);
  CHECK(mailbox.run(EXRNIC_MBOX_OP_QUERY_QP, object(EXRNIC_MAX_QP + kQpn)) == kBadIndex);
}

TEST_CASE("A query tells what is under way, of either side") {
  const auto under_way = [](void (*set)(Mailbox&)) {
    Mailbox mailbox;
    mailbox.qps[kQpn] = qp_in(EXRNIC_QP_STATE_ERROR);
    set(mailbox);
    CHECK(mailbox.run(EXRNIC_MBOX_OP_QUERY_QP, object(kQpn)) == kOk);
    return mailbox.answer<exrnic_mbox_query_qp>().under_way;
  };
  CHECK(under_way([](Mailbox&) {}) == 0);
  CHECK(under_way([](Mailbox& mailbox) { mailbox.pulls[kQpn] = EXRNIC_MAX_READS; }) == 1);
  CHECK(under_way([](Mailbox& mailbox) { mailbox.reads[kQpn] = 1; }) == 1);
  CHECK(under_way([](Mailbox& mailbox) { mailbox.messages[kQpn] = true; }) == 1);
  CHECK(under_way([](Mailbox& mailbox) { mailbox.messages[kQpn + 1] = true; }) == 0);
  CHECK(under_way([](Mailbox& mailbox) { mailbox.qps[kQpn].status.answer_lost = true; }) == 1);
  CHECK(under_way([](Mailbox& mailbox) {
          mailbox.qps[kQpn].status.answer_lost = mailbox.qps[kQpn].status.told = true;
        }) == 0);
  CHECK(under_way([](Mailbox& mailbox) { mailbox.qps[kQpn].refused.valid = true; }) == 1);
  CHECK(under_way([](Mailbox& mailbox) {
          mailbox.qps[kQpn].refused.valid = mailbox.qps[kQpn].status.told = true;
        }) == 0);
}

TEST_CASE("A destroyed queue pair is gone and keeps its generation for the next one") {
  Mailbox mailbox;
  mailbox.qps[kQpn] = qp_in(EXRNIC_QP_STATE_RTS);
  CHECK(mailbox.run(EXRNIC_MBOX_OP_DESTROY_QP, object(kQpn)) == kOk);
  CHECK_FALSE(mailbox.qps[kQpn].cfg.valid);
  CHECK(mailbox.qps[kQpn].cfg.generation == 0xffff);
  CHECK(mailbox.order.find("wc") != std::string::npos);  // what others remember of it is void
  CHECK(mailbox.run(EXRNIC_MBOX_OP_DESTROY_QP, object(kQpn)) == kBadState);
  CHECK(mailbox.run(EXRNIC_MBOX_OP_DESTROY_QP, object(0xffffffff)) == kBadIndex);
}

}  // namespace
}  // namespace exrnic::testing
