// SPDX-License-Identifier: BSD-2-Clause
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "Vturns_ahead.h"
#include "rtl-model/testing/bench.h"
#include "rtl-model/testing/records.h"

namespace exrnic::testing {
namespace {

constexpr unsigned kQpn = 0x155;
constexpr unsigned kTurnSlots = 8;

Qp with_work(uint16_t consumer, uint16_t posted) {
  Qp qp;
  qp.cfg.valid = true;
  qp.cfg.sq_pbl = 0x123456000;
  qp.cfg.sq_log = 7;
  qp.status.state = EXRNIC_QP_STATE_RTS;
  qp.sq.consumer = consumer;
  qp.sq_producer = static_cast<uint16_t>(consumer + posted);
  return qp;
}

class TurnsAhead : public Bench<Vturns_ahead> {
 public:
  TurnsAhead() {
    dut().quiesce_i = dut().next_valid_i = dut().wish_ready_i = 0;
    reset();
  }
  // Its turn is next; its row is this.
  void next(const Qp& qp) {
    dut().next_qpn_i = kQpn;
    dut().next_valid_i = 1;
    settle();
    REQUIRE(dut().next_ready_o);
    REQUIRE(dut().qp_read_o);
    CHECK(dut().qp_index_o == kQpn);
    cycle();
    dut().next_valid_i = 0;
    pack(dut().qp_i, qp);
    cycle();
    settle();
  }
};

TEST_CASE("The slots of the next turn are wished for, and no more than a turn has") {
  const uint16_t posted = GENERATE(uint16_t{1}, uint16_t{8}, uint16_t{9}, uint16_t{100});
  TurnsAhead ahead;
  ahead.next(with_work(0xfffc, posted));
  REQUIRE(ahead.dut().wish_valid_o);
  const auto wish = unpack<SlotRing>(ahead.dut().wish_o);
  CHECK(wish.id == SlotRingId{false, kQpn});
  CHECK(wish.pbl == 0x123456000);
  CHECK(wish.log_slots == 7);
  CHECK(wish.consumer == 0xfffc);
  CHECK(wish.producer == static_cast<uint16_t>(0xfffc + std::min<unsigned>(posted, kTurnSlots)));
  CHECK_FALSE(ahead.dut().idle_o);
  ahead.dut().wish_ready_i = 1;
  ahead.cycle();
  ahead.settle();
  CHECK_FALSE(ahead.dut().wish_valid_o);
  CHECK(ahead.dut().idle_o);
}

TEST_CASE("A row is read when a turn comes and one can be looked at, and at no other time") {
  TurnsAhead ahead;
  CHECK_FALSE(ahead.dut().qp_read_o);
  ahead.next(with_work(5, 4));
  ahead.dut().next_valid_i = 1;
  ahead.settle();
  CHECK_FALSE(ahead.dut().next_ready_o);
  CHECK_FALSE(ahead.dut().qp_read_o);
}

TEST_CASE("Nothing is wished for of a queue pair that sends nothing") {
  TurnsAhead ahead;
  Qp qp = with_work(5, 4);
  SECTION("it has no work") { qp.sq_producer = qp.sq.consumer; }
  SECTION("it is halted") { qp.sq.halted = true; }
  SECTION("it is in ERROR") { qp.status.state = EXRNIC_QP_STATE_ERROR; }
  SECTION("it does not exist") { qp.cfg.valid = false; }
  ahead.next(qp);
  CHECK_FALSE(ahead.dut().wish_valid_o);
  CHECK(ahead.dut().idle_o);
}

TEST_CASE("What was read before a time of rest is forgotten") {
  TurnsAhead ahead;
  ahead.next(with_work(5, 4));
  ahead.dut().quiesce_i = 1;
  ahead.settle();
  CHECK_FALSE(ahead.dut().wish_valid_o);
  CHECK_FALSE(ahead.dut().next_ready_o);
  ahead.cycle();
  ahead.dut().quiesce_i = 0;
  ahead.settle();
  CHECK_FALSE(ahead.dut().wish_valid_o);
}

}  // namespace
}  // namespace exrnic::testing
