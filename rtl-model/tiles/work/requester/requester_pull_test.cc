// SPDX-License-Identifier: BSD-2-Clause
// PULL, and which work may be under way together.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "rtl-model/tiles/work/requester/requester_bench.h"

namespace exrnic::testing {
namespace {

constexpr uint8_t kPull = EXRNIC_WQE_OPCODE_PULL;

void post(Requester& requester, const exrnic_wqe& wqe, const std::vector<exrnic_sge>& elements) {
  const unsigned slots = put(requester, 0, wqe, elements);
  requester.qps[kQpn] = sending_qp(0, static_cast<uint16_t>(slots));
}
const std::vector<exrnic_sge> kSinks = {
    {0x10000, 5000, kStag0}, {0x20000, 0, 0xbad}, {0x30000, 70, kStag1}, {0x40000, 1, kStag0}};

uint64_t field(const std::array<uint8_t, EXRNIC_INLINE_MAX>& bytes, unsigned at, unsigned count) {
  uint64_t value = 0;
  for (unsigned i = 0; i < count; ++i) value = value << 8 | bytes[at + i];
  return value;
}

TEST_CASE("A PULL is one RDMA Read Request for each element that is not empty") {
  Requester requester;
  post(requester, work(kPull), kSinks);
  requester.qps[kQpn].sq.read_msn = 41;
  requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 3);
  const exrnic_sge sinks[] = {kSinks[0], kSinks[2], kSinks[3]};
  uint64_t from = 0x0102030405060708;
  for (unsigned i = 0; i < 3; ++i) {
    const TxDesc& desc = requester.submitted[i];
    const uint8_t* header = desc.ddp.data();
    CHECK_FALSE(desc.unsent);
    CHECK(desc.untagged);
    CHECK(exrnic_ddp_untagged_opcode(header) == EXRNIC_RDMAP_OPCODE_READ_REQUEST);
    CHECK(exrnic_ddp_untagged_last(header) == 1);
    CHECK(exrnic_ddp_untagged_qn(header) == EXRNIC_READ_QN);
    CHECK(exrnic_ddp_untagged_msn(header) == 42 + i);
    CHECK(exrnic_ddp_untagged_mo(header) == 0);
    CHECK(desc.inlined);
    CHECK(desc.length == EXRNIC_READ_REQUEST_BYTES);
    CHECK(exrnic_read_request_sink_stag(desc.inline_data.data()) == sinks[i].stag);
    CHECK(exrnic_read_request_sink_to(desc.inline_data.data()) == sinks[i].address);
    CHECK(exrnic_read_request_length(desc.inline_data.data()) == sinks[i].length);
    CHECK(exrnic_read_request_source_stag(desc.inline_data.data()) == 0xa1b2c3d4);
    CHECK(field(desc.inline_data, 20, 8) == from);
    CHECK(desc.tag.kind == kTxKindSegment);  // its acknowledgement completes nothing
    from += sinks[i].length;
  }
  const auto& pulls = requester.pulls[kQpn];
  REQUIRE(pulls.size() == 3);
  for (unsigned i = 0; i < 3; ++i) {
    CHECK(pulls[i].stag == sinks[i].stag);
    CHECK(pulls[i].to == sinks[i].address);
    CHECK(pulls[i].left == sinks[i].length);
    CHECK(pulls[i].last == (i == 2));
    CHECK(pulls[i].signaled);
    CHECK(pulls[i].wqe_index == 1);  // the last of its two slots
    CHECK(pulls[i].byte_length == 5071);
  }
  const Qp& qp = requester.qps[kQpn];
  CHECK(qp.sq.read_msn == 44);
  CHECK(qp.sq.send_msn == 0);
  CHECK(qp.sq.consumer == 2);
  CHECK(qp.sq.issued == 0);
  CHECK_FALSE(qp.sq.halted);
  CHECK(requester.payload_reads.empty());
  CHECK(requester.events[EXRNIC_COUNTER_WQES] == 1);
}

TEST_CASE("All elements of a PULL are looked up for writing, each as a whole, before it is sent") {
  Requester requester;
  post(requester, work(kPull), kSinks);
  std::size_t submitted_at_look = 0;
  requester.region = [&](const XlateReq& request) {
    submitted_at_look = requester.submitted.size();
    return translate_in_place(request);
  };
  requester.turn(kQpn);
  std::vector<XlateReq> looks;
  for (const XlateReq& request : requester.xlate.requests)
    if (!request.ring) looks.push_back(request);
  REQUIRE(looks.size() == 3);
  CHECK(submitted_at_look == 0);
  for (const XlateReq& look : looks) {
    CHECK(look.access == EXRNIC_ACCESS_LOCAL_WRITE);
    CHECK(look.pd == kPd);
  }
  CHECK(looks[0].length == 5000);
  CHECK(looks[1].to == 0x30000);
  CHECK(looks[2].length == 1);
}

TEST_CASE(
    "A PULL begins where its peer gets slots for all its requests, else its turn comes again") {
  Requester requester;
  post(requester, work(kPull), kSinks);
  requester.quota_slots = 2;
  requester.turn(kQpn);
  CHECK(requester.submitted.empty());
  CHECK(requester.wakes == std::vector<unsigned>{kQpn});
  requester.quota_slots = 3;
  requester.turn(kQpn);
  CHECK(requester.submitted.size() == 3);
}

TEST_CASE("A PULL without bytes is one request of length zero") {
  Requester requester;
  const auto elements = GENERATE(std::size_t{0}, std::size_t{1}, std::size_t{4});
  post(requester, work(kPull), std::vector<exrnic_sge>(elements, {0x1234, 0, kStag0}));
  requester.qps[kQpn].cfg.max_reads_out = 1;
  requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 1);
  for (unsigned i = 0; i < 16; ++i) CHECK(requester.submitted[0].inline_data[i] == 0);
  REQUIRE(requester.pulls[kQpn].size() == 1);
  CHECK(requester.pulls[kQpn][0].last);
  CHECK(requester.pulls[kQpn][0].left == 0);
  CHECK(requester.pulls[kQpn][0].stag == 0);
}

