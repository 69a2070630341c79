// SPDX-License-Identifier: BSD-2-Clause
// What each operation becomes: segments, headers, tags, and what is kept of it.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "rtl-model/tiles/work/requester/requester_bench.h"

namespace exrnic::testing {
namespace {

constexpr uint8_t kSignaled = EXRNIC_WQE_FLAGS_SIGNALED;
constexpr uint8_t kSolicited = EXRNIC_WQE_FLAGS_SOLICITED;

// One work request with its elements, from the given slot on, from turn to rest.
void execute(Requester& requester, const exrnic_wqe& wqe, const std::vector<exrnic_sge>& elements,
             uint16_t slot = 0) {
  const unsigned slots = put(requester, slot, wqe, elements);
  requester.qps[kQpn] = sending_qp(slot, static_cast<uint16_t>(slots));
  requester.turn(kQpn);
}
std::vector<exrnic_sge> one(uint32_t length) { return {{0x10000, length, kStag0}}; }

uint64_t opcode(const TxDesc& desc) { return exrnic_ddp_untagged_opcode(desc.ddp.data()); }
uint64_t msn(const TxDesc& desc) { return exrnic_ddp_untagged_msn(desc.ddp.data()); }
uint64_t last(const TxDesc& desc) { return exrnic_ddp_untagged_last(desc.ddp.data()); }

// ---- SEND

TEST_CASE("A SEND is cut into untagged segments with the offset of each") {
  Requester requester;
  execute(requester, work(EXRNIC_WQE_OPCODE_SEND), one(2 * kMtu + 5));
  REQUIRE(requester.submitted.size() == 3);
  for (uint32_t i = 0; i < 3; ++i) {
    const TxDesc& desc = requester.submitted[i];
    const uint8_t* header = desc.ddp.data();
    CHECK(desc.untagged);
    CHECK(exrnic_ddp_untagged_t(header) == 0);
    CHECK(last(desc) == (i == 2));
    CHECK(exrnic_ddp_untagged_dv(header) == EXRNIC_DDP_VERSION);
    CHECK(exrnic_ddp_untagged_rv(header) == EXRNIC_RDMAP_VERSION);
    CHECK(opcode(desc) == EXRNIC_RDMAP_OPCODE_SEND);
    CHECK(exrnic_ddp_untagged_invalidate_stag(header) == 0);
    CHECK(exrnic_ddp_untagged_qn(header) == EXRNIC_SEND_QN);
    CHECK(msn(desc) == 1);
    CHECK(exrnic_ddp_untagged_mo(header) == i * kMtu);
    CHECK(desc.length == (i == 2 ? 5 : kMtu));
    CHECK(desc.tag.kind == (i == 2 ? kTxKindLast : kTxKindSegment));
    CHECK(desc.tag.opcode == EXRNIC_WQE_OPCODE_SEND);
    CHECK_FALSE(desc.imm_valid);
  }
  CHECK(gathered(requester) == sources_of(one(2 * kMtu + 5)));
  CHECK(requester.qps[kQpn].sq.send_msn == 1);
  CHECK(requester.qps[kQpn].sq.issued == 1);
}

TEST_CASE("Segments have no more bytes than the path MTU, and than the MTU of the device") {
  const auto path_mtu = GENERATE(EXRNIC_MTU_MIN, kMtu - EXRNIC_MTU_STEP, kMtu, EXRNIC_MTU_MAX);
  const auto mtu = std::min<uint32_t>(path_mtu, kMtu);
  Requester requester;
  const unsigned slots = put(requester, 0, work(EXRNIC_WQE_OPCODE_SEND), one(2 * mtu + 1));
  requester.qps[kQpn] = sending_qp(0, static_cast<uint16_t>(slots));
  requester.qps[kQpn].cfg.path_mtu = static_cast<uint16_t>(path_mtu);
  requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 3);
  for (uint32_t i = 0; i < 3; ++i) {
    CHECK(requester.submitted[i].length == (i == 2 ? 1 : mtu));
    CHECK(exrnic_ddp_untagged_mo(requester.submitted[i].ddp.data()) == i * mtu);
  }
}

TEST_CASE("Messages of a queue pair are numbered one by one, whatever their length") {
  Requester requester;
  uint32_t slot = 0;
  slot += put(requester, slot, work(EXRNIC_WQE_OPCODE_SEND), one(3 * kMtu));
  slot += put(requester, slot, work(EXRNIC_WQE_OPCODE_SEND), {});
  slot += put(requester, slot, work(EXRNIC_WQE_OPCODE_PUSH), one(1));
  slot += put(requester, slot, work(EXRNIC_WQE_OPCODE_PUSH_IMM), one(1));
  slot += put(requester, slot, work(EXRNIC_WQE_OPCODE_SEND_IMM), one(1));
  requester.qps[kQpn] = sending_qp(0, static_cast<uint16_t>(slot));
  requester.qps[kQpn].sq.send_msn = 0xfffffffe;
  requester.turn(kQpn);
  std::vector<uint64_t> numbers;
  for (const TxDesc& desc : requester.submitted)
    if (desc.untagged) numbers.push_back(msn(desc));
  CHECK(numbers == std::vector<uint64_t>{0xffffffff, 0xffffffff, 0xffffffff, 0, 1, 2});
  CHECK(requester.qps[kQpn].sq.send_msn == 2);
  CHECK(requester.qps[kQpn].sq.issued == 5);
}

TEST_CASE("The kind of a SEND and its solicited flag make the RDMAP opcode") {
  const auto [wqe_opcode, flags, expected] = GENERATE(table<uint8_t, uint8_t, uint8_t>(
      {{EXRNIC_WQE_OPCODE_SEND, 0, EXRNIC_RDMAP_OPCODE_SEND},
       {EXRNIC_WQE_OPCODE_SEND, kSolicited, EXRNIC_RDMAP_OPCODE_SEND_SE},
       {EXRNIC_WQE_OPCODE_SEND_IMM, 0, EXRNIC_RDMAP_OPCODE_SEND},
       {EXRNIC_WQE_OPCODE_SEND_IMM, kSolicited, EXRNIC_RDMAP_OPCODE_SEND_SE},
       {EXRNIC_WQE_OPCODE_SEND_INVALIDATE, 0, EXRNIC_RDMAP_OPCODE_SEND_INVALIDATE},
       {EXRNIC_WQE_OPCODE_SEND_INVALIDATE, kSolicited, EXRNIC_RDMAP_OPCODE_SEND_SE_INVALIDATE}}));
  CAPTURE(int{wqe_opcode}, int{flags});
  Requester requester;
  exrnic_wqe wqe = work(wqe_opcode);
  wqe.flags |= flags;
  if (wqe_opcode != EXRNIC_WQE_OPCODE_SEND) wqe.imm_data = 0x01020304;
  execute(requester, wqe, one(kMtu + 1));
  REQUIRE(requester.submitted.size() == 2);
  for (const TxDesc& desc : requester.submitted) {
    CHECK(opcode(desc) == expected);
    CHECK(exrnic_ddp_untagged_invalidate_stag(desc.ddp.data()) ==
          (wqe_opcode == EXRNIC_WQE_OPCODE_SEND_INVALIDATE ? 0x01020304 : 0));
    const bool has_imm = wqe_opcode == EXRNIC_WQE_OPCODE_SEND_IMM && last(desc);
    CHECK(desc.imm_valid == has_imm);
    CHECK(desc.imm == (has_imm ? 0x01020304 : 0));
  }
}

// ---- PUSH with immediate data

TEST_CASE("A PUSH_IMM is an RDMA Write and an Immediate Data message, of which the last ends it") {
  const auto length = GENERATE(0u, 1u, kMtu, kMtu + 1);
  const auto solicited = GENERATE(false, true);
  CAPTURE(length, solicited);
  Requester requester;
  exrnic_wqe wqe = work(EXRNIC_WQE_OPCODE_PUSH_IMM);
  wqe.imm_data = 0xa1b2c3d4;
  if (solicited) wqe.flags |= kSolicited;
  execute(requester, wqe, one(length));
  const std::size_t writes = length <= kMtu ? 1 : 2;
  REQUIRE(requester.submitted.size() == writes + 1);
  for (std::size_t i = 0; i < writes; ++i) {
    const TxDesc& desc = requester.submitted[i];
    CHECK_FALSE(desc.untagged);
    CHECK(exrnic_ddp_tagged_opcode(desc.ddp.data()) == EXRNIC_RDMAP_OPCODE_WRITE);
    CHECK(exrnic_ddp_tagged_last(desc.ddp.data()) == (i + 1 == writes));
    CHECK(desc.tag.kind == kTxKindSegment);
  }
  const TxDesc& immediate = requester.submitted.back();
  CHECK(immediate.untagged);
  CHECK(opcode(immediate) ==
        (solicited ? EXRNIC_RDMAP_OPCODE_IMMEDIATE_SE : EXRNIC_RDMAP_OPCODE_IMMEDIATE));
  CHECK(last(immediate) == 1);
  CHECK(exrnic_ddp_untagged_qn(immediate.ddp.data()) == EXRNIC_SEND_QN);
  CHECK(msn(immediate) == 1);
  CHECK(exrnic_ddp_untagged_mo(immediate.ddp.data()) == 0);
  CHECK(immediate.inlined);
  CHECK(immediate.length == EXRNIC_IMMEDIATE_BYTES);
  CHECK(std::vector<uint8_t>(immediate.inline_data.begin(), immediate.inline_data.begin() + 8) ==
        std::vector<uint8_t>{0, 0, 0, 0, 0xa1, 0xb2, 0xc3, 0xd4});
  CHECK(immediate.tag.kind == kTxKindLast);
  CHECK(immediate.tag.opcode == EXRNIC_WQE_OPCODE_PUSH_IMM);
  CHECK(immediate.tag.byte_length == length);
  CHECK(requester.qps[kQpn].sq.issued == 1);
  CHECK(requester.qps[kQpn].sq.progress == 0);
}

// ---- Inline data

TEST_CASE("Inline data comes from the work request, without any look-up") {
  const auto length = GENERATE(0u, 1u, 31u, 32u, 33u, 63u, 64u);
  const auto wqe_opcode = GENERATE(EXRNIC_WQE_OPCODE_PUSH, EXRNIC_WQE_OPCODE_SEND);
  const auto slot = GENERATE(uint16_t{0}, uint16_t{63}, uint16_t{255});
  CAPTURE(length, wqe_opcode, slot);
  Requester requester;
  const unsigned slots =
      put_inline(requester, slot, work(static_cast<uint8_t>(wqe_opcode)), length);
  requester.qps[kQpn] = sending_qp(slot, static_cast<uint16_t>(slots));
  requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 1);
  const TxDesc& desc = requester.submitted[0];
  CHECK_FALSE(desc.unsent);
  CHECK(desc.inlined);
  CHECK(desc.length == length);
  for (uint32_t i = 0; i < length; ++i) CHECK(desc.inline_data[i] == i + 1);
  CHECK(desc.tag.wqe_index == static_cast<uint16_t>(slot + slots - 1));
  CHECK(requester.payload_reads.empty());
  CHECK(requester.xlate.requests.empty());
}

