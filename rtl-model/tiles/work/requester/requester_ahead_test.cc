// SPDX-License-Identifier: BSD-2-Clause
// Fetching ahead: a turn that goes on behind its first slots, what becomes of slots that it has not
// used, and slots of a turn that comes later.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "rtl-model/tiles/work/requester/requester_bench.h"

namespace exrnic::testing {
namespace {

constexpr uint16_t kShortTurn = 8;  // slots

// Leaves the requester waiting for a slot, with `submitted` work requests executed and all that is
// posted, or there is room for, fetched.
void stop_after(Requester& requester, std::size_t submitted) {
  requester.begin_turn(kQpn);
  requester.wait_for("work", kLimit, [&] { return requester.submitted.size() == submitted; });
  requester.slots_left = false;
  requester.wait_for("transmit_alloc_ready_o", kLimit,
                     [&] { return requester.dut().transmit_alloc_ready_o != 0; });
  for (int i = 0; i < 300; ++i) requester.cycle();
  REQUIRE(requester.submitted.size() == submitted);
  REQUIRE_FALSE(requester.reads_ring());
}

void check_in_order(const Requester& requester, uint16_t first, std::size_t count) {
  REQUIRE(requester.submitted.size() == count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto index = static_cast<uint16_t>(first + i);
    CAPTURE(i);
    CHECK_FALSE(requester.submitted[i].unsent);
    CHECK(requester.submitted[i].tag.wqe_index == index);
    CHECK(remote_stag(requester.submitted[i]) == index % (1u << kLog));
  }
}

TEST_CASE("While nobody waits, a turn takes all that is posted, across page and ring ends") {
  const auto consumer = GENERATE(uint16_t{0}, uint16_t{60}, uint16_t{250}, uint16_t{0xffd0});
  CAPTURE(consumer);
  for (uint32_t seed = 1; seed <= 5; ++seed) {
    CAPTURE(seed);
    Requester requester(seed);
    fill_ring(requester);
    requester.qps[kQpn] = sending_qp(consumer, 200);
    requester.turn(kQpn);
    check_in_order(requester, consumer, 200);
    CHECK(requester.wakes.size() == 1);
    CHECK(requester.qps[kQpn].sq.consumer == static_cast<uint16_t>(consumer + 200));
    uint32_t bytes = 0;
    for (const DmaReadReq& read : requester.wqe_reads) bytes += read.length;
    CHECK(bytes == 200 * sizeof(exrnic_wqe));  // each slot once
  }
}

TEST_CASE("What follows is asked for while the first slots are executed") {
  Requester requester;
  fill_ring(requester);
  requester.qps[kQpn] = sending_qp(0, 40);
  stop_after(requester, 1);
  REQUIRE(requester.wqe_reads.size() == 4);
  constexpr uint32_t kBlock = 8 * sizeof(exrnic_wqe);
  for (uint64_t block = 0; block < 4; ++block) {
    CHECK(requester.wqe_reads[block].address == kRingFrames + block * kBlock);
    CHECK(requester.wqe_reads[block].length == kBlock);
  }
  requester.slots_left = true;
  requester.rest();
  check_in_order(requester, 0, 40);
}

TEST_CASE("A turn takes what is posted while it lasts, and no more") {
  Requester requester;
  fill_ring(requester);
  requester.qps[kQpn] = sending_qp(0, 3);
  stop_after(requester, 1);
  CHECK(requester.wqe_reads.size() == 1);
  requester.qps[kQpn].sq_producer = 6;  // a doorbell
  requester.slots_left = true;
  requester.wait_for("the doorbell", kLimit, [&] { return requester.wqe_reads.size() == 2; });
  requester.qps[kQpn].sq_producer = 7;  // while slots are on their way
  requester.rest();
  check_in_order(requester, 0, 7);
  CHECK(requester.wakes.size() == 1);
  CHECK(requester.wqe_reads.back().address == kRingFrames + 6 * sizeof(exrnic_wqe));
}

// Begins a turn whose first slots come; those behind them are asked for, and wait.
void begin_and_wait(Requester& requester) {
  requester.begin_turn(kQpn);
  requester.wait_for("work", kLimit, [&] { return requester.submitted.size() == 1; });
  requester.host_answers = false;
}

TEST_CASE("A turn waits for what it has asked for, and goes on") {
  Requester requester;
  fill_ring(requester);
  requester.qps[kQpn] = sending_qp(0, 60);
  begin_and_wait(requester);
  for (int i = 0; i < 3000; ++i) requester.cycle();
  CHECK(requester.submitted.size() < 60);
  CHECK_FALSE(requester.dut().idle_o);
  CHECK_FALSE(requester.dut().quiescent_o);
  requester.host_answers = true;
  requester.rest();
  check_in_order(requester, 0, 60);
}

TEST_CASE("Nothing is looked up ahead while a region is changed") {
  for (uint32_t seed = 1; seed <= 400; ++seed) {
    CAPTURE(seed);
    Requester requester(seed);
    put(requester, 0, work(EXRNIC_WQE_OPCODE_LOCAL_INVALIDATE), {});
    requester.ring[1 * sizeof(exrnic_wqe)] = push(16);
    requester.region = [&](const XlateReq& r) {
      if (r.invalidate) return XlateRsp{kXlateOk, 0, 0};
      return translate_in_place(r);
    };
    requester.qps[kQpn] = sending_qp(0, 2);
    requester.turn(kQpn);
    REQUIRE(requester.payload_reads.size() == 1);
    REQUIRE(requester.payload_reads[0].length == 16);
  }
}

TEST_CASE("A queue pair that is reset while its turn waits has nothing on chip afterwards") {
  Requester requester;
  requester.forgets = false;
  fill_ring(requester);
  requester.qps[kQpn] = sending_qp(7, 2);
  requester.begin_turn(kQpn);
  requester.dut().quiesce_i = 1;
  requester.wait_for("quiescent", kLimit, [&] { return requester.dut().quiescent_o != 0; });
  for (int i = 0; i < 20; ++i) requester.cycle();
  REQUIRE(requester.dut().quiescent_o != 0);
  CHECK(requester.wqe_reads.size() == 1);
  Qp reset = sending_qp(0, 0);
  reset.status.state = EXRNIC_QP_STATE_RESET;
  reset.cfg.generation = 0x5d;
  requester.qps[kQpn] = reset;
  requester.forget(kQpn);
  requester.dut().quiesce_i = 0;
  requester.rest();
  CHECK(requester.wqe_reads.size() == 1);  // nothing is read of a ring that is reset
  requester.submitted.clear();
  for (uint32_t slot = 0; slot < 16; ++slot)
    requester.ring[slot * sizeof(exrnic_wqe)].remote_stag = 0x100 + slot;
  Qp again = sending_qp(0, 16);
  again.cfg.generation = 0x5d;
  requester.qps[kQpn] = again;
  requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 16);
  for (std::size_t i = 0; i < 16; ++i) {
    CAPTURE(i);
    CHECK(remote_stag(requester.submitted[i]) == 0x100 + i);
  }
}

// ---- Others

TEST_CASE("A turn ends after eight slots for others that begin to wait; what is fetched stays") {
  Requester requester;
  requester.forgets = false;
  fill_ring(requester);
  requester.qps[kQpn] = sending_qp(0, 40);
  stop_after(requester, 2);
  requester.dut().queues_others_wait_i = 1;
  requester.slots_left = true;
  requester.rest();
  check_in_order(requester, 0, kShortTurn);
  CHECK(requester.wakes.size() == 1);

  constexpr unsigned kOther = 7;
  Qp other = sending_qp(3, 2);
  other.cfg.dest_qpn = 0x777;
  requester.qps[kOther] = other;
  requester.turn(kOther);
  REQUIRE(requester.submitted.size() == kShortTurn + 2);
  CHECK(requester.submitted.back().tag.qpn == kOther);
  CHECK(remote_stag(requester.submitted.back()) == 4);
  requester.submitted.resize(kShortTurn);

  requester.dut().queues_others_wait_i = 0;
  requester.turn(kQpn);
  check_in_order(requester, 0, 40);
  uint32_t bytes = 0;
  for (const DmaReadReq& read : requester.wqe_reads) bytes += read.length;
  CHECK(bytes == 42 * sizeof(exrnic_wqe));  // each slot once
}

TEST_CASE("A turn that has gone on ends behind the work request in hand when others wait") {
  Requester requester;
  fill_ring(requester);
  requester.qps[kQpn] = sending_qp(0, 40);
  stop_after(requester, 13);
  requester.dut().queues_others_wait_i = 1;
  requester.slots_left = true;
  requester.rest();
  check_in_order(requester, 0, 14);
  CHECK(requester.wakes.size() == 1);
}

TEST_CASE("A turn ends after eight slots for a read of the peer, which goes first then") {
  Requester requester;
  fill_ring(requester);
  requester.qps[kQpn] = sending_qp(0, 40);
  stop_after(requester, 2);
  requester.reads[kQpn].push_back({});
  requester.slots_left = true;
  requester.rest();
  check_in_order(requester, 0, kShortTurn);
  requester.turn(kQpn);
  CHECK(requester.reads[kQpn].empty());
  REQUIRE(requester.submitted.size() == kShortTurn + 1);
  CHECK(requester.submitted.back().tag.kind == kTxKindResponse);
}

TEST_CASE("A turn whose slots are on their way does not hold up others that wait") {
  Requester requester;
  fill_ring(requester);
  requester.qps[kQpn] = sending_qp(60, 40);
  begin_and_wait(requester);
  requester.dut().queues_others_wait_i = 1;
  for (int i = 0; i < 3000; ++i) requester.cycle();
  CHECK(requester.submitted.size() < 40);
  CHECK(requester.wakes.size() == 1);
  CHECK(requester.dut().turns_ready_o);
  CHECK_FALSE(requester.dut().idle_o);
  requester.host_answers = true;
  requester.dut().queues_others_wait_i = 0;
  requester.turn(kQpn);
  check_in_order(requester, 60, 40);
}

TEST_CASE("Slots that were wished for are there when their turn begins") {
  Requester requester;
  requester.forgets = false;
  fill_ring(requester);
  requester.qps[kQpn] = sending_qp(250, 12);
  const Qp& qp = requester.qps[kQpn];
  requester.wish({{false, kQpn}, qp.cfg.sq_pbl, kLog, qp.sq.consumer, qp.sq_producer});
  requester.rest();
  CHECK(requester.wqe_reads.size() == 2);
  requester.host_answers = false;
  requester.turn(kQpn);
  check_in_order(requester, 250, 12);
}

TEST_CASE("A wish that is out of date, or of a ring that cannot be read, does no harm") {
  Requester requester;
  requester.forgets = false;
  fill_ring(requester);
  requester.qps[kQpn] = sending_qp(20, 12);
  const Qp& qp = requester.qps[kQpn];
  SECTION("earlier slots") { requester.wish({{false, kQpn}, qp.cfg.sq_pbl, kLog, 4, 22}); }
  SECTION("no slots") { requester.wish({{false, kQpn}, qp.cfg.sq_pbl, kLog, 22, 22}); }
  SECTION("fewer than none") { requester.wish({{false, kQpn}, qp.cfg.sq_pbl, kLog, 22, 20}); }
  SECTION("unreadable") {
    for (unsigned slot = 16; slot < 32; ++slot)
      requester.bad_slots.insert(slot * sizeof(exrnic_wqe));
    requester.wish({{false, kQpn}, qp.cfg.sq_pbl, kLog, 20, 32});
    requester.rest();
    requester.bad_slots.clear();
  }
  requester.rest();
  requester.turn(kQpn);
  check_in_order(requester, 20, 12);
}

// ---- Changes meanwhile

TEST_CASE("Slots fetched ahead are not executed when their queue pair goes to ERROR") {
  const auto executed = GENERATE(std::size_t{1}, std::size_t{7}, std::size_t{8}, std::size_t{15});
  CAPTURE(executed);
  Requester requester;
  fill_ring(requester);
  requester.qps[kQpn] = sending_qp(0, 20);
  stop_after(requester, executed);
  requester.qps[kQpn].status.state = EXRNIC_QP_STATE_ERROR;
  requester.slots_left = true;
  requester.rest();
  REQUIRE(requester.submitted.size() == executed + 1);  // the slot that it waited for
  CHECK(requester.submitted.back().unsent);
  CHECK(requester.submitted.back().tag.kind == kTxKindResponse);
  requester.submitted.pop_back();
  check_in_order(requester, 0, executed);
  CHECK(requester.qps[kQpn].sq.consumer == executed);
  CHECK(requester.wakes.size() == 1);
  while (requester.qps[kQpn].sq.consumer != 20) requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 20);
  for (std::size_t i = executed; i < 20; ++i)
    CHECK(requester.submitted[i].status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
}

TEST_CASE("Nor when it goes to ERROR while they are on their way") {
  Requester requester;
  fill_ring(requester);
  requester.qps[kQpn] = sending_qp(0, 60);
  begin_and_wait(requester);
  for (int i = 0; i < 3000; ++i) requester.cycle();
  const std::size_t executed = requester.submitted.size();
  CHECK(executed < 60);
  requester.qps[kQpn].status.state = EXRNIC_QP_STATE_ERROR;
  requester.host_answers = true;
  requester.rest();
  check_in_order(requester, 0, executed);  // no slot is taken either
  CHECK(requester.wakes.size() == 1);
}

TEST_CASE("Slots fetched ahead do not reach the queue pair that takes the number of theirs") {
  Requester requester;
  fill_ring(requester);
  requester.qps[kQpn] = sending_qp(0, 20);
  stop_after(requester, 5);
  Qp& qp = requester.qps[kQpn];
  const uint16_t consumer = GENERATE(uint16_t{0}, uint16_t{5});
  qp = sending_qp(consumer, 12);
  SECTION("in RTS, with work posted") {}
  SECTION("in RESET") { qp.status.state = EXRNIC_QP_STATE_RESET; }
  SECTION("not created again") { qp.cfg.valid = false; }
  qp.cfg.generation = 0x5d;
  for (auto& [offset, wqe] : requester.ring) wqe.remote_to = 0x99;
  requester.slots_left = true;
  requester.rest();
  REQUIRE(requester.submitted.size() == 6);
  CHECK(requester.submitted[5].unsent);
  CHECK(requester.submitted[5].tag.generation == 0x5c);
  CHECK(qp.sq.consumer == consumer);
  requester.submitted.clear();
  requester.turn(kQpn);
  const bool works = qp.cfg.valid && qp.status.state == EXRNIC_QP_STATE_RTS;
  check_in_order(requester, consumer, works ? 12 : 0);
  for (const TxDesc& desc : requester.submitted) {
    CHECK(desc.ddp[13] == 0x99);
    CHECK(desc.tag.generation == 0x5d);
  }
}

TEST_CASE("Slots fetched ahead do not outlive a work request that fails") {
  Requester requester;
  fill_ring(requester);
  requester.ring[3 * sizeof(exrnic_wqe)].opcode = 0x77;
  requester.qps[kQpn] = sending_qp(0, 20);
  requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 4);
  CHECK(requester.submitted[3].status == EXRNIC_CQE_STATUS_LOC_QP_OP_ERR);
  CHECK(requester.qps[kQpn].sq.halted);
  CHECK(requester.qps[kQpn].sq.consumer == 4);
}

