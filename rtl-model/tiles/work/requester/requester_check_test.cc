// SPDX-License-Identifier: BSD-2-Clause
// Which work requests are executed, and what becomes of the others.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "rtl-model/tiles/work/requester/requester_bench.h"

namespace exrnic::testing {
namespace {

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
  CHECK(requester.submitted[0].tag.kind == kTxKindLast);
  CHECK(requester.submitted[0].unsent);
  CHECK(requester.submitted[0].tag.wqe_index == 0);
  CHECK(requester.payload_reads.empty());
  CHECK(requester.qps[kQpn].sq.halted);
  CHECK(requester.qps[kQpn].sq.consumer == 1);
  CHECK(requester.events[EXRNIC_COUNTER_WQE_ERRORS] == 1);

  requester.turn(kQpn);  // until its error is a completion, nothing more is taken
  CHECK(requester.submitted.size() == 1);
}

TEST_CASE("Nothing may be posted to a queue pair that has windows") {
  for (const uint8_t opcode : {EXRNIC_WQE_OPCODE_PUSH, EXRNIC_WQE_OPCODE_SEND,
                               EXRNIC_WQE_OPCODE_PULL, EXRNIC_WQE_OPCODE_LOCAL_INVALIDATE}) {
    Requester requester;
    requester.has_windows = true;
    requester.qps[kQpn] = sending_qp(0, 1);
    exrnic_wqe wqe = push(5);
    if (opcode == EXRNIC_WQE_OPCODE_LOCAL_INVALIDATE) wqe.num_sge = 0, wqe.length = 0;
    wqe.opcode = opcode;
    requester.ring[0] = wqe;
    requester.turn(kQpn);
    REQUIRE(requester.submitted.size() == 1);
    CHECK(requester.submitted[0].status == EXRNIC_CQE_STATUS_LOC_QP_OP_ERR);
    CHECK(requester.submitted[0].unsent);
  }
}

// ---- UD

constexpr uint32_t kGroup = 0xabc;

// A SEND of `length` bytes to `node` and `qpn`, and what is submitted for it.
TxDesc datagram(uint8_t opcode, uint32_t length, uint64_t node, uint32_t qpn,
                uint32_t qkey = 0x12345678) {
  Requester requester;
  Qp& qp = requester.qps[kQpn] = sending_qp(0, 1);
  qp.cfg.service = EXRNIC_SERVICE_UD;
  qp.cfg.qkey = 0x87654321;
  qp.cfg.pkey_index = EXRNIC_PKEYS - 1;
  requester.set_pkey(EXRNIC_PKEYS - 1, 0x8765);
  qp.sq.frames = 5;
  exrnic_wqe wqe = push(length);
  wqe.opcode = opcode;
  wqe.remote_to = node << EXRNIC_DATAGRAM_NODE_SHIFT | qpn;
  wqe.remote_stag = qkey;
  if (length == 0) wqe.num_sge = 0;
  requester.ring[0] = wqe;
  requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 1);
  CHECK(requester.submitted[0].unreliable);
  CHECK(requester.submitted[0].datagram);
  CHECK(requester.submitted[0].node == qp.cfg.dest_node);
  return requester.submitted[0];
}

TEST_CASE("UD: a SEND goes where its work request says, with keys and number") {
  for (const auto& [node, qpn] :
       {std::pair(uint64_t{kNNode - 1}, 0xabcdefu), {0, EXRNIC_GROUP_QPN + kGroup}}) {
    const TxDesc desc = datagram(EXRNIC_WQE_OPCODE_SEND, EXRNIC_MTU_DEFAULT, node, qpn);
    CHECK(desc.status == EXRNIC_CQE_STATUS_SUCCESS);
    CHECK_FALSE(desc.unsent);
    CHECK(desc.dest == node);
    CHECK(desc.dst_qpn == qpn);
    CHECK(desc.src_qpn == kQpn);
    CHECK(desc.qkey == 0x12345678);
    CHECK(desc.pkey == 0x8765);
    CHECK(desc.number == 5);
    CHECK(desc.tag.kind == kTxKindLast);
  }
}

TEST_CASE("UD: a controlled Q_Key stands for that of the own queue pair") {
  const uint8_t send = EXRNIC_WQE_OPCODE_SEND;
  CHECK(datagram(send, 8, 1, 2, EXRNIC_QKEY_CONTROLLED).qkey == 0x87654321);
  CHECK(datagram(send, 8, 1, 2, 0x92345678).qkey == 0x87654321);
  CHECK(datagram(send, 8, 1, 2, 0x7fffffff).qkey == 0x7fffffff);
}