TEST_CASE("A PUSH_IMM may have its bytes inline") {
  Requester requester;
  put_inline(requester, 0, work(EXRNIC_WQE_OPCODE_PUSH_IMM), 5);
  requester.qps[kQpn] = sending_qp(0, 1);
  requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 2);
  CHECK(requester.submitted[0].length == 5);
  CHECK(requester.submitted[0].inline_data[4] == 5);
  CHECK(requester.submitted[1].untagged);
  CHECK(requester.submitted[1].length == EXRNIC_IMMEDIATE_BYTES);
}

// ---- Elements

TEST_CASE("Up to sixteen elements are gathered, across slots, pages and the end of the ring") {
  const uint32_t seed = 20261121;
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 60; ++round) {
    Requester requester(random());
    requester.dut().settings_mtu_i = EXRNIC_MTU_MIN + EXRNIC_MTU_STEP * (random() % kMtus);
    std::vector<exrnic_sge> elements(random() % (EXRNIC_MAX_SGE + 1));
    for (std::size_t i = 0; i < elements.size(); ++i)
      elements[i] = {0x10000 * (i + 1) + random() % 8192,
                     static_cast<uint32_t>(random() % 3 == 0 ? 0 : random() % 1500), kStag0};
    const auto slot = static_cast<uint16_t>(random() % 4 == 0 ? 253 : random() % 256);
    CAPTURE(round, elements.size(), slot);
    execute(requester, work(EXRNIC_WQE_OPCODE_SEND), elements, slot);
    CHECK(gathered(requester) == sources_of(elements));
    CHECK_FALSE(requester.submitted.back().unsent);
    const Qp& qp = requester.qps[kQpn];
    CHECK(qp.sq.consumer == qp.sq_producer);
    CHECK(requester.submitted.back().tag.wqe_index == static_cast<uint16_t>(qp.sq_producer - 1));
  }
}

