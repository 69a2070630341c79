// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <iterator>

#include "rtl-model/tiles/work/responder/responder_bench.h"

namespace exrnic::testing {
namespace {

using Bytes = std::vector<uint8_t>;

TEST_CASE("A segment within a page is placed by one write that ends its frame") {
  Responder responder;
  responder.qps[kQpn] = receiving_qp();
  responder.receive(write_segment(1000));
  REQUIRE(responder.writes.size() == 1);
  const DmaWriteCmd& write = responder.writes[0];
  CHECK(write.kind == kDmaWriteFrame);
  CHECK(write.address == kPageFrames + 0x10000);
  CHECK(write.length == 1000);
  CHECK(write.src == 0x1230 + 14);
  CHECK(write.frame_done);
  CHECK(write.node == kPeer);
  REQUIRE(responder.xlate.requests.size() == 1);
  const XlateReq& request = responder.xlate.requests[0];
  CHECK_FALSE(request.ring);
  CHECK(request.stag == 0xa1b2c3d4);
  CHECK(request.pd == kPd);
  CHECK(request.qpn == kQpn);
  CHECK(request.generation == responder.qps[kQpn].cfg.generation);
  CHECK(request.access == EXRNIC_ACCESS_REMOTE_WRITE);
  CHECK(request.to == 0x10000);
  CHECK(request.length == 1000);
  CHECK(responder.refusals.empty());
  CHECK(responder.events[EXRNIC_COUNTER_SEGMENTS_PLACED] == 1);
}

TEST_CASE("A segment that crosses pages is placed page by page; only the last write ends it") {
  Responder responder;
  responder.qps[kQpn] = receiving_qp();
  RxDesc desc = write_segment(4096);
  desc.ddp[12] = 0x0f, desc.ddp[13] = 0xf0;  // TO 0x10ff0
  desc.start = kRxBytes - 20;
  responder.receive(desc);
  REQUIRE(responder.writes.size() == 2);
  CHECK(responder.writes[0].address == kPageFrames + 0x10ff0);
  CHECK(responder.writes[0].length == 16);
  CHECK(responder.writes[0].src == kRxBytes - 6);
  CHECK(responder.writes[1].address == kPageFrames + 0x11000);
  CHECK(responder.writes[1].length == 4080);
  CHECK(responder.writes[1].src == 10);  // the buffer is a ring
  CHECK(responder.order == "wwd");
  CHECK(responder.events[EXRNIC_COUNTER_SEGMENTS_PLACED] == 1);
}

TEST_CASE("An empty segment is placed without a look at its STag") {
  Responder responder;
  responder.qps[kQpn] = receiving_qp();
  responder.receive(write_segment(0));
  CHECK(responder.order == "d");
  CHECK(responder.xlate.requests.empty());
  CHECK(responder.events[EXRNIC_COUNTER_SEGMENTS_PLACED] == 1);
}

TEST_CASE("A queue pair that is ready to receive need not be ready to send") {
  Responder responder;
  responder.qps[kQpn] = receiving_qp();
  responder.qps[kQpn].status.state = EXRNIC_QP_STATE_RTR;
  responder.receive(write_segment(1));
  CHECK(responder.order == "wd");
}

TEST_CASE("A refusal names its segment, whom to tell, why, and how the segment began") {
  Responder responder;
  responder.qps[kQpn] = receiving_qp();
  responder.region = [](const XlateReq&) { return refuse(kXlateBounds); };
  const RxDesc desc = write_segment(0x123);
  responder.receive(desc);
  REQUIRE(responder.refusals.size() == 1);
  const Refusal& refusal = responder.refusals[0];
  CHECK(refusal.node == kPeer);
  CHECK(refusal.seq == kSeq);
  CHECK(refusal.dst_qpn == kPeerQpn);
  CHECK(refusal.src_qpn == kQpn);
  CHECK(refusal.dst_generation == desc.src_generation);
  CHECK(refusal.src_generation == desc.dst_generation);
  CHECK(refusal.code == EXRNIC_TERM_CODE_TAGGED_BOUNDS);
  CHECK_FALSE(refusal.rnr);
  CHECK(refusal.length == EXRNIC_DDP_TAGGED_BYTES + 0x123);
  CHECK(std::equal(refusal.quote.begin(), refusal.quote.end(), desc.ddp.begin()));
}

TEST_CASE("A refusal takes the queue pair to ERROR and holds back the acknowledgement") {
  Responder responder;
  responder.qps[kQpn] = receiving_qp();
  responder.region = [](const XlateReq&) { return refuse(kXlateStag); };
  responder.receive(write_segment(64));
  CHECK(responder.order == "rsd");  // it is in force before the frame counts as placed
  const QpStatus& status = responder.qps[kQpn].status;
  CHECK(status.state == EXRNIC_QP_STATE_ERROR);
  CHECK_FALSE(status.fault);
  CHECK_FALSE(status.exact);
  CHECK(status.told);
  CHECK(responder.qp_errors == 1);
  CHECK(responder.wakes == std::vector<unsigned>{kQpn});
  CHECK(responder.events[EXRNIC_COUNTER_SEGMENTS_PLACED] == 0);
}

TEST_CASE("A refusal leaves no trace in the next segment, of another queue pair") {
  Responder responder;
  responder.qps[kQpn] = responder.qps[kQpn + 1] = receiving_qp();
  responder.qps[kQpn].cfg.pd++;
  responder.region = [](const XlateReq& request) {
    return request.pd == kPd ? translate_in_place(request) : refuse(kXlateStream);
  };
  responder.receive(write_segment(64));
  RxDesc next = write_segment(64);
  next.dst_qpn++;
  responder.receive(next);
  CHECK(responder.order == "rsdwd");
  CHECK(responder.events[EXRNIC_COUNTER_SEGMENTS_PLACED] == 1);
  RxDesc terminate = terminate_segment(0x207);
  terminate.dst_qpn++;
  responder.receive(terminate);
  CHECK_FALSE(responder.qps[kQpn + 1].status.told);
}

TEST_CASE("Each refusal of the look-up has its terminate code") {
  const auto [status, code] = GENERATE(table<XlateStatus, uint16_t>({{kXlateStag, 0x1100},
                                                                     {kXlateBounds, 0x1101},
                                                                     {kXlateStream, 0x1102},
                                                                     {kXlateWrap, 0x1103},
                                                                     {kXlateAccess, 0x0102},
                                                                     {kXlateMemory, 0x0207}}));
  Responder responder;
  responder.qps[kQpn] = receiving_qp();
  responder.region = [status = status](const XlateReq&) { return refuse(status); };
  responder.receive(write_segment(64));
  CHECK(responder.refusal_code() == code);
  CHECK(responder.order == "rsd");
}

TEST_CASE(
    "A write needs its right of the queue pair, and nothing is looked up without; none if empty") {
  Responder responder;
  responder.qps[kQpn] = receiving_qp();
  responder.qps[kQpn].cfg.access = EXRNIC_ACCESS_REMOTE_READ | EXRNIC_ACCESS_REMOTE_ATOMIC;
  responder.receive(write_segment(0));
  CHECK(responder.order == "d");
  responder.receive(write_segment(64));
  CHECK(responder.refusal_code() == EXRNIC_TERM_CODE_ACCESS);
  CHECK(responder.order == "drsd");
  CHECK(responder.xlate.requests.empty());
  CHECK(responder.qps[kQpn].status.state == EXRNIC_QP_STATE_ERROR);
}

TEST_CASE("A segment refused in its second page is refused once, as a whole") {
  Responder responder;
  responder.qps[kQpn] = receiving_qp();
  responder.region = [](const XlateReq& request) {
    return request.to == 0x10000 ? translate_in_place(request) : refuse(kXlateMemory);
  };
  responder.receive(write_segment(4097));
  CHECK(responder.order == "wrsd");
  CHECK(responder.events[EXRNIC_COUNTER_SEGMENTS_PLACED] == 0);
}

TEST_CASE("Each header that cannot be served has its terminate code, and nothing is looked up") {
  RxDesc desc = write_segment(64);
  const RxDesc send = send_segment(1, 0, 64);
  const RxDesc immediate = immediate_segment(1, 0);
  const RxDesc request = read_request_segment(1, 64);
  uint16_t code = 0;
  SECTION("tagged, DDP version 0") { desc.ddp[0] = 0xc0, code = 0x1104; }
  SECTION("tagged, DDP version 2") { desc.ddp[0] = 0xc2, code = 0x1104; }
  SECTION("tagged, RDMAP version 0") { desc.ddp[1] = 0x00, code = 0x0205; }
  SECTION("tagged, RDMAP version 3") { desc.ddp[1] = 0xc0, code = 0x0205; }
  SECTION("tagged terminate") { desc.ddp[1] = 0x47, code = 0x0206; }
  SECTION("tagged, reserved opcode") { desc.ddp[1] = 0x4f, code = 0x0206; }
  SECTION("tagged send") { desc.ddp[1] = 0x43, code = 0x0206; }
  SECTION("untagged write") { desc = send, desc.ddp[1] = 0x40, code = 0x0206; }
  SECTION("untagged read response") { desc = send, desc.ddp[1] = 0x42, code = 0x0206; }
  SECTION("atomic request") { desc = send, desc.ddp[1] = 0x4a, desc.ddp[9] = 1, code = 0x0206; }
  SECTION("send to QN 1") { desc = send, desc.ddp[9] = 1, code = 0x0206; }
  SECTION("send with invalidate to QN 2") {
    desc = send, desc.ddp[1] = 0x44, desc.ddp[9] = 2, code = 0x0206;
  }
  SECTION("immediate data to QN 1") { desc = immediate, desc.ddp[9] = 1, code = 0x0206; }
  SECTION("immediate data that goes on") { desc = immediate, desc.ddp[0] = 0x01, code = 0x0206; }
  SECTION("immediate data of 4 bytes") { desc = immediate, desc.length -= 4, code = 0x0206; }
  SECTION("read request to QN 0") { desc = request, desc.ddp[9] = 0, code = 0x0206; }
  SECTION("read request that goes on") { desc = request, desc.ddp[0] = 0x01, code = 0x0206; }
  SECTION("short read request") { desc = request, desc.length--, code = 0x0206; }
  SECTION("long read request") { desc = request, desc.length++, code = 0x0206; }
  SECTION("QN 3, of Atomic Responses") { desc = send, desc.ddp[9] = 3, code = 0x0206; }
  SECTION("QN 4") { desc = send, desc.ddp[9] = 4, code = 0x1201; }
  SECTION("QN 2^31") { desc = send, desc.ddp[6] = 0x80, code = 0x1201; }
  SECTION("untagged, DDP version 3") { desc = send, desc.ddp[0] = 0x43, code = 0x1206; }
  SECTION("untagged, RDMAP version 2") { desc = send, desc.ddp[1] = 0x83, code = 0x0205; }
  Responder responder;
  responder.qps[kQpn] = receiving_qp();
  responder.receive(desc);
  CHECK(responder.refusal_code() == code);
  CHECK(responder.order == "rsd");
  CHECK(responder.xlate.requests.empty());
  CHECK(responder.qps[kQpn].status.state == EXRNIC_QP_STATE_ERROR);
}

TEST_CASE("Reserved bits of the headers are ignored, as the RFCs say") {
  Responder responder;
  responder.qps[kQpn] = receiving_qp();
  RxDesc desc = write_segment(64);
  desc.ddp[0] = 0xfd, desc.ddp[1] = 0x70;
  responder.receive(desc);
  CHECK(responder.order == "wd");
}

TEST_CASE("A segment for a queue pair that is not the sender's peer is refused; the pair stays") {
  Responder responder;
  Qp qp = receiving_qp();
  RxDesc desc = write_segment(64);
  SECTION("no such queue pair") { qp.cfg.valid = false; }
  SECTION("beyond the table") { desc.dst_qpn = EXRNIC_MAX_QP + kQpn; }
  SECTION("from another node") { desc.node = kPeer + 1; }
  SECTION("from another queue pair of the peer") { desc.src_qpn = kPeerQpn - 1; }
  SECTION("not yet connected") { qp.status.state = EXRNIC_QP_STATE_INIT; }
  SECTION("reset") { qp.status.state = EXRNIC_QP_STATE_RESET; }
  responder.qps[kQpn] = qp;
  responder.receive(desc);
  const Refusal& refusal = responder.refusals.at(0);
  CHECK(refusal.node == desc.node);
  CHECK(refusal.dst_qpn == desc.src_qpn);
  CHECK(refusal.src_qpn == desc.dst_qpn);
  CHECK(refusal.code == 0x0207);
  CHECK(responder.order == "rd");
  CHECK(responder.qp_errors == 0);
  CHECK(responder.wakes.empty());
  CHECK(responder.xlate.requests.empty());
}

TEST_CASE("In ERROR segments are discarded; a peer that was not told learns of it once") {
  Responder responder;
  Qp qp = receiving_qp();
  qp.status = {EXRNIC_QP_STATE_ERROR,
               true,
               EXRNIC_CQE_STATUS_LOC_PROT_ERR,
               0x4321,
               true,
               77,
               false,
               false,
               false,
               true};
  responder.qps[kQpn] = qp;
  responder.receive(write_segment(64));
  CHECK(responder.order == "rsd");
  CHECK(responder.refusal_code() == 0x0207);
  const QpStatus& status = responder.qps[kQpn].status;
  CHECK(status.told);
  CHECK(status.state == EXRNIC_QP_STATE_ERROR);
  CHECK(status.fault);  // what the oldest work request failed with is not touched
  CHECK(status.fault_status == EXRNIC_CQE_STATUS_LOC_PROT_ERR);
  CHECK(status.fault_detail == 0x4321);
  CHECK(status.exact);
  CHECK(status.fault_seq == 77);
  CHECK(status.answer_lost);
  CHECK(responder.qp_errors == 0);

  responder.receive(write_segment(64));
  CHECK(responder.order == "rsdd");
  CHECK(responder.xlate.requests.empty());
  CHECK(responder.events[EXRNIC_COUNTER_RX_DISCARDED] == 2);
  CHECK(responder.events[EXRNIC_COUNTER_SEGMENTS_PLACED] == 0);
}

// Its sender may have given up before it heard.
TEST_CASE("In ERROR a peer that was told in another session of its node is told anew, once") {
  Responder responder;
  responder.qps[kQpn] = receiving_qp();
  responder.region = [](const XlateReq&) { return refuse(kXlateStag); };
  RxDesc desc = write_segment(64);
  desc.session = 7;
  responder.receive(desc);
  CHECK(responder.order == "rsd");
  responder.receive(desc);
  CHECK(responder.order == "rsdd");
  desc.session = 8;
  responder.receive(desc);
  responder.receive(desc);
  CHECK(responder.order == "rsddrsdd");
  CHECK(responder.refusals.back().code == EXRNIC_TERM_CODE_STREAM);
  // What the requester has told has a number, and is heard like its responses.
  responder.qps[kQpn + 1] = receiving_qp();
  responder.qps[kQpn + 1].status.state = EXRNIC_QP_STATE_ERROR;
  responder.qps[kQpn + 1].status.told = true;
  ++desc.dst_qpn;
  responder.receive(desc);
  CHECK(responder.order == "rsddrsddd");
}

TEST_CASE("A refusal waits for writes under way") {
  Responder responder;
  responder.qps[kQpn] = receiving_qp();
  responder.region = [](const XlateReq&) { return refuse(kXlateStag); };
  responder.dut().write_idle_i = 0;
  responder.begin(write_segment(64));
  responder.run(100);
  CHECK(responder.order.empty());
  CHECK(responder.dut().quiescent_o);

  // The driver's commands get through meanwhile, and the refusal goes on behind them.
  responder.dut().quiesce_i = 1;
  responder.dut().write_idle_i = 1;
  responder.run(100);
  CHECK(responder.order.empty());
  CHECK(responder.dut().quiescent_o);
  responder.qps[kQpn].cfg.valid = false;  // destroyed by the command
  responder.dut().quiesce_i = 0;
  responder.rest();
  CHECK(responder.order == "rd");
  CHECK(responder.wakes.empty());
}

// Nobody waits for what only a peer gives.
TEST_CASE(
    "While another refusal is in force a segment is put off, and refused when it comes again") {
  Responder responder;
  responder.qps[kQpn] = receiving_qp();
  responder.region = [](const XlateReq&) { return refuse(kXlateStag); };
  SECTION("a right is missing") {}
  SECTION("no such queue pair") { responder.qps[kQpn].cfg.valid = false; }
  SECTION("a queue pair in ERROR") { responder.qps[kQpn].status.state = EXRNIC_QP_STATE_ERROR; }
  const bool receives = responder.qps[kQpn].status.state != EXRNIC_QP_STATE_ERROR;
  responder.in_force = true;
  responder.receive(write_segment(64));
  CHECK(responder.order == "d");
  CHECK(responder.put_offs == 1);
  CHECK(responder.events[EXRNIC_COUNTER_REFUSALS_PUT_OFF] == 1);
  CHECK_FALSE(responder.qps[kQpn].status.told);
  CHECK((responder.qps[kQpn].status.state != EXRNIC_QP_STATE_ERROR) == receives);

  RxDesc behind = write_segment(64);
  behind.stale = true;
  responder.receive(behind);
  CHECK(responder.order == "dd");
  CHECK(responder.put_offs == 1);

  responder.in_force = false;
  responder.receive(write_segment(64));
  CHECK(responder.refusals.size() == 1);
  CHECK(responder.put_offs == 1);
}

TEST_CASE("A quiesced responder takes no segment and no flush job") {
  Responder responder;
  responder.dut().quiesce_i = 1;
  pack(responder.dut().desc_data_i, write_segment(64));
  responder.dut().desc_valid_i = responder.dut().flush_valid_i = 1;
  responder.run(50);
  CHECK(responder.dut().idle_o);
  CHECK_FALSE(responder.dut().desc_ready_o);
  CHECK_FALSE(responder.dut().flush_ready_o);
}

TEST_CASE("A segment within a page takes four cycles beside those that its neighbours take") {
  Responder responder;
  responder.qps[kQpn] = receiving_qp();
  responder.begin(write_segment(64));
  long waits = 0;
  const long begun = responder.cycles();
  while (!responder.dut().idle_o) {
    responder.cycle();
    waits += responder.waited();
  }
  CHECK(responder.cycles() - begun - waits == 4);
}

TEST_CASE("A segment is taken in the cycle in which the one before it is placed") {
  Responder responder;
  responder.qps[kQpn] = receiving_qp();
  responder.begin(write_segment(64));
  responder.xlate.silent = true;
  responder.run(20);
  pack(responder.dut().desc_data_i, write_segment(64));
  responder.dut().desc_valid_i = 1;
  responder.writes_rest = true;
  responder.xlate.silent = false;
  responder.run(50);
  CHECK_FALSE(responder.dut().desc_ready_o);  // the write is not taken yet
  responder.dut().write_ready_i = 1;
  responder.settle();
  CHECK(responder.dut().desc_ready_o);
}

}  // namespace
}  // namespace exrnic::testing