TEST_CASE("A PULL with sixteen elements sends sixteen requests in one turn") {
  Requester requester;
  requester.dut().queues_others_wait_i = 1;
  post(requester, work(kPull), std::vector<exrnic_sge>(16, {0x10000, 7, kStag0}));
  requester.turn(kQpn);
  CHECK(requester.submitted.size() == 16);
  CHECK(requester.pulls[kQpn].size() == 16);
  CHECK(requester.pulls[kQpn].back().last);
}

TEST_CASE("A PULL needs as many reads as its queue pair may have at most") {
  const auto max_reads = GENERATE(0, 2, 3);
  Requester requester;
  post(requester, work(kPull), kSinks);
  requester.qps[kQpn].cfg.max_reads_out = static_cast<uint8_t>(max_reads);
  requester.turn(kQpn);
  const bool good = max_reads == 3;
  CHECK(requester.submitted.size() == (good ? 3 : 1));
  CHECK(requester.submitted[0].unsent == !good);
  if (!good) CHECK(requester.submitted[0].status == EXRNIC_CQE_STATUS_LOC_QP_OP_ERR);
  CHECK(requester.pulls[kQpn].size() == (good ? 3 : 0));
}

TEST_CASE("Of a PULL with an element that its region refuses nothing is sent") {
  Requester requester;
  post(requester, work(kPull), kSinks);
  requester.region = [](const XlateReq& request) {
    return request.stag == kStag1 ? XlateRsp{kXlateBounds, 0, 0} : translate_in_place(request);
  };
  SECTION("alone") {
    requester.turn(kQpn);
    REQUIRE(requester.submitted.size() == 1);
    CHECK(requester.submitted[0].unsent);
    CHECK(requester.submitted[0].status == EXRNIC_CQE_STATUS_LOC_PROT_ERR);
    CHECK(requester.submitted[0].tag.kind == kTxKindLast);
    CHECK(requester.submitted[0].tag.opcode == kPull);
    CHECK(requester.qps[kQpn].sq.halted);
    CHECK(requester.qps[kQpn].sq.issued == 1);
    CHECK(requester.events[EXRNIC_COUNTER_WQE_ERRORS] == 1);
  }
  SECTION("while another PULL is under way, whose completion comes first") {
    requester.pulls[kQpn].push_back({});
    requester.turn(kQpn);
    CHECK(requester.submitted.empty());
    CHECK(requester.wakes.empty());
    CHECK(requester.qps[kQpn].sq.consumer == 0);
  }
}

// ---- What may begin

struct UnderWay {
  unsigned pulls = 0;
  uint16_t issued_not_ended = 0;
};

bool begins(const exrnic_wqe& wqe, const std::vector<exrnic_sge>& elements, UnderWay under_way) {
  Requester requester;
  post(requester, wqe, elements);
  Qp& qp = requester.qps[kQpn];
  qp.sq.issued = static_cast<uint16_t>(3 + under_way.issued_not_ended);
  qp.ended.count = 3;
  qp.cfg.max_reads_out = 4;
  for (unsigned i = 0; i < under_way.pulls; ++i) requester.pulls[kQpn].push_back({});
  requester.turn(kQpn);
  const bool begun = !requester.submitted.empty();
  CHECK(requester.wakes.size() == (begun ? 1 : 0));  // else whoever ends what it waits for wakes it
  CHECK((qp.sq.consumer != 0) == begun);
  return begun;
}