TEST_CASE("Work requests of several slots follow each other in a batch") {
  Requester requester;
  uint32_t slot = 0;
  const std::vector<exrnic_sge> three(3, {0x10000, 10, kStag0});
  const std::vector<exrnic_sge> seven(7, {0x20000, 10, kStag0});
  slot += put(requester, slot, work(EXRNIC_WQE_OPCODE_PUSH), three);
  slot += put(requester, slot, work(EXRNIC_WQE_OPCODE_SEND), seven);
  slot += put(requester, slot, work(EXRNIC_WQE_OPCODE_PUSH), one(7));
  requester.qps[kQpn] = sending_qp(0, static_cast<uint16_t>(slot));
  requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 3);
  CHECK(requester.submitted[0].tag.wqe_index == 1);
  CHECK(requester.submitted[1].tag.wqe_index == 4);
  CHECK(requester.submitted[2].tag.wqe_index == 5);
  CHECK(requester.submitted[1].length == 70);
  CHECK(requester.wqe_reads.size() == 1);
}

TEST_CASE("Work of all shapes comes out in order, whatever is next to it in the ring") {
  const uint32_t seed = 20261122;
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 20; ++round) {
    Requester requester(random());
    requester.dut().queues_others_wait_i = random() % 2;
    const auto first = static_cast<uint16_t>(random());
    uint32_t slot = first;
    std::vector<exrnic_sge> elements;
    std::vector<std::pair<uint16_t, uint32_t>> inlined;  // last slot and length of each
    while (slot - first < 150) {
      const exrnic_wqe wqe = work(random() % 2 ? EXRNIC_WQE_OPCODE_PUSH : EXRNIC_WQE_OPCODE_SEND);
      if (random() % 3 == 0) {
        const uint32_t length = random() % 65;
        slot += put_inline(requester, slot, wqe, length);
        inlined.emplace_back(slot - 1, length);
        continue;
      }
      const std::size_t begin = elements.size();
      const std::size_t count = random() % 2 ? 1 : random() % (EXRNIC_MAX_SGE + 1);
      for (std::size_t i = 0; i < count; ++i)
        elements.push_back({0x10000 + random() % 0x100000, random() % 8 ? 40u : 2200u, kStag0});
      slot += put(requester, slot, wqe, {elements.begin() + begin, elements.end()});
    }
    CAPTURE(round, first, slot - first);
    requester.qps[kQpn] = sending_qp(first, static_cast<uint16_t>(slot - first));
    for (unsigned turns = 0; turns <= requester.wakes.size(); ++turns) requester.turn(kQpn);
    CHECK(requester.qps[kQpn].sq.consumer == static_cast<uint16_t>(slot));
    std::vector<std::pair<uint16_t, uint32_t>> came;
    for (const TxDesc& desc : requester.submitted)
      if (desc.inlined) came.emplace_back(desc.tag.wqe_index, desc.length);
    CHECK(came == inlined);
    for (TxDesc& desc : requester.submitted) {
      CHECK_FALSE(desc.unsent);
      if (desc.inlined) desc.length = 0;  // no payload is read for them
    }
    CHECK(gathered(requester) == sources_of(elements));
  }
}