TEST_CASE("Quiescence waits for slots that are on their way, and none are asked for in it") {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    Requester requester(seed);
    fill_ring(requester);
    requester.qps[kQpn] = sending_qp(60, 40);  // ahead across the end of a page
    requester.begin_turn(kQpn);
    requester.wait_for("work", kLimit, [&] { return requester.submitted.size() == seed % 7; });
    requester.dut().quiesce_i = 1;
    requester.wait_for("rest", kLimit, [&] {
      return requester.dut().quiescent_o && requester.dut().transmit_alloc_ready_o == 0;
    });
    CHECK_FALSE(requester.reads_ring());
    const auto all_asked = [&] {
      return requester.wqe_reads.size() + requester.xlate.requests.size() +
             requester.slots_xlate.requests.size();
    };
    const std::size_t asked = all_asked();
    requester.qps[kQpn].sq_producer += 20;
    for (int i = 0; i < 200; ++i) requester.cycle();
    CHECK(requester.dut().quiescent_o);
    CHECK(all_asked() == asked);
    requester.dut().quiesce_i = 0;
    requester.rest();
    check_in_order(requester, 60, 60);
  }
}

TEST_CASE(
    "Where the next message begins is looked up ahead, once, and anew when that may be void") {
  Requester requester;
  fill_ring(requester);
  const auto place = [](uint32_t slot) { return uint64_t{0x10000} + 0x100 * slot; };
  for (uint32_t slot = 0; slot < 10; ++slot)
    requester.ring[slot * sizeof(exrnic_wqe)].sge0_address = place(slot);
  requester.qps[kQpn] = sending_qp(0, 10);
  stop_after(requester, 2);
  REQUIRE(requester.xlate.requests.size() == 4);  // of the next one, and the one behind it
  for (uint32_t slot = 0; slot < 4; ++slot) CHECK(requester.xlate.requests[slot].to == place(slot));
  bool void_now = true;
  SECTION("nothing happens") { void_now = false; }
  SECTION("after a time of rest") {
    requester.dut().quiesce_i = 1;
    requester.wait_for("rest", kLimit, [&] { return requester.dut().quiescent_o != 0; });
  }
  SECTION("after an invalidation") {
    requester.dut().xlate_let_go_i = 1;
    for (int i = 0; i < 50; ++i) requester.cycle();
    CHECK_FALSE(requester.dut().xlate_hold_o);
  }
  if (void_now) {
    CHECK(requester.xlate.requests.size() == 4);
    requester.region = [&](const XlateReq& request) {
      return request.to == place(3) ? XlateRsp{kXlateStag, 0, 0} : translate_in_place(request);
    };
  }
  requester.dut().quiesce_i = requester.dut().xlate_let_go_i = 0;
  requester.slots_left = true;
  requester.rest();
  if (!void_now) {
    check_in_order(requester, 0, 10);
    CHECK(requester.xlate.requests.size() == 10);
    return;
  }
  REQUIRE(requester.submitted.size() == 4);
  CHECK(requester.submitted[3].status == EXRNIC_CQE_STATUS_LOC_PROT_ERR);
  CHECK(requester.payload_reads.size() == 3);
}