TEST_CASE("A PULL begins when all other work has ended and its reads fit") {
  CHECK(begins(work(kPull), kSinks, {0, 0}));
  CHECK(begins(work(kPull), kSinks, {1, 0}));
  CHECK_FALSE(begins(work(kPull), kSinks, {2, 0}));
  CHECK_FALSE(begins(work(kPull), kSinks, {0, 1}));
  CHECK(begins(work(kPull), {}, {3, 0}));
  CHECK_FALSE(begins(work(kPull), {}, {4, 0}));
}

TEST_CASE("Other work begins when no PULL is under way; a fence needs nothing more") {
  const auto opcode = GENERATE(EXRNIC_WQE_OPCODE_PUSH, EXRNIC_WQE_OPCODE_PUSH_IMM,
                               EXRNIC_WQE_OPCODE_SEND, EXRNIC_WQE_OPCODE_SEND_INVALIDATE);
  exrnic_wqe wqe = work(static_cast<uint8_t>(opcode));
  wqe.flags |= GENERATE(uint8_t{0}, uint8_t{EXRNIC_WQE_FLAGS_FENCE});
  CHECK(begins(wqe, {{0x10000, 5, kStag0}}, {0, 0}));
  CHECK(begins(wqe, {{0x10000, 5, kStag0}}, {0, 7}));
  CHECK_FALSE(begins(wqe, {{0x10000, 5, kStag0}}, {1, 0}));
}

TEST_CASE("A malformed work request waits for PULLs before it like any other") {
  exrnic_wqe wqe = work(kPull);
  wqe.imm_data = 1;
  CHECK(begins(wqe, kSinks, {0, 0}));
  CHECK(begins(wqe, kSinks, {0, 1}));
  CHECK_FALSE(begins(wqe, kSinks, {1, 0}));
}

TEST_CASE("LOCAL_INVALIDATE begins when all before it has ended") {
  const exrnic_wqe wqe = work(EXRNIC_WQE_OPCODE_LOCAL_INVALIDATE);
  CHECK(begins(wqe, {}, {0, 0}));
  CHECK_FALSE(begins(wqe, {}, {0, 1}));
  CHECK_FALSE(begins(wqe, {}, {1, 0}));
}

TEST_CASE("Work that must wait ends its batch, and what came before it stays submitted") {
  Requester requester;
  put(requester, 0, work(EXRNIC_WQE_OPCODE_SEND), {{0x10000, 5, kStag0}});
  put(requester, 1, work(kPull), {{0x10000, 5, kStag0}});
  put(requester, 2, work(EXRNIC_WQE_OPCODE_SEND), {{0x10000, 5, kStag0}});
  requester.qps[kQpn] = sending_qp(0, 3);
  requester.turn(kQpn);
  CHECK(requester.submitted.size() == 1);
  CHECK(requester.wakes.empty());
  requester.qps[kQpn].ended.count = 1;
  requester.turn(kQpn);
  CHECK(requester.submitted.size() == 2);
  CHECK(requester.pulls[kQpn].size() == 1);
  CHECK(requester.wakes.empty());
  requester.pulls[kQpn].clear();
  requester.turn(kQpn);
  CHECK(requester.submitted.size() == 3);
  CHECK(requester.qps[kQpn].sq.consumer == 3);
}

TEST_CASE("Work that must wait does not hold back the answer to the peer") {
  Requester requester;
  requester.turn(kQpn);  // for nothing: so a read goes before own work
  post(requester, work(kPull), kSinks);
  requester.qps[kQpn].sq.issued = 1;
  requester.reads[kQpn].push_back({});
  requester.turn(kQpn);  // a read of no bytes, and then the work
  requester.reads[kQpn].push_back({});
  requester.turn(kQpn);
  CHECK(requester.wakes.size() == 2);
  CHECK(requester.submitted.size() == 1);
  requester.turn(kQpn);
  CHECK(requester.submitted.size() == 2);
}