TEST_CASE(
    "A work request in two blocks of its ring is executed as a whole, while others wait, too") {
  Requester requester;
  requester.dut().queues_others_wait_i = 1;
  uint32_t slot = 0;
  for (int i = 0; i < 6; ++i) slot += put(requester, slot, push(0), one(1));
  slot += put(requester, slot, push(0), std::vector<exrnic_sge>(7, {0x20000, 10, kStag0}));
  requester.qps[kQpn] = sending_qp(0, static_cast<uint16_t>(slot));
  for (int turn = 0; turn < 3; ++turn) requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 7);
  CHECK(requester.submitted[6].length == 70);
  CHECK(requester.qps[kQpn].sq.consumer == 9);
}

// ---- LOCAL_INVALIDATE

TEST_CASE("LOCAL_INVALIDATE asks for the invalidation and takes a slot that is not sent") {
  const auto verdict = GENERATE(kXlateOk, kXlateStag, kXlateStream);
  Requester requester;
  requester.region = [&](const XlateReq&) { return XlateRsp{verdict, 0, 0}; };
  exrnic_wqe wqe = work(EXRNIC_WQE_OPCODE_LOCAL_INVALIDATE);
  wqe.imm_data = 0x77665544;
  execute(requester, wqe, {});
  const XlateReq& request = requester.xlate.requests.back();
  CHECK(request.invalidate);
  CHECK_FALSE(request.ring);
  CHECK(request.stag == 0x77665544);
  CHECK(request.pd == kPd);
  CHECK(request.access == 0);
  REQUIRE(requester.submitted.size() == 1);
  const TxDesc& desc = requester.submitted[0];
  const bool good = verdict == kXlateOk;
  CHECK(desc.unsent);
  CHECK(desc.status == (good ? EXRNIC_CQE_STATUS_SUCCESS : EXRNIC_CQE_STATUS_LOC_PROT_ERR));
  CHECK(desc.length == 0);
  CHECK(desc.tag.kind == kTxKindLast);
  CHECK(desc.tag.opcode == EXRNIC_WQE_OPCODE_LOCAL_INVALIDATE);
  CHECK(requester.qps[kQpn].sq.halted == !good);
  CHECK(requester.qps[kQpn].sq.issued == 1);
  CHECK(requester.events[EXRNIC_COUNTER_WQE_ERRORS] == !good);
}