// ---- Slots that cannot be read, and work requests that end behind what is there

TEST_CASE("A slot ahead that cannot be read fails nothing before its own turn") {
  for (uint32_t seed = 1; seed <= 10; ++seed) {
    CAPTURE(seed);
    Requester requester(seed);
    fill_ring(requester);
    for (const unsigned slot : {12, 14, 15}) requester.bad_slots.insert(slot * sizeof(exrnic_wqe));
    requester.qps[kQpn] = sending_qp(0, 20);
    requester.turn(kQpn);
    check_in_order(requester, 0, 12);
    CHECK(requester.wakes.size() == 1);
    CHECK_FALSE(requester.qps[kQpn].sq.halted);
    requester.turn(kQpn);
    REQUIRE(requester.submitted.size() == 13);
    CHECK(requester.submitted[12].status == EXRNIC_CQE_STATUS_LOC_QP_OP_ERR);
    CHECK(requester.qps[kQpn].sq.consumer == 13);
  }
}

TEST_CASE("A slot ahead is read again in its own turn") {
  Requester requester;
  fill_ring(requester);
  requester.bad_slots.insert(8 * sizeof(exrnic_wqe));
  requester.qps[kQpn] = sending_qp(0, 20);
  requester.turn(kQpn);
  check_in_order(requester, 0, 8);
  requester.bad_slots.clear();
  requester.turn(kQpn);
  check_in_order(requester, 0, 20);
}

