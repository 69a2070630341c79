// SPDX-License-Identifier: BSD-2-Clause
#include <catch2/catch_test_macros.hpp>

#include "rtl-model/tiles/host/mailbox/mailbox_payloads.h"

namespace exrnic::testing {
namespace {

constexpr uint32_t kIndex = 37;
constexpr uint32_t kSize = 1u << kWindowShift;

exrnic_mbox_set_window window_payload() {
  exrnic_mbox_set_window window{};
  window.qpn = kQpn;
  window.window = kIndex;
  window.base = 0x7000'0000'1003;
  window.stag = 0xabcd'ef01;
  window.length = kSize;
  window.access = EXRNIC_WINDOW_ACCESS_STORE | EXRNIC_WINDOW_ACCESS_LOAD;
  return window;
}

// In RTS, and nothing was ever posted.
Qp idle_qp() {
  Qp qp = qp_in(EXRNIC_QP_STATE_RTS);
  qp.sq.consumer = qp.sq_producer;
  qp.sq.issued = qp.ended.count = 0xffff;
  qp.sq.read_msn = 0;
  return qp;
}

TEST_CASE("A window is set as asked, and closed whatever else the command says") {
  Mailbox mailbox;
  mailbox.qps[kQpn] = idle_qp();
  REQUIRE(mailbox.run(EXRNIC_MBOX_OP_SET_WINDOW, window_payload()) == kOk);
  REQUIRE(mailbox.windows.size() == 1);
  const auto entry = mailbox.windows.at(kIndex);
  CHECK(entry.access == (EXRNIC_WINDOW_ACCESS_STORE | EXRNIC_WINDOW_ACCESS_LOAD));
  CHECK(entry.qpn == kQpn);
  CHECK(entry.generation == idle_qp().cfg.generation);
  CHECK(entry.stag == 0xabcd'ef01);
  CHECK(entry.base == 0x7000'0000'1003);
  CHECK(entry.length == kSize);

  exrnic_mbox_set_window closed{};
  closed.window = kIndex;
  closed.qpn = EXRNIC_MAX_QP + 5;
  closed.length = ~0u;
  CHECK(mailbox.run(EXRNIC_MBOX_OP_SET_WINDOW, closed) == kOk);
  CHECK(mailbox.windows.at(kIndex).access == 0);
  closed.window = EXRNIC_MAX_WINDOWS;
  CHECK(mailbox.run(EXRNIC_MBOX_OP_SET_WINDOW, closed) == kBadIndex);
}

TEST_CASE("Each field of a window is checked, and its queue pair") {
  Mailbox mailbox;
  Qp qp = idle_qp();
  exrnic_mbox_set_window payload = window_payload();
  exrnic_mbox_status expected = kBadState;
  SECTION("queue pair in RTR") { qp.status.state = EXRNIC_QP_STATE_RTR; }
  SECTION("in ERROR") { qp.status.state = EXRNIC_QP_STATE_ERROR; }
  SECTION("it does not exist") { qp.cfg.valid = false; }
  SECTION("of another service") { qp.cfg.service = EXRNIC_SERVICE_UC; }
  SECTION("work that waits") { qp.sq_producer++; }
  SECTION("work that has not ended") { qp.sq.issued++; }
  SECTION("PULLs that it has asked for") { qp.sq.read_msn = 1; }
  SECTION("PULLs under way") { mailbox.pulls[kQpn] = 1; }
  SECTION("number of the queue pair") { payload.qpn = EXRNIC_MAX_QP, expected = kBadIndex; }
  SECTION("index") { payload.window = EXRNIC_MAX_WINDOWS, expected = kBadIndex; }
  SECTION("index, high bits") { payload.window |= 0x10000, expected = kBadIndex; }
  SECTION("own node") { qp.cfg.dest_node = kNode, expected = kBadParameter; }
  SECTION("no bytes") { payload.length = 0, expected = kBadParameter; }
  SECTION("longer than a window") { payload.length = kSize + 1, expected = kBadParameter; }
  SECTION("flags that there are not") { payload.access |= 4, expected = kBadParameter; }
  SECTION("beyond the last offset") {
    payload.base = 1 - uint64_t{kSize}, expected = kBadParameter;
  }
  SECTION("up to the last offset") { payload.base = -uint64_t{kSize}, expected = kOk; }
  SECTION("one byte") { payload.length = 1, expected = kOk; }
  SECTION("loads alone") { payload.access = EXRNIC_WINDOW_ACCESS_LOAD, expected = kOk; }
  mailbox.qps[kQpn] = qp;
  CHECK(mailbox.run(EXRNIC_MBOX_OP_SET_WINDOW, payload) == expected);
  CHECK(mailbox.windows.size() == (expected == kOk ? 1 : 0));
}

}  // namespace
}  // namespace exrnic::testing