TEST_CASE(
    "An invalidation that was done ends as such in a queue pair that went to ERROR meanwhile") {
  const auto verdict = GENERATE(kXlateOk, kXlateStag);
  Requester requester;
  requester.region = [&](const XlateReq&) { return XlateRsp{verdict, 0, 0}; };
  put(requester, 0, work(EXRNIC_WQE_OPCODE_LOCAL_INVALIDATE), {});
  put(requester, 1, work(EXRNIC_WQE_OPCODE_LOCAL_INVALIDATE), {});
  requester.qps[kQpn] = sending_qp(0, 2);
  requester.slots_left = false;
  requester.begin_turn(kQpn);
  for (int i = 0; i < 1000; ++i) requester.cycle();
  REQUIRE(requester.xlate.requests.back().invalidate);
  const auto looked_up = requester.xlate.requests.size();
  requester.qps[kQpn].status.state = EXRNIC_QP_STATE_ERROR;
  requester.slots_left = true;
  requester.rest();
  for (int i = 0; i < 4 && requester.qps[kQpn].sq.consumer != 2; ++i) requester.turn(kQpn);
  std::vector<uint8_t> ends;
  for (const TxDesc& desc : requester.submitted)
    if (desc.tag.kind == kTxKindLast) ends.push_back(desc.status);
  const uint8_t first =
      verdict == kXlateOk ? EXRNIC_CQE_STATUS_SUCCESS : EXRNIC_CQE_STATUS_WR_FLUSH_ERR;
  CHECK(ends == std::vector<uint8_t>{first, EXRNIC_CQE_STATUS_WR_FLUSH_ERR});
  for (auto at = looked_up; at < requester.xlate.requests.size(); ++at)
    CHECK_FALSE(requester.xlate.requests[at].invalidate);
}

// ---- FAST_REGISTER

