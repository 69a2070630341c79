// SPDX-License-Identifier: BSD-2-Clause
// How a message becomes segments, and where their payload comes from.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "rtl-model/tiles/work/requester/requester_bench.h"

namespace exrnic::testing {
namespace {

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
  CHECK(desc.tag.kind == kTxKindLast);
  CHECK(desc.tag.qpn == kQpn);
  CHECK(desc.tag.generation == 0x5c);
  CHECK(desc.tag.wqe_index == 0);
  CHECK(desc.tag.byte_length == 100);
  CHECK(desc.tag.signaled);
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
  for (const XlateReq& request : requester.xlate.requests) {
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
  requester.dut().settings_mtu_i = mtu;
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
    CHECK(desc.tag.kind == (last ? kTxKindLast : kTxKindSegment));
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
  requester.dut().settings_mtu_i = EXRNIC_MTU_MAX;
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
    requester.dut().settings_mtu_i = EXRNIC_MTU_MIN + EXRNIC_MTU_STEP * (random() % kMtus);
    CAPTURE(round, wqe.sge0_length, wqe.sge1_length, int{requester.dut().settings_mtu_i});
    execute(requester, wqe);
    CHECK(gathered(requester) == expected_sources(wqe));
  }
}

TEST_CASE("The longest message is no error") {
  Requester requester;
  requester.region = [](const XlateReq& request) {
    CHECK(request.length == EXRNIC_MESSAGE_MAX);
    return XlateRsp{kXlateBounds, 0, 0};
  };
  execute(requester, push(EXRNIC_MESSAGE_MAX));
  CHECK(requester.submitted.at(0).status == EXRNIC_CQE_STATUS_LOC_PROT_ERR);
}

TEST_CASE("What follows a local region that refuses is not sent, what came before is") {
  Requester requester;
  requester.region = [](const XlateReq& request) {
    if (request.stag == kStag1) return XlateRsp{kXlateAccess, 0, 0};
    return translate_in_place(request);
  };
  execute(requester, gather(kMtu + 10, 2 * kMtu));
  REQUIRE(requester.submitted.size() == 2);
  CHECK(requester.submitted[0].status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(requester.submitted[0].tag.kind == kTxKindSegment);
  CHECK(requester.submitted[1].status == EXRNIC_CQE_STATUS_LOC_PROT_ERR);
  CHECK(requester.submitted[1].tag.kind == kTxKindLast);
  CHECK(requester.submitted[1].length == 10);  // asked for already, still to come into the slot
  CHECK(requester.qps[kQpn].sq.halted);
}

}  // namespace
}  // namespace exrnic::testing