TEST_CASE("UD: what no datagram can be is refused") {
  const uint8_t send = EXRNIC_WQE_OPCODE_SEND;
  for (const uint8_t opcode : {EXRNIC_WQE_OPCODE_PUSH, EXRNIC_WQE_OPCODE_SEND_INVALIDATE,
                               EXRNIC_WQE_OPCODE_PULL, EXRNIC_WQE_OPCODE_FETCH_ADD})
    CHECK(datagram(opcode, 8, 1, 2).status == EXRNIC_CQE_STATUS_LOC_QP_OP_ERR);
  for (const auto& [node, qpn] : {std::pair(uint64_t{kNNode}, 2u),
                                  {uint64_t{1} << 31, 2},
                                  {1, 0x1000002},
                                  {1, EXRNIC_GROUP_QPN + kGroup}}) {
    CAPTURE(node, qpn);
    const TxDesc desc = datagram(send, 8, node, qpn);
    CHECK(desc.status == EXRNIC_CQE_STATUS_LOC_QP_OP_ERR);
    CHECK(desc.unsent);
  }
  CHECK(datagram(send, EXRNIC_MTU_DEFAULT + 1, 1, 2).status == EXRNIC_CQE_STATUS_LOC_LEN_ERR);
}

struct Shape {
  const char* what;
  uint8_t opcode;
  uint8_t flags;
  uint8_t num_sge;
  uint8_t num_slots;
  uint32_t imm_data;
  uint32_t length;  // of each element; of all with INLINE or without elements
};

constexpr uint8_t kInline = EXRNIC_WQE_FLAGS_INLINE;
constexpr uint8_t kSolicited = EXRNIC_WQE_FLAGS_SOLICITED;
const Shape kMalformed[] = {
    {"a solicited PUSH", EXRNIC_WQE_OPCODE_PUSH, kSolicited, 1, 1, 0, 5},
    {"a solicited PULL", EXRNIC_WQE_OPCODE_PULL, kSolicited, 1, 1, 0, 5},
    {"a solicited LOCAL_INVALIDATE", EXRNIC_WQE_OPCODE_LOCAL_INVALIDATE, kSolicited, 0, 1, 1, 0},
    {"an inline PULL", EXRNIC_WQE_OPCODE_PULL, kInline, 0, 1, 0, 5},
    {"an inline LOCAL_INVALIDATE", EXRNIC_WQE_OPCODE_LOCAL_INVALIDATE, kInline, 0, 1, 0, 0},
    {"inline data and elements", EXRNIC_WQE_OPCODE_PUSH, kInline, 1, 1, 0, 5},
    {"too much inline data", EXRNIC_WQE_OPCODE_SEND, kInline, 0, 2, 0, 65},
    {"inline data with a slot too few", EXRNIC_WQE_OPCODE_SEND, kInline, 0, 1, 0, 33},
    {"inline data with a slot too many", EXRNIC_WQE_OPCODE_SEND, kInline, 0, 2, 0, 32},
    {"seventeen elements", EXRNIC_WQE_OPCODE_SEND, 0, 17, 5, 0, 5},
    {"elements with a slot too few", EXRNIC_WQE_OPCODE_SEND, 0, 7, 2, 0, 5},
    {"elements with a slot too many", EXRNIC_WQE_OPCODE_SEND, 0, 6, 3, 0, 5},
    {"a SEND with immediate data", EXRNIC_WQE_OPCODE_SEND, 0, 1, 1, 7, 5},
    {"a PULL with immediate data", EXRNIC_WQE_OPCODE_PULL, 0, 1, 1, 7, 5},
    {"LOCAL_INVALIDATE with a length", EXRNIC_WQE_OPCODE_LOCAL_INVALIDATE, 0, 0, 1, 7, 5},
    {"LOCAL_INVALIDATE with an element", EXRNIC_WQE_OPCODE_LOCAL_INVALIDATE, 0, 1, 1, 7, 0},
};
const Shape kWellFormed[] = {
    {"a solicited SEND", EXRNIC_WQE_OPCODE_SEND, kSolicited, 1, 1, 0, 5},
    {"a solicited PUSH_IMM", EXRNIC_WQE_OPCODE_PUSH_IMM, kSolicited, 1, 1, 7, 5},
    {"all flags", EXRNIC_WQE_OPCODE_SEND_IMM, 0xf, 0, 1, 7, 5},
    {"sixteen elements", EXRNIC_WQE_OPCODE_SEND, 0, 16, 5, 0, 5},
    {"six elements in two slots", EXRNIC_WQE_OPCODE_SEND, 0, 6, 2, 0, 5},
    {"seven elements in three slots", EXRNIC_WQE_OPCODE_PUSH, 0, 7, 3, 0, 5},
    {"a SEND_INVALIDATE of STag zero", EXRNIC_WQE_OPCODE_SEND_INVALIDATE, 0, 1, 1, 0, 5},
    {"the most inline data", EXRNIC_WQE_OPCODE_PUSH_IMM, kInline, 0, 2, 7, 64},
};