exrnic_wqe registration() {
  exrnic_wqe wqe{};
  wqe.opcode = EXRNIC_WQE_OPCODE_FAST_REGISTER;
  wqe.num_slots = 1;
  wqe.imm_data = 0x77665544;
  wqe.remote_to = 0x1234567890;
  wqe.remote_stag = EXRNIC_ACCESS_REMOTE_READ;
  wqe.sge0_address = 0x1'0000'0001;
  wqe.sge0_length = EXRNIC_HUGE_PAGE_SHIFT;
  wqe.sge1_address = 0xabcdef00;
  return wqe;
}

TEST_CASE("FAST_REGISTER asks for the registration and takes a slot that is not sent") {
  const auto verdict = GENERATE(kXlateOk, kXlateStag, kXlateStream);
  Requester requester;
  requester.region = [&](const XlateReq&) { return XlateRsp{verdict, 0, 0}; };
  requester.ring[0] = registration();
  requester.qps[kQpn] = sending_qp(0, 1);
  requester.turn(kQpn);
  const XlateReq& request = requester.xlate.requests.back();
  CHECK(request.registers);
  CHECK_FALSE(request.invalidate);
  CHECK_FALSE(request.ring);
  CHECK(request.stag == 0x77665544);
  CHECK(request.pd == kPd);
  CHECK(request.access == EXRNIC_ACCESS_REMOTE_READ);
  CHECK(request.to == 0x1234567890);
  CHECK(request.size == 0x1'0000'0001);
  CHECK(request.huge_pages);
  CHECK(request.pbl_address == 0xabcdef00);
  REQUIRE(requester.submitted.size() == 1);
  const bool good = verdict == kXlateOk;
  CHECK(requester.submitted[0].unsent);
  CHECK(requester.submitted[0].status ==
        (good ? EXRNIC_CQE_STATUS_SUCCESS : EXRNIC_CQE_STATUS_LOC_PROT_ERR));
  CHECK(requester.submitted[0].tag.opcode == EXRNIC_WQE_OPCODE_FAST_REGISTER);
  CHECK(requester.qps[kQpn].sq.halted == !good);
}

// ---- BIND_MW

exrnic_wqe bind() {
  exrnic_wqe wqe{};
  wqe.opcode = EXRNIC_WQE_OPCODE_BIND_MW;
  wqe.num_slots = 1;
  wqe.imm_data = 0x77665544;
  wqe.remote_to = 0x1234567890;
  wqe.remote_stag = EXRNIC_ACCESS_REMOTE_READ;
  wqe.sge0_address = 0x1'0000'0001;
  wqe.sge0_stag = 0x11223344;
  return wqe;
}

TEST_CASE("BIND_MW asks for the bind to its queue pair and takes a slot that is not sent") {
  const auto verdict = GENERATE(kXlateOk, kXlateStag, kXlateStream, kXlateAccess, kXlateBounds);
  Requester requester;
  requester.region = [&](const XlateReq&) { return XlateRsp{verdict, 0, 0}; };
  requester.ring[0] = bind();
  requester.qps[kQpn] = sending_qp(0, 1);
  requester.turn(kQpn);
  const XlateReq& request = requester.xlate.requests.back();
  CHECK(request.binds);
  CHECK_FALSE(request.registers);
  CHECK_FALSE(request.invalidate);
  CHECK_FALSE(request.ring);
  CHECK(request.stag == 0x77665544);
  CHECK(request.region == 0x11223344);
  CHECK(request.qpn == kQpn);
  CHECK(request.generation == requester.qps[kQpn].cfg.generation);
  CHECK(request.pd == kPd);
  CHECK(request.access == EXRNIC_ACCESS_REMOTE_READ);
  CHECK(request.to == 0x1234567890);
  CHECK(request.size == 0x1'0000'0001);
  REQUIRE(requester.submitted.size() == 1);
  const bool good = verdict == kXlateOk;
  CHECK(requester.submitted[0].unsent);
  CHECK(requester.submitted[0].status ==
        (good ? EXRNIC_CQE_STATUS_SUCCESS : EXRNIC_CQE_STATUS_MW_BIND_ERR));
  CHECK(requester.submitted[0].tag.opcode == EXRNIC_WQE_OPCODE_BIND_MW);
  CHECK(requester.qps[kQpn].sq.halted == !good);
}