TEST_CASE("A work request that ends behind the slots that are there goes on with those ahead") {
  const auto [elements, readable] =
      GENERATE(table<unsigned, bool>({{3, true}, {7, true}, {16, true}, {7, false}}));
  CAPTURE(elements, readable);
  Requester requester;
  const std::vector<exrnic_sge> all(elements, {0x20000, 10, kStag0});
  uint16_t slots = 0;
  for (int i = 0; i < 20; ++i) slots += put(requester, slots, push(0), all);
  if (!readable) requester.bad_slots.insert(8 * sizeof(exrnic_wqe));  // of the third one
  requester.qps[kQpn] = sending_qp(0, slots);
  requester.turn(kQpn);
  CHECK(requester.submitted.size() == (readable ? 20 : 2));
  CHECK(requester.wakes.size() == 1);
  std::vector<uint64_t> sources;
  for (std::size_t i = 0; i < requester.submitted.size(); ++i)
    for (const uint64_t source : sources_of(all)) sources.push_back(source);
  CHECK(gathered(requester) == sources);
  if (readable) return;
  requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 3);
  CHECK(requester.submitted[2].status == EXRNIC_CQE_STATUS_LOC_QP_OP_ERR);
}

// ---- All at once

// Work requests of all shapes, posted bit by bit, while others wait now and then and the peer
// reads.
TEST_CASE("Random work is executed in order, byte by byte, however turns end") {
  for (uint32_t seed = 20261120; seed < 20261140; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    Requester requester(seed);
    requester.qps[kQpn] = sending_qp(0xff80, 0);
    Qp& qp = requester.qps[kQpn];
    std::vector<uint64_t> sources;
    std::vector<uint16_t> last_slots;
    std::size_t done = 0;
    const auto post = [&] {
      for (unsigned count = random() % 12; count > 0; --count) {
        std::vector<exrnic_sge> elements(random() % 4 != 0 ? 1 : random() % 17);
        for (exrnic_sge& element : elements)
          element = {(random() % 64) << 10, static_cast<uint32_t>(random() % 40), kStag0};
        if (static_cast<uint16_t>(qp.sq_producer - qp.sq.consumer) > 240) return;
        qp.sq_producer += put(requester, qp.sq_producer, push(0), elements);
        last_slots.push_back(static_cast<uint16_t>(qp.sq_producer - 1));
        for (const uint64_t source : sources_of(elements)) sources.push_back(source);
      }
    };
    for (int i = 0; i < 8000 || qp.sq.consumer != qp.sq_producer; ++i) {
      REQUIRE(i < 100000);
      if (i < 8000 && random() % 64 == 0) post();
      if (random() % 256 == 0) requester.dut().queues_others_wait_i ^= 1;
      if (random() % 512 == 0) requester.slots_left = false;
      if (random() % 64 == 0) requester.slots_left = true;
      if (random() % 512 == 0) requester.dut().quiesce_i ^= 1;
      requester.dut().turns_data_i = kQpn;
      requester.dut().turns_valid_i = qp.sq.consumer != qp.sq_producer;
      requester.cycle();
    }
    requester.dut().turns_valid_i = requester.dut().quiesce_i = 0;
    requester.rest();
    REQUIRE(requester.submitted.size() == last_slots.size());
    for (const TxDesc& desc : requester.submitted) {
      CHECK_FALSE(desc.unsent);
      CHECK(desc.tag.wqe_index == last_slots[done++]);
    }
    CHECK(gathered(requester) == sources);
  }
}

}  // namespace
}  // namespace exrnic::testing
