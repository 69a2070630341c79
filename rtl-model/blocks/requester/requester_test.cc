// SPDX-License-Identifier: BSD-2-Clause
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "rtl-model/blocks/requester/requester_bench.h"

namespace exrnic::testing {
namespace {

// One work request, in the first slot of the ring, from turn to rest.
void execute(Requester& requester, const exrnic_wqe& wqe) {
  requester.qps[kQpn] = sending_qp(0, 1);
  requester.ring[0] = wqe;
  requester.turn(kQpn);
}

using Header = std::array<uint8_t, EXRNIC_DDP_UNTAGGED_BYTES>;

TEST_CASE("A small push becomes one slot with all its fields") {
  Requester requester;
  execute(requester, push(100));
  REQUIRE(requester.submitted.size() == 1);
  const TxDesc& desc = requester.submitted[0];
  CHECK(desc.slot == 0);
  CHECK(desc.node == 0x17);
  CHECK(desc.dst_qpn == 0x345678);
  CHECK(desc.src_qpn == kQpn);
  CHECK_FALSE(desc.untagged);
  CHECK(desc.length == 100);
  CHECK_FALSE(desc.unsent);
  CHECK_FALSE(desc.inlined);
  // RFC 5041, 4.2 and RFC 5040, 4.1: T, L, DV 1; RV 1, RDMA Write; STag; TO.
  CHECK(desc.ddp ==
        Header{0xc1, 0x40, 0xa1, 0xb2, 0xc3, 0xd4, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08});
  CHECK(desc.tag.kind == kTxLast);
  CHECK(desc.tag.qpn == kQpn);
  CHECK(desc.tag.generation == 0x5c);
  CHECK(desc.tag.wqe_index == 0);
  CHECK(desc.tag.byte_length == 100);
  CHECK(desc.tag.is_signaled);
  CHECK(desc.tag.opcode == EXRNIC_WQE_OPCODE_PUSH);
  REQUIRE(requester.payload_reads.size() == 1);
  CHECK(requester.payload_reads[0].address == kPageFrames + 0x10000);
  CHECK(requester.payload_reads[0].length == 100);
  CHECK(requester.payload_reads[0].dst == 0);
  CHECK(requester.qps[kQpn].sq.consumer == 1);
  CHECK_FALSE(requester.qps[kQpn].sq.halted);
  CHECK(requester.events[EXRNIC_COUNTER_WQES] == 1);
  CHECK(requester.events[EXRNIC_COUNTER_WQE_ERRORS] == 0);
}

TEST_CASE("The local region is asked for whole elements, in the domain of the queue pair") {
  Requester requester;
  execute(requester, gather(3000, 500));
  for (const XlateRequest& request : requester.xlate.requests) {
    if (request.ring) continue;
    CHECK(request.pd == kPd);
    CHECK(request.access == 0);  // local read is always granted
    const bool first = request.stag == kStag0;
    CHECK(request.to + request.length == (first ? 0x10000 + 3000 : 0x20000 + 500));
  }
}

TEST_CASE("A message is cut into segments of the MTU, each at its place in the peer's region") {
  const auto [length, mtu] = GENERATE(table<uint32_t, uint32_t>({{0, kMtu},
                                                                 {1, kMtu},
                                                                 {kMtu - 1, kMtu},
                                                                 {kMtu, kMtu},
                                                                 {kMtu + 1, kMtu},
                                                                 {3 * kMtu, kMtu},
                                                                 {10000, EXRNIC_MTU_MIN},
                                                                 {10000, EXRNIC_MTU_MAX}}));
  CAPTURE(length, mtu);
  Requester requester;
  requester.dut().mtu_i = mtu;
  execute(requester, push(length));
  const uint32_t segments = length == 0 ? 1 : (length + mtu - 1) / mtu;
  REQUIRE(requester.submitted.size() == segments);
  for (uint32_t i = 0; i < segments; ++i) {
    const TxDesc& desc = requester.submitted[i];
    const bool last = i + 1 == segments;
    uint64_t to = 0;
    for (unsigned byte = 6; byte < 14; ++byte) to = to << 8 | desc.ddp[byte];
    CHECK(desc.slot == i);
    CHECK(desc.length == std::min(mtu, length - i * mtu));
    CHECK(desc.ddp[0] == (last ? 0xc1 : 0x81));
    CHECK(to == 0x0102030405060708 + uint64_t{i} * mtu);
    CHECK(desc.tag.kind == (last ? kTxLast : kTxSegment));
    CHECK(desc.tag.byte_length == length);
  }
  CHECK(requester.qps[kQpn].sq.consumer == 1);
}

TEST_CASE("Payload is gathered from two elements, of which any may be empty") {
  const auto [first, second] = GENERATE(table<uint32_t, uint32_t>(
      {{0, 0}, {0, 10}, {10, 0}, {10, 20}, {kMtu, 1}, {1, kMtu}, {kMtu - 1, 2}, {0, 2 * kMtu}}));
  CAPTURE(first, second);
  Requester requester;
  const exrnic_wqe wqe = gather(first, second);
  execute(requester, wqe);
  CHECK(gathered(requester) == expected_sources(wqe));
}

TEST_CASE("Payload that crosses pages is read page by page into adjacent places") {
  Requester requester;
  exrnic_wqe wqe = push(9000);
  wqe.sge0_address = 0x10fff;
  requester.dut().mtu_i = EXRNIC_MTU_MAX;
  execute(requester, wqe);
  CHECK(requester.payload_reads.at(0).length == 1);
  CHECK(requester.payload_reads.at(1).length == EXRNIC_MTU_MAX - 1);
  CHECK(gathered(requester) == expected_sources(wqe));
}

TEST_CASE("Random messages arrive in their slots byte by byte") {
  constexpr uint32_t kSeed = 20261120;
  CAPTURE(kSeed);
  std::mt19937 random(kSeed);
  for (int round = 0; round < 40; ++round) {
    Requester requester(random());
    exrnic_wqe wqe = gather(random() % 5000, random() % 5000);
    wqe.sge0_address += random() % 8192;
    wqe.sge1_address += random() % 8192;
    requester.dut().mtu_i = EXRNIC_MTU_MIN + 16 * (random() % 241);
    CAPTURE(round, wqe.sge0_length, wqe.sge1_length, int{requester.dut().mtu_i});
    execute(requester, wqe);
    CHECK(gathered(requester) == expected_sources(wqe));
  }
}

TEST_CASE("A malformed work request takes a slot that is never sent, and halts its queue pair") {
  exrnic_wqe wqe = push(64);
  uint8_t expected = EXRNIC_CQE_STATUS_LOC_QP_OP_ERR;
  SECTION("opcode 0") { wqe.opcode = 0; }
  SECTION("a receive in the send queue") { wqe.opcode = EXRNIC_WQE_OPCODE_RECV; }
  SECTION("unknown flags") { wqe.flags = 0x10; }
  SECTION("three elements in one slot") { wqe.num_sge = 3; }
  SECTION("no slot") { wqe.num_slots = 0; }
  SECTION("six slots") { wqe.num_slots = 6; }
  SECTION("more slots than are posted") { wqe.num_slots = 3; }
  SECTION("immediate data where there is none") { wqe.imm_data = 1; }
  SECTION("everything") { std::memset(static_cast<void*>(&wqe), 0xff, sizeof(wqe)); }
  SECTION("length above the elements") {
    wqe.length = 65, expected = EXRNIC_CQE_STATUS_LOC_LEN_ERR;
  }
  SECTION("length below the elements") {
    wqe.length = 63, expected = EXRNIC_CQE_STATUS_LOC_LEN_ERR;
  }
  SECTION("a length without elements") {
    wqe.num_sge = 0, expected = EXRNIC_CQE_STATUS_LOC_LEN_ERR;
  }
  SECTION("more than the longest message") {
    wqe = push(EXRNIC_MESSAGE_MAX + 1);
    expected = EXRNIC_CQE_STATUS_LOC_LEN_ERR;
  }
  SECTION("a sum of 2^32 is not zero") {
    wqe = gather(0x80000000, 0x80000000);
    expected = EXRNIC_CQE_STATUS_LOC_LEN_ERR;
  }
  Requester requester;
  requester.qps[kQpn] = sending_qp(0, 2);
  requester.ring[0] = wqe;
  requester.ring[64] = push(1);
  requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 1);
  CHECK(requester.submitted[0].status == expected);
  CHECK(requester.submitted[0].length == 0);
  CHECK(requester.submitted[0].tag.kind == kTxLast);
  CHECK(requester.submitted[0].unsent);
  CHECK(requester.submitted[0].tag.wqe_index == 0);
  CHECK(requester.payload_reads.empty());
  CHECK(requester.qps[kQpn].sq.halted);
  CHECK(requester.qps[kQpn].sq.consumer == 1);
  CHECK(requester.events[EXRNIC_COUNTER_WQE_ERRORS] == 1);