TEST_CASE("What a memory window cannot become is refused before anybody is asked") {
  exrnic_wqe wqe = bind();
  SECTION("no bytes") { wqe.sge0_address = 0; }
  SECTION("beyond the last byte there is") { wqe.sge0_address = 1 - wqe.remote_to; }
  SECTION("pages") { wqe.sge0_length = EXRNIC_PAGE_SHIFT; }
  SECTION("a list") { wqe.sge1_address = EXRNIC_PBL_LINE_SIZE; }
  SECTION("rights of its owner") { wqe.remote_stag |= EXRNIC_ACCESS_LOCAL_WRITE; }
  SECTION("windows on it") { wqe.remote_stag |= EXRNIC_ACCESS_MW_BIND; }
  SECTION("a second one") { wqe.sge1_stag = 1; }
  SECTION("more") { wqe.sge1_length = 1; }
  SECTION("a length") { wqe.length = 1; }
  SECTION("an element") { wqe.num_sge = 1; }
  SECTION("inline") { wqe.flags |= EXRNIC_WQE_FLAGS_INLINE; }
  SECTION("solicited") { wqe.flags |= EXRNIC_WQE_FLAGS_SOLICITED; }
  Requester requester;
  requester.ring[0] = wqe;
  requester.qps[kQpn] = sending_qp(0, 1);
  requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 1);
  CHECK(requester.submitted[0].status == EXRNIC_CQE_STATUS_LOC_QP_OP_ERR);
  for (const XlateReq& request : requester.xlate.requests) CHECK_FALSE(request.binds);
}

TEST_CASE("What a region cannot become is refused before anybody is asked") {
  exrnic_wqe wqe = registration();
  SECTION("no bytes") { wqe.sge0_address = 0; }
  SECTION("beyond the last byte there is") { wqe.sge0_address = 1 - wqe.remote_to; }
  SECTION("other pages") { wqe.sge0_length = 13; }
  SECTION("other rights") { wqe.remote_stag = 0x20; }
  SECTION("a list that begins amid a line") { wqe.sge1_address += EXRNIC_PBL_ENTRY_SIZE; }
  SECTION("an STag") { wqe.sge0_stag = 1; }
  SECTION("a second one") { wqe.sge1_stag = 1; }
  SECTION("more") { wqe.sge1_length = 1; }
  SECTION("a length") { wqe.length = 1; }
  SECTION("an element") { wqe.num_sge = 1; }
  SECTION("inline") { wqe.flags |= EXRNIC_WQE_FLAGS_INLINE; }
  SECTION("solicited") { wqe.flags |= EXRNIC_WQE_FLAGS_SOLICITED; }
  Requester requester;
  requester.ring[0] = wqe;
  requester.qps[kQpn] = sending_qp(0, 1);
  requester.turn(kQpn);
  REQUIRE(requester.submitted.size() == 1);
  CHECK(requester.submitted[0].status == EXRNIC_CQE_STATUS_LOC_QP_OP_ERR);
  for (const XlateReq& request : requester.xlate.requests) CHECK_FALSE(request.registers);
}

TEST_CASE("A region may end with the last byte there is") {
  Requester requester;
  exrnic_wqe wqe = registration();
  wqe.sge0_address = -wqe.remote_to;
  requester.ring[0] = wqe;
  requester.qps[kQpn] = sending_qp(0, 1);
  requester.turn(kQpn);
  CHECK(requester.submitted.at(0).status == EXRNIC_CQE_STATUS_SUCCESS);
}

TEST_CASE("Unsignaled work says so in its tag") {
  Requester requester;
  exrnic_wqe wqe = work(EXRNIC_WQE_OPCODE_SEND);
  wqe.flags &= ~kSignaled;
  execute(requester, wqe, one(1));
  CHECK_FALSE(requester.submitted.at(0).tag.signaled);
}

}  // namespace
}  // namespace exrnic::testing