// The status of a work request of this shape; it is in all slots that it may say it has.
uint8_t judge(const Shape& shape) {
  CAPTURE(shape.what);
  Requester requester;
  exrnic_wqe slots[6] = {work(shape.opcode)};
  slots[0].flags = shape.flags;
  slots[0].num_sge = shape.num_sge;
  slots[0].num_slots = shape.num_slots;
  slots[0].imm_data = shape.imm_data;
  slots[0].length = shape.num_sge == 0 ? shape.length : shape.length * shape.num_sge;
  auto* elements = reinterpret_cast<uint8_t*>(slots) + 32;
  for (unsigned i = 0; i < shape.num_sge; ++i) {
    const exrnic_sge element = {0x10000, shape.length, kStag0};
    std::memcpy(elements + i * sizeof element, &element, sizeof element);
  }
  for (unsigned i = 0; i < 6; ++i) requester.ring[i * sizeof(exrnic_wqe)] = slots[i];
  requester.qps[kQpn] = sending_qp(0, shape.num_slots);
  requester.turn(kQpn);
  CHECK(requester.submitted.at(0).unsent == requester.qps[kQpn].sq.halted);
  CHECK(requester.qps[kQpn].sq.consumer == shape.num_slots);
  return requester.submitted[0].status;
}

TEST_CASE("A work request has the shape that its operation needs") {
  for (const Shape& shape : kMalformed) {
    CAPTURE(shape.what);
    CHECK(judge(shape) == EXRNIC_CQE_STATUS_LOC_QP_OP_ERR);
  }
  for (const Shape& shape : kWellFormed) {
    CAPTURE(shape.what);
    CHECK(judge(shape) == EXRNIC_CQE_STATUS_SUCCESS);
  }
}

TEST_CASE("The elements of all slots make the length") {
  Requester requester;
  put(requester, 0, work(EXRNIC_WQE_OPCODE_PULL), std::vector<exrnic_sge>(16, {0, 0x10000000, 0}));
  requester.qps[kQpn] = sending_qp(0, 5);  // 2^32 in all: its length field says 0
  requester.turn(kQpn);
  CHECK(requester.submitted.at(0).status == EXRNIC_CQE_STATUS_LOC_LEN_ERR);
  CHECK(requester.submitted[0].tag.opcode == EXRNIC_WQE_OPCODE_PULL);
  CHECK(requester.qps[kQpn].sq.consumer == 5);
}

TEST_CASE("No work request completes as a receive") {
  const auto [opcode, expected] =
      GENERATE(table<uint8_t, uint8_t>({{0, EXRNIC_WQE_OPCODE_PUSH},
                                        {EXRNIC_WQE_OPCODE_BIND_MW + 1, EXRNIC_WQE_OPCODE_PUSH},
                                        {EXRNIC_WQE_OPCODE_RECV, EXRNIC_WQE_OPCODE_PUSH},
                                        {EXRNIC_WQE_OPCODE_PULL, EXRNIC_WQE_OPCODE_PULL}}));
  Requester requester;
  exrnic_wqe wqe = work(opcode, 1);
  wqe.num_slots = 2;
  execute(requester, wqe);
  CHECK(requester.submitted.at(0).unsent);
  CHECK(requester.submitted[0].tag.opcode == expected);
}

TEST_CASE("A ring that cannot be read fails the work request") {
  Requester requester;
  execute(requester, push(1));  // still on chip when the next read fails
  requester.submitted.clear();
  SECTION("its PBL") {
    requester.slots_xlate.answer = [](const XlateReq&) { return XlateRsp{kXlateMemory, 0, 0}; };
  }
  SECTION("its pages") { requester.bad_slots.insert(7 * sizeof(exrnic_wqe)); }
  requester.qps[kQpn] = sending_qp(7, 3);
  requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 1);
  CHECK(requester.submitted[0].status == EXRNIC_CQE_STATUS_LOC_QP_OP_ERR);
  CHECK(requester.submitted[0].tag.wqe_index == 7);
  CHECK(requester.submitted[0].tag.opcode == EXRNIC_WQE_OPCODE_PUSH);
  CHECK(requester.submitted[0].tag.byte_length == 0);
  CHECK_FALSE(requester.submitted[0].tag.signaled);
  CHECK(requester.qps[kQpn].sq.consumer == 8);
  CHECK(requester.qps[kQpn].sq.halted);
}

}  // namespace
}  // namespace exrnic::testing