  requester.turn(kQpn);  // until its error is a completion, nothing more is taken
  CHECK(requester.submitted.size() == 1);
}

TEST_CASE("The longest message is no error") {
  Requester requester;
  requester.region = [](const XlateRequest& request) {
    CHECK(request.length == EXRNIC_MESSAGE_MAX);
    return XlateResponse{kXlateBounds, 0, 0};
  };
  execute(requester, push(EXRNIC_MESSAGE_MAX));
  CHECK(requester.submitted.at(0).status == EXRNIC_CQE_STATUS_LOC_PROT_ERR);
}

TEST_CASE("What follows a local region that refuses is not sent, what came before is") {
  Requester requester;
  requester.region = [](const XlateRequest& request) {
    if (request.stag == kStag1) return XlateResponse{kXlateAccess, 0, 0};
    return translate_in_place(request);
  };
  execute(requester, gather(kMtu + 10, 2 * kMtu));
  REQUIRE(requester.submitted.size() == 2);
  CHECK(requester.submitted[0].status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(requester.submitted[0].tag.kind == kTxSegment);
  CHECK(requester.submitted[1].status == EXRNIC_CQE_STATUS_LOC_PROT_ERR);
  CHECK(requester.submitted[1].tag.kind == kTxLast);
  CHECK(requester.submitted[1].length == 10);  // asked for already, still to come into the slot
  CHECK(requester.qps[kQpn].sq.halted);
}

TEST_CASE("A ring that cannot be read fails the work request") {
  Requester requester;
  execute(requester, push(1));  // still in the batch buffer when the next read fails
  requester.submitted.clear();
  SECTION("its PBL") {
    requester.xlate.answer = [](const XlateRequest&) { return XlateResponse{kXlateMemory, 0, 0}; };
  }
  SECTION("its pages") { requester.bad_slots.insert(7 * sizeof(exrnic_wqe)); }
  requester.qps[kQpn] = sending_qp(7, 3);
  requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 1);
  CHECK(requester.submitted[0].status == EXRNIC_CQE_STATUS_LOC_QP_OP_ERR);
  CHECK(requester.submitted[0].tag.wqe_index == 7);
  CHECK(requester.qps[kQpn].sq.consumer == 8);
  CHECK(requester.qps[kQpn].sq.halted);
}

// ---- Turns

TEST_CASE("A turn takes a batch: eight slots, or those posted, across page and ring ends") {
  const auto [consumer, posted, reads] =
      GENERATE(table<uint16_t, uint16_t, std::size_t>({{0, 3, 1},
                                                       {0, 20, 1},
                                                       {60, 20, 2},
                                                       {250, 20, 2},
                                                       {0xfffe, 20, 2},
                                                       {0xfffc, 3, 1},
                                                       {0xfffe, 3, 2}}));
  const uint16_t taken = std::min<uint16_t>(posted, 8);
  CAPTURE(consumer, posted);
  Requester requester;
  fill_ring(requester);
  requester.qps[kQpn] = sending_qp(consumer, posted);
  requester.turn(kQpn);
  CHECK(requester.wqe_reads.size() == reads);
  REQUIRE(requester.submitted.size() == taken);
  for (uint16_t i = 0; i < taken; ++i) {
    const auto index = static_cast<uint16_t>(consumer + i);
    CHECK(requester.submitted[i].tag.wqe_index == index);
    CHECK(remote_stag(requester.submitted[i]) == index % (1u << kLog));
  }
  CHECK(requester.qps[kQpn].sq.consumer == static_cast<uint16_t>(consumer + taken));
  CHECK(requester.wakes == std::vector<unsigned>{kQpn});  // its next turn, behind the others
  requester.turn(kQpn);
  CHECK(requester.submitted.size() == taken + std::min(8u, 0u + posted - taken));
}

TEST_CASE("Turn by turn all work is taken in order, across the wrap of the index") {
  Requester requester;
  fill_ring(requester);
  requester.qps[kQpn] = sending_qp(0xffd0, 200);
  for (unsigned turns = 0; turns <= requester.wakes.size(); ++turns) requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 200);
  for (uint16_t i = 0; i < 200; ++i)
    CHECK(requester.submitted[i].tag.wqe_index == static_cast<uint16_t>(0xffd0 + i));
}

