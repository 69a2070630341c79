// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/tiles/host/user_page/user_page_bench.h"

namespace exrnic::testing {
namespace {

TEST_CASE("A doorbell of the owner moves the producer of its queue, then wakes the queue pair") {
  const bool receive = GENERATE(false, true);
  UserPage page;
  Store store = send(5);
  if (receive) store.offset = EXRNIC_DOORBELL_RQ;
  page.ring(store);
  CHECK(page.qps[kQpn].sq_producer == (receive ? 0 : 5));
  CHECK(page.qps[kQpn].rq_producer == (receive ? 5 : 0));
  CHECK(page.wakes == std::vector<unsigned>{kQpn});
  CHECK(page.accepted() == 1);
  CHECK(page.refused() == 0);
}

TEST_CASE("Of each doorbell one row is read, and of a completion queue's none") {
  UserPage page;
  page.ring(send(1));
  CHECK(page.reads == 1);
  page.ring(share(1));
  CHECK(page.reads == 2);
  Store store = send(0);
  store.offset = EXRNIC_DOORBELL_CQ;
  page.ring(store);
  CHECK(page.reads == 2);
}

TEST_CASE("The producer is written before the wake-up, so that the turn finds it") {
  UserPage page;
  page.dut().wake_ready_i = 0;
  page.begin(send(5));
  page.wait_for("wake_valid_o", kLimit, [&] { return page.dut().wake_valid_o != 0; });
  CHECK(page.qps[kQpn].sq_producer == 5);
  page.cycle();
  CHECK(page.dut().wake_valid_o);
}

TEST_CASE("A doorbell posts up to a full ring, across the wrap of the index") {
  UserPage page;
  page.qps[kQpn].sq.consumer = page.qps[kQpn].sq_producer = 0xfff8;
  page.ring(send(0xfffe));
  page.ring(send(0x0008));  // sixteen slots
  CHECK(page.qps[kQpn].sq_producer == 0x0008);
  CHECK(page.accepted() == 2);
  page.ring(send(0x0009));
  CHECK(page.qps[kQpn].sq_producer == 0x0008);
  CHECK(page.refused() == 1);
}

TEST_CASE("Each ring has its own length") {
  UserPage page;
  Store store = send(8);
  store.offset = EXRNIC_DOORBELL_RQ;
  page.ring(store);
  store.index = 9;
  page.ring(store);
  CHECK(page.qps[kQpn].rq_producer == 8);
  CHECK(page.refused() == 1);
}

TEST_CASE("The largest ring can be posted full") {
  UserPage page;
  page.qps[kQpn].cfg.sq_log = EXRNIC_SQ_LOG_MAX;
  page.ring(send(1u << EXRNIC_SQ_LOG_MAX));
  CHECK(page.accepted() == 1);
  page.ring(send((1u << EXRNIC_SQ_LOG_MAX) + 1));
  CHECK(page.refused() == 1);
}

TEST_CASE("A doorbell that takes back what was posted is refused, the same one again is not") {
  UserPage page;
  page.qps[kQpn].sq.consumer = 10;
  page.qps[kQpn].sq_producer = 14;
  page.ring(send(14));
  CHECK(page.accepted() == 1);
  for (const uint32_t index : {13u, 10u, 9u, 0u}) page.ring(send(index));
  CHECK(page.refused() == 4);
  CHECK(page.qps[kQpn].sq_producer == 14);
}

TEST_CASE("What is wrong with a doorbell for a queue pair makes it do nothing but count") {
  UserPage page;
  Store store = send(1);
  SECTION("another page") { store.page = kPage + 1; }
  SECTION("no such queue pair") { page.qps[kQpn].cfg.valid = false; }
  SECTION("beyond the table") { store.number = EXRNIC_MAX_QP + kQpn; }
  SECTION("far beyond the table") { store.number = 0x80000000 | kQpn; }
  SECTION("in reset") { page.qps[kQpn].status.state = EXRNIC_QP_STATE_RESET; }
  SECTION("high bits in the index") { store.index = 0x10001; }
  SECTION("four bytes") { store.size = 4; }
  SECTION("one byte") { store.size = 1; }
  SECTION("the second half of a doorbell") { store.offset = EXRNIC_DOORBELL_SQ + 4; }
  SECTION("no doorbell there") { store.offset = EXRNIC_DOORBELL_SRQ + 8; }
  SECTION("below the PIO blocks") { store.offset = EXRNIC_PIO_AREA - 8; }
  SECTION("beyond the BAR") { store.page = EXRNIC_USER_PAGES + kPage; }
  SECTION("not enabled") { page.dut().enable_i = 0; }
  page.ring(store);
  CHECK(page.writes == 0);
  CHECK(page.wakes.empty());
  CHECK(page.bells.empty());
  CHECK(page.refused() == 1);
  CHECK(page.accepted() == 0);
}

TEST_CASE("A shared receive queue's doorbell moves its producer, and wakes nobody") {
  UserPage page;
  Srq& srq = page.srqs[kSrqn];
  srq.consumer = srq.producer = 0xfffe;
  page.ring(share(0xffff));
  page.ring(share(0x0006));  // eight slots
  CHECK(srq.producer == 0x0006);
  CHECK(page.accepted() == 2);
  page.ring(share(0x0007));  // one more than the ring has
  page.ring(share(0x0005));  // takes one back
  CHECK(srq.producer == 0x0006);
  CHECK(page.accepted() == 2);
  CHECK(page.refused() == 2);
  CHECK(page.wakes.empty());
  CHECK(page.qps[kQpn].rq_producer == 0);
}

TEST_CASE(
    "What is wrong with a doorbell for a shared receive queue makes it do nothing but count") {
  UserPage page;
  Store store = share(1);
  SECTION("another page") { store.page = kPage + 1; }
  SECTION("no such queue") { page.srqs[kSrqn].cfg.valid = false; }
  SECTION("another queue") { store.number = kSrqn + 1; }
  SECTION("beyond the table") { store.number = EXRNIC_MAX_SRQ + kSrqn; }
  SECTION("far beyond the table") { store.number = 0x80000000 | kSrqn; }
  SECTION("high bits in the index") { store.index = 0x10001; }
  SECTION("four bytes") { store.size = 4; }
  SECTION("the second half of a doorbell") { store.offset += 4; }
  SECTION("not enabled") { page.dut().enable_i = 0; }
  page.ring(store);
  CHECK(page.writes == 0);
  CHECK(page.refused() == 1);
  CHECK(page.accepted() == 0);
}

TEST_CASE("A queue pair that takes receives from a shared queue has no receive queue to ring") {
  UserPage page;
  page.qps[kQpn].cfg.has_srq = true;
  Store store = send(1);
  store.offset = EXRNIC_DOORBELL_RQ;
  page.ring(store);
  CHECK(page.writes == 0);
  CHECK(page.wakes.empty());
  CHECK(page.refused() == 1);
  page.ring(send(1));  // its send queue is its own
  CHECK(page.accepted() == 1);
}

TEST_CASE("Work may be posted in every state but reset") {
  const auto state = GENERATE(EXRNIC_QP_STATE_INIT, EXRNIC_QP_STATE_RTR, EXRNIC_QP_STATE_RTS,
                              EXRNIC_QP_STATE_ERROR);
  UserPage page;
  page.qps[kQpn].status.state = state;
  page.ring(send(1));
  CHECK(page.accepted() == 1);
}

TEST_CASE("A completion queue's doorbell goes to the completer, with the page it came through") {
  UserPage page;
  Store store;
  store.offset = EXRNIC_DOORBELL_CQ;
  store.number = 0xfedcba98;  // the completer judges it
  store.index = 0x87654321;
  page.ring(store);
  store.offset = EXRNIC_DOORBELL_CQ_ARM;
  page.ring(store);
  store.offset = EXRNIC_DOORBELL_CQ_ARM_SOLICITED;
  page.ring(store);
  REQUIRE(page.bells.size() == 3);
  for (const CqDoorbell& bell : page.bells) {
    CHECK(bell.cqn == 0xfedcba98);
    CHECK(bell.consumer == 0x87654321);
    CHECK(bell.page == kPage);
  }
  CHECK_FALSE(page.bells[0].arm);
  CHECK(page.bells[1].arm);
  CHECK_FALSE(page.bells[1].solicited);
  CHECK(page.bells[2].arm);
  CHECK(page.bells[2].solicited);
  CHECK(page.accepted() + page.refused() == 0);
  CHECK(page.writes == 0);
}

TEST_CASE("A quiesced user page takes no store, and ends the one that it has") {
  UserPage page;
  page.dut().cq_ready_i = 0;
  Store store;
  store.offset = EXRNIC_DOORBELL_CQ;
  page.begin(store);
  page.dut().quiesce_i = 1;
  for (int i = 0; i < kLimit; ++i) page.cycle();
  CHECK_FALSE(page.dut().idle_o);
  page.dut().cq_ready_i = 1;
  page.dut().store_valid_i = 1;
  for (int i = 0; i < kLimit; ++i) page.cycle();
  CHECK(page.bells.size() == 1);
  CHECK(page.dut().idle_o);
  CHECK_FALSE(page.dut().store_ready_o);
}

}  // namespace
}  // namespace exrnic::testing