TEST_CASE("A PULL in the middle of which its queue pair goes to ERROR completes once") {
  Requester requester;
  post(requester, work(kPull), kSinks);
  requester.begin_turn(kQpn);
  requester.wait_for("a request", kLimit, [&] { return requester.submitted.size() == 1; });
  requester.slots_left = false;
  requester.wait_for("alloc", kLimit, [&] { return requester.dut().transmit_alloc_ready_o != 0; });
  requester.qps[kQpn].status.state = EXRNIC_QP_STATE_ERROR;
  requester.slots_left = true;
  requester.rest();
  REQUIRE(requester.pulls[kQpn].size() == 1);
  CHECK_FALSE(requester.pulls[kQpn][0].last);
  requester.turn(kQpn);  // the responder ends those under way first
  CHECK(requester.flushes.size() == 1);
  requester.pulls[kQpn].clear();
  requester.turn(kQpn);
  const TxDesc& desc = requester.submitted.back();
  CHECK(desc.status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
  CHECK(desc.tag.kind == kTxKindLast);
  CHECK(desc.tag.opcode == kPull);
  CHECK(desc.tag.wqe_index == 1);
}

// ---- PULLs of which nothing is heard

void expect_question(const TxDesc& desc) {
  const uint8_t* header = desc.ddp.data();
  CHECK_FALSE(desc.unsent);
  CHECK_FALSE(desc.untagged);
  CHECK(desc.node == 0x17);
  CHECK(desc.dst_qpn == 0x345678);
  CHECK(desc.src_qpn == kQpn);
  CHECK(exrnic_ddp_tagged_opcode(header) == EXRNIC_RDMAP_OPCODE_WRITE);
  CHECK(exrnic_ddp_tagged_last(header) == 1);
  CHECK(exrnic_ddp_tagged_stag(header) == 0);
  CHECK(exrnic_ddp_tagged_to(header) == 0);
  CHECK(desc.length == 0);
  CHECK_FALSE(desc.ask);  // for credits
  CHECK(desc.tag.kind == kTxKindSegment);
  CHECK(desc.tag.generation == 0x5c);
  CHECK(desc.tag.opcode == kPull);
}

TEST_CASE("A queue pair that is to ask sends an empty RDMA Write, once, and is woken again") {
  Requester requester;
  // The remains of a turn for an inline PUSH of another one.
  put_inline(requester, 0, push(0), 40);
  requester.qps[kQpn + 1] = sending_qp(0, 1);
  requester.turn(kQpn + 1);
  requester.submitted.clear();
  requester.wakes.clear();
  requester.qps[kQpn] = sending_qp(7, 0);
  requester.qps[kQpn].sq.issued = requester.qps[kQpn].ended.count = 9;
  requester.pulls[kQpn].resize(1);
  requester.asks = true;
  const QpSq before = requester.qps[kQpn].sq;
  requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 1);
  expect_question(requester.submitted[0]);
  CHECK(requester.submitted[0].tag.wqe_index == 6);  // of the PULL
  CHECK(requester.asked == 1);
  CHECK(requester.wakes == std::vector<unsigned>{kQpn});
  CHECK(requester.payload_reads.empty());
  CHECK(requester.pulls[kQpn].size() == 1);
  CHECK(requester.qps[kQpn].sq.issued == before.issued);
  CHECK(requester.qps[kQpn].sq.send_msn == before.send_msn);
  CHECK(requester.events[EXRNIC_COUNTER_WQES] == 1);  // of the PUSH
  requester.turn(kQpn);
  CHECK(requester.submitted.size() == 1);
}

TEST_CASE("The question goes before own work and before the answer to the peer; both go on") {
  Requester requester;
  post(requester, work(kPull), {{0x10000, 10, kStag0}});
  requester.pulls[kQpn].resize(1);
  requester.reads[kQpn].resize(1);
  requester.asks = true;
  for (int i = 0; i < 3; ++i) requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 3);
  expect_question(requester.submitted[0]);
  CHECK(requester.reads[kQpn].empty());
  CHECK(requester.pulls[kQpn].size() == 2);
}

TEST_CASE("Nothing is asked in ERROR, nor without slots for the peer: then the turn comes again") {
  Requester requester;
  requester.qps[kQpn] = sending_qp(0, 0);
  requester.pulls[kQpn].resize(1);
  requester.asks = true;
  SECTION("in ERROR") {
    requester.qps[kQpn].status.state = EXRNIC_QP_STATE_ERROR;
    requester.turn(kQpn);
    CHECK(requester.flushes == std::vector<unsigned>{kQpn});
  }
  SECTION("without slots") {
    requester.quota_start = false;
    requester.turn(kQpn);
    CHECK(requester.wakes == std::vector<unsigned>{kQpn});
  }
  CHECK(requester.submitted.empty());
  CHECK(requester.asked == 0);
  CHECK(requester.asks);
}