TEST_CASE("A batch goes on across the end of a small ring") {
  Requester requester;
  fill_ring(requester);
  requester.qps[kQpn] = sending_qp(6, 4);
  requester.qps[kQpn].cfg.sq_log = EXRNIC_RING_LOG_MIN;
  requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 4);
  const uint32_t slots[] = {6, 7, 0, 1};
  for (int i = 0; i < 4; ++i) CHECK(remote_stag(requester.submitted[i]) == slots[i]);
}

TEST_CASE("Nothing of a work request reaches the next one") {
  Requester requester;
  requester.qps[kQpn] = sending_qp(0, 2);
  requester.ring[0] = gather(10, 20);
  requester.ring[64] = gather(30, 40);
  requester.turn(kQpn);
  CHECK(requester.payload_reads.at(2).address == kPageFrames + 0x10000);
  CHECK(requester.payload_reads.at(2).length == 30);
  CHECK(requester.payload_reads.at(3).length == 40);
  requester.qps[kQpn].sq_producer++;
  requester.qps[kQpn].status.state = EXRNIC_QP_STATE_ERROR;
  requester.bad_slots.insert(2 * sizeof(exrnic_wqe));
  requester.turn(kQpn);
  CHECK(requester.submitted.at(2).tag.byte_length == 0);  // was flushed unseen
  CHECK_FALSE(requester.submitted[2].tag.is_signaled);
}

TEST_CASE("A turn of a queue pair that has nothing to send, or may not, does nothing") {
  Requester requester;
  Qp qp = sending_qp(4, 1);
  SECTION("nothing posted") { qp.sq_producer = 4; }
  SECTION("destroyed") { qp.cfg.valid = false; }
  SECTION("halted") { qp.sq.halted = true; }
  SECTION("ready to receive") { qp.status.state = EXRNIC_QP_STATE_RTR; }
  SECTION("receives only") { qp.sq_producer = 4, qp.rq_producer = 9; }
  SECTION("in error, all flushed") {
    qp.sq_producer = 4;
    qp.status.state = EXRNIC_QP_STATE_ERROR;
  }
  requester.qps[kQpn] = qp;
  requester.turn(kQpn);
  CHECK(requester.submitted.empty());
  CHECK(requester.wakes.empty());
  CHECK(requester.wqe_reads.empty());
}

TEST_CASE("In ERROR work requests are flushed, then the responder gets the queue pair") {
  Requester requester;
  Qp qp = sending_qp(0xffff, 6);
  qp.status.state = EXRNIC_QP_STATE_ERROR;
  qp.sq.halted = true;
  qp.sq.progress = 77;
  requester.qps[kQpn] = qp;
  requester.ring[255 * sizeof(exrnic_wqe)] = work(EXRNIC_WQE_OPCODE_SEND, 9);
  put(requester, 0, work(EXRNIC_WQE_OPCODE_PULL), {{0, 1, 0}, {0, 2, 0}, {0, 3, 0}});
  requester.ring[2 * sizeof(exrnic_wqe)] = push(5);
  requester.ring[2 * sizeof(exrnic_wqe)].num_slots = 0;  // counts as one
  requester.ring[3 * sizeof(exrnic_wqe)] = push(5);
  requester.ring[3 * sizeof(exrnic_wqe)].num_slots = 3;  // more than are left: one
  requester.ring[4 * sizeof(exrnic_wqe)] = push(5);
  requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 5);
  const uint16_t indices[] = {0xffff, 1, 2, 3, 4};
  for (int i = 0; i < 5; ++i) {
    const TxDesc& desc = requester.submitted[i];
    CHECK(desc.unsent);
    CHECK(desc.status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
    CHECK(desc.tag.kind == kTxLast);
    CHECK(desc.tag.wqe_index == indices[i]);
    CHECK(desc.length == 0);
    CHECK(desc.node == 0x17);
  }
  CHECK(requester.submitted[0].tag.opcode == EXRNIC_WQE_OPCODE_SEND);
  CHECK(requester.submitted[0].tag.byte_length == 0);  // only its kind is looked at
  CHECK(requester.submitted[1].tag.opcode == EXRNIC_WQE_OPCODE_PULL);
  CHECK(requester.qps[kQpn].sq.consumer == 5);
  CHECK(requester.qps[kQpn].sq.issued == 5);
  CHECK(requester.qps[kQpn].sq.progress == 0);
  CHECK(requester.wakes.size() == 1);
  CHECK(requester.flushes.empty());
  CHECK(requester.events[EXRNIC_COUNTER_WQES] == 5);
  CHECK(requester.events[EXRNIC_COUNTER_WQE_ERRORS] == 0);
  CHECK(requester.pulls[kQpn].empty());

  requester.turn(kQpn);
  CHECK(requester.flushes == std::vector<unsigned>{kQpn});
  CHECK(requester.wakes.size() == 1);  // the responder's business
}