TEST_CASE("A queue pair that goes to ERROR, or becomes another, while a slot is awaited asks not") {
  Requester requester;
  requester.qps[kQpn] = sending_qp(0, 0);
  requester.pulls[kQpn].resize(1);
  requester.asks = true;
  requester.slots_left = false;
  requester.begin_turn(kQpn);
  requester.wait_for("alloc", kLimit, [&] { return requester.dut().transmit_alloc_ready_o != 0; });
  SECTION("ERROR") { requester.qps[kQpn].status.state = EXRNIC_QP_STATE_ERROR; }
  SECTION("another") { ++requester.qps[kQpn].cfg.generation; }
  requester.slots_left = true;
  requester.rest();
  REQUIRE(requester.submitted.size() == 1);
  CHECK(requester.submitted[0].unsent);
  CHECK(requester.submitted[0].status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(requester.asked == 0);
  CHECK(requester.wakes == std::vector<unsigned>{kQpn});
}

TEST_CASE("What follows a PULL reads nothing before what has come is written") {
  Requester requester;
  requester.qps[kQpn] = sending_qp(0, 2);
  for (uint32_t slot = 0; slot < 2; ++slot) requester.ring[slot * sizeof(exrnic_wqe)] = push(16);
  const bool pulled = GENERATE(true, false);
  requester.qps[kQpn].sq.pulled = pulled;
  requester.dut().writes_waiting_i = 2;  // accepted, and not out
  requester.begin_turn(kQpn);
  for (int i = 0; i < 400; ++i) requester.cycle();
  CHECK(requester.payload_reads.size() == (pulled ? 0 : 2));
  for (int written = 0; written < 2; ++written) {
    CHECK((!pulled || requester.payload_reads.empty()));
    requester.dut().writes_ends_i = 1;
    requester.cycle();
    requester.dut().writes_ends_i = 0;
    for (int i = 0; i < 10; ++i) requester.cycle();
  }
  requester.rest();
  CHECK(requester.payload_reads.size() == 2);
  CHECK_FALSE(requester.qps[kQpn].sq.pulled);
}

TEST_CASE("A PULL notes that it may bring what the next work request reads") {
  Requester requester;
  requester.qps[kQpn] = sending_qp(0, 1);
  requester.ring[0] = work(EXRNIC_WQE_OPCODE_PULL, 16);
  requester.turn(kQpn);
  CHECK(requester.qps[kQpn].sq.pulled);
}

TEST_CASE("An atomic waits for PULLs under way that are none, not for atomics") {
  const bool reads = GENERATE(true, false);
  Requester requester;
  requester.qps[kQpn] = sending_qp(0, 1);
  requester.qps[kQpn].sq.pull_reads = reads;
  requester.pulls[kQpn].emplace_back();
  requester.ring[0] = work(EXRNIC_WQE_OPCODE_FETCH_ADD, 8);
  requester.turn(kQpn);
  CHECK(requester.submitted.size() == (reads ? 0 : 1));
  CHECK(requester.pulls[kQpn].size() == (reads ? 1 : 2));
  requester.pulls[kQpn].clear();
  requester.turn(kQpn);
  CHECK(requester.submitted.size() == 1);
  CHECK_FALSE(requester.qps[kQpn].sq.pull_reads);
}

TEST_CASE("The place of each PULL is looked up once, that of the next one while one is asked for") {
  Requester requester;
  constexpr uint16_t kPulls = 6;
  requester.qps[kQpn] = sending_qp(0, kPulls);
  for (uint32_t slot = 0; slot < kPulls; ++slot) {
    requester.ring[slot * sizeof(exrnic_wqe)] = work(EXRNIC_WQE_OPCODE_PULL, 16);
    requester.ring[slot * sizeof(exrnic_wqe)].sge0_address = 0x10000 + 0x100 * slot;
  }
  requester.begin_turn(kQpn);
  requester.wait_for("the first slot", kLimit,
                     [&] { return requester.dut().transmit_alloc_ready_o != 0; });
  requester.slots_left = false;
  for (int i = 0; i < 300; ++i) requester.cycle();
  CHECK(requester.xlate.requests.size() == requester.submitted.size() + 2);
  requester.slots_left = true;
  requester.rest();
  REQUIRE(requester.xlate.requests.size() == kPulls);
  for (uint32_t slot = 0; slot < kPulls; ++slot) {
    CHECK(requester.xlate.requests[slot].to == 0x10000 + 0x100 * slot);
    CHECK(requester.xlate.requests[slot].access == EXRNIC_ACCESS_LOCAL_WRITE);
  }
}

}  // namespace
}  // namespace exrnic::testing