TEST_CASE("A work request that cannot be read is flushed as one slot") {
  Requester requester;
  fill_ring(requester);
  requester.bad_slots.insert(1 * sizeof(exrnic_wqe));
  requester.qps[kQpn] = sending_qp(0, 3);
  requester.qps[kQpn].status.state = EXRNIC_QP_STATE_ERROR;
  for (int turn = 0; turn < 3; ++turn) requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 3);
  for (uint16_t i = 0; i < 3; ++i) CHECK(requester.submitted[i].tag.wqe_index == i);
  CHECK(requester.wakes.size() == 3);
}

// Leaves the requester waiting for a slot after the first segment of two work requests.
void stop_between_segments(Requester& requester) {
  requester.qps[kQpn] = sending_qp(0, 2);
  requester.ring[0] = push(2 * kMtu);
  requester.ring[64] = push(1);
  requester.begin_turn(kQpn);
  requester.wait_for("a segment", kLimit, [&] { return !requester.submitted.empty(); });
  requester.slots_left = false;
  requester.wait_for("alloc_ready_o", kLimit, [&] { return requester.dut().alloc_ready_o != 0; });
}

// A slot that is not needed any more: its end completes nothing.
void check_returned(const TxDesc& desc) {
  CHECK(desc.unsent);
  CHECK(desc.status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(desc.tag.kind == kTxResponse);
  CHECK(desc.length == 0);
}

TEST_CASE("A message in the middle of which its queue pair goes to ERROR is flushed") {
  Requester requester;
  stop_between_segments(requester);
  requester.qps[kQpn].status.state = EXRNIC_QP_STATE_ERROR;
  requester.slots_left = true;
  requester.rest();
  REQUIRE(requester.submitted.size() == 2);
  check_returned(requester.submitted[1]);
  CHECK(requester.wakes.size() == 1);
  requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 4);
  CHECK(requester.submitted[2].status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
  CHECK(requester.submitted[2].tag.kind == kTxLast);
  CHECK(requester.submitted[2].tag.wqe_index == 0);
  CHECK(requester.submitted[2].length == 0);
  CHECK(requester.qps[kQpn].sq.consumer == 2);
  CHECK(requester.payload_reads.size() == 1);
}

TEST_CASE(
    "Work of a queue pair that is another one meanwhile ends without a trace in the new one") {
  Requester requester;
  stop_between_segments(requester);
  Qp& qp = requester.qps[kQpn];
  SECTION("destroyed") { qp.cfg.valid = false; }
  SECTION("destroyed and created anew, in RTS again") {
    qp = sending_qp(0, 0);
    qp.cfg.generation = 0x5d;
  }
  SECTION("reset") {
    qp = sending_qp(0, 0);
    qp.cfg.generation = 0x5d;
    qp.status.state = EXRNIC_QP_STATE_RESET;
  }
  requester.slots_left = true;
  requester.rest();
  REQUIRE(requester.submitted.size() == 2);
  check_returned(requester.submitted[1]);
  CHECK(requester.submitted[1].tag.generation == 0x5c);
  CHECK(requester.payload_reads.size() == 1);
  CHECK(qp.sq.consumer == 0);
  CHECK_FALSE(qp.sq.halted);
}

TEST_CASE("A quiesced requester begins no turn and takes no slot, then goes on") {
  Requester requester;
  stop_between_segments(requester);
  requester.dut().quiesce_i = 1;
  requester.slots_left = true;
  for (int i = 0; i < 50; ++i) requester.cycle();
  CHECK(requester.dut().quiescent_o);
  CHECK(requester.submitted.size() == 1);
  requester.dut().quiesce_i = 0;
  requester.rest();
  CHECK(requester.submitted.size() == 3);

  requester.dut().quiesce_i = requester.dut().turn_valid_i = 1;
  for (int i = 0; i < 50; ++i) requester.cycle();
  CHECK(requester.dut().idle_o);
  CHECK_FALSE(requester.dut().turn_ready_o);
}

}  // namespace
}  // namespace exrnic::testing
