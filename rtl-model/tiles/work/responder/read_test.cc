// SPDX-License-Identifier: BSD-2-Clause
// RDMA Read Requests of the peer, responses to ours, and the flush of what is under way.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "rtl-model/tiles/work/responder/responder_bench.h"

namespace exrnic::testing {
namespace {

constexpr uint32_t kSink = 0xc0ffee00;
constexpr uint64_t kSinkTo = 0xff0000200;

struct Reader : Responder {
  Reader() { qps[kQpn] = receiving_qp(); }
};

// ---- Read Requests

TEST_CASE("A Read Request is queued, wakes the queue pair and is acknowledged") {
  Reader responder;
  const RxDesc desc = read_request_segment(1, 0x80000000);
  responder.receive(desc);
  CHECK(responder.order == "d");
  REQUIRE(responder.reads[kQpn].size() == 1);
  const Read& read = responder.reads[kQpn].front();
  CHECK(std::equal(read.request.begin(), read.request.end(), desc.ddp.begin() + 18));
  CHECK(read.msn == 1);
  CHECK(read.done == 0);
  CHECK(responder.wakes == std::vector<unsigned>{kQpn});
  CHECK(responder.xlate.requests.empty());  // its source is looked up when it is served
  CHECK(responder.events[EXRNIC_COUNTER_SEGMENTS_PLACED] == 0);
  responder.receive(read_request_segment(2, 0));
  CHECK(responder.reads[kQpn].at(1).msn == 2);
}

TEST_CASE("A Read Request waits for the writes before it, and goes by what is there then") {
  Reader responder;
  responder.dut().write_idle_i = 0;
  responder.begin(read_request_segment(1, 64));
  responder.run(100);
  CHECK(responder.order.empty());
  CHECK(responder.wakes.empty());
  CHECK(responder.reads[kQpn].empty());
  CHECK_FALSE(responder.dut().quiescent_o);
  const bool fails = GENERATE(true, false);
  if (fails) {
    responder.qps[kQpn].status.state = EXRNIC_QP_STATE_ERROR;
    responder.qps[kQpn].status.told = true;
  }
  responder.dut().write_idle_i = 1;
  responder.rest();
  CHECK(responder.order == "d");
  CHECK(responder.reads[kQpn].size() == (fails ? 0 : 1));
  CHECK(responder.wakes.size() == (fails ? 0 : 1));
}

TEST_CASE("A Read Request that is refused has its code, and is left to the requester to tell") {
  Reader responder;
  responder.receive(read_request_segment(1, 64));
  RxDesc desc = read_request_segment(2, 64);
  uint16_t code = 0;
  SECTION("message again") { desc = read_request_segment(1, 64), code = 0x1203; }
  SECTION("message left out") { desc = read_request_segment(3, 64), code = 0x1203; }
  SECTION("offset") { desc.ddp[17] = 1, code = 0x1204; }
  SECTION("too long") { desc = read_request_segment(2, 0x80000001), code = 0x0101; }
  SECTION("too many") {
    responder.qps[kQpn].cfg.max_reads_in = 1;
    code = 0x1202;
  }
  SECTION("none allowed") {
    responder.reads[kQpn].clear();
    responder.qps[kQpn].cfg.max_reads_in = 0;
    code = 0x1202;
  }
  SECTION("no right to read") {
    responder.qps[kQpn].cfg.access &= ~EXRNIC_ACCESS_REMOTE_READ;
    code = 0x0102;
  }
  const auto queued = responder.reads[kQpn].size();
  responder.receive(desc);
  CHECK(responder.order == "dd");
  CHECK(responder.refusals.empty());
  CHECK(responder.reads[kQpn].size() == queued);
  CHECK(responder.wakes == std::vector<unsigned>{kQpn, kQpn});
  CHECK(responder.qps[kQpn].status.state == EXRNIC_QP_STATE_RTS);
  const RefusedRequest& refused = responder.qps[kQpn].refused;
  CHECK(refused.valid);
  CHECK(refused.code == code);
  CHECK_FALSE(refused.atomic);
  CHECK(refused.msn == exrnic_ddp_untagged_msn(desc.ddp.data()));
  CHECK(refused.mo == exrnic_ddp_untagged_mo(desc.ddp.data()));
  CHECK(std::equal(refused.request.begin(), refused.request.end(), desc.ddp.begin() + 18));
}

TEST_CASE("Requests need their right of the queue pair, and no other one; empty ones none") {
  const auto code = [](uint32_t access, const RxDesc& desc) {
    Reader responder;
    responder.qps[kQpn].cfg.access = static_cast<uint8_t>(access);
    responder.receive(desc);
    const RefusedRequest& refused = responder.qps[kQpn].refused;
    return refused.valid ? refused.code : 0;
  };
  CHECK(code(EXRNIC_ACCESS_REMOTE_READ, read_request_segment(1, 64)) == 0);
  CHECK(code(~EXRNIC_ACCESS_REMOTE_READ, read_request_segment(1, 64)) == EXRNIC_TERM_CODE_ACCESS);
  CHECK(code(0, read_request_segment(1, 0)) == 0);
  CHECK(code(EXRNIC_ACCESS_REMOTE_ATOMIC, atomic_request_segment(1)) == 0);
  CHECK(code(~EXRNIC_ACCESS_REMOTE_ATOMIC, atomic_request_segment(1)) == EXRNIC_TERM_CODE_ACCESS);
}

TEST_CASE("Behind a refused request nothing of the peer is served but answers") {
  Reader responder;
  post(responder, recv_wqe({{0x40000, 100, 1}}));
  responder.pulls[kQpn] = {{kSink, kSinkTo, 100, true, true, 0xabcd, 100}};
  responder.receive(read_request_segment(2, 64));
  responder.order.clear();
  RxDesc bad = write_segment(8);
  bad.ddp[0] = 0xc0;  // of another version
  for (const RxDesc& desc :
       {read_request_segment(1, 64), read_request_segment(2, 64), atomic_request_segment(1),
        write_segment(8), send_segment(1, 0, 8), immediate_segment(1, 0), bad})
    responder.receive(desc);
  CHECK(responder.order == "ddddddd");
  CHECK(responder.events[EXRNIC_COUNTER_RX_DISCARDED] == 7);
  CHECK(responder.reads[kQpn].empty());
  CHECK(responder.qps[kQpn].refused.msn == 2);  // the first one that was
  responder.order.clear();
  responder.receive(response_segment(kSink, kSinkTo, 100, true));
  CHECK(responder.order == "wdc");
  CHECK(responder.refusals.empty());
}

TEST_CASE("Sends and Read Requests are counted apart") {
  Reader responder;
  post(responder, recv_wqe({}));
  responder.receive(read_request_segment(1, 64));
  responder.receive(send_segment(1, 0, 0));
  responder.receive(read_request_segment(2, 64));
  CHECK(responder.refusals.empty());
}

// ---- Responses

struct Puller : Reader {
  explicit Puller(uint32_t left = 3000, bool last = true) {
    pulls[kQpn] = {{kSink, kSinkTo, left, last, true, 0xabcd, 7000},
                   {kSink + 1, 0, 1, true, false, 0xabce, 1}};
  }
};

TEST_CASE("A response is placed segment by segment; its last one ends the PULL") {
  Puller responder;
  responder.receive(response_segment(kSink, kSinkTo, 1024, false));
  CHECK(responder.pulls[kQpn].front().left == 3000 - 1024);
  CHECK(responder.pulls[kQpn].front().to == kSinkTo + 1024);
  CHECK(responder.pulls[kQpn].front().stag == kSink);
  CHECK(responder.pulls[kQpn].front().wqe_index == 0xabcd);
  responder.receive(response_segment(kSink, kSinkTo + 1024, 1976, true));
  CHECK(responder.order == "wdwdc");
  const XlateReq& request = responder.xlate.requests.at(0);
  CHECK(request.stag == kSink);
  CHECK(request.pd == kPd);
  CHECK(request.access == EXRNIC_ACCESS_LOCAL_WRITE);
  CHECK(request.to == kSinkTo);
  CHECK(request.length == 1024);
  CHECK(responder.writes.at(0).src == 0x1230 + 14);
  REQUIRE(responder.pulls[kQpn].size() == 1);
  CHECK(responder.pulls[kQpn].front().stag == kSink + 1);
  const RxDone& end = responder.ended.at(0);
  CHECK(end.qpn == kQpn);
  CHECK(end.generation == kGeneration);
  CHECK(end.opcode == EXRNIC_WQE_OPCODE_PULL);
  CHECK(end.status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(end.wqe_index == 0xabcd);
  CHECK(end.byte_length == 7000);
  CHECK(end.signaled);
  CHECK(end.flags == 0);
  CHECK(responder.wakes == std::vector<unsigned>{kQpn});
  CHECK(responder.events[EXRNIC_COUNTER_SEGMENTS_PLACED] == 2);
  CHECK(responder.events[EXRNIC_COUNTER_RECVS] == 0);
}

TEST_CASE("A PULL ends with the response of its last element only") {
  Puller responder(100, false);
  responder.receive(response_segment(kSink, kSinkTo, 100, true));
  CHECK(responder.order == "wd");
  CHECK(responder.wakes.empty());
  responder.receive(response_segment(kSink + 1, 0, 1, true));
  CHECK(responder.order == "wdwdc");
  CHECK_FALSE(responder.ended.at(0).signaled);
  CHECK(responder.wakes.size() == 1);
}

TEST_CASE("An empty response ends a PULL without bytes, and one in the middle changes nothing") {
  const uint32_t left = GENERATE(0u, 5u);
  Puller responder(left);
  responder.receive(response_segment(kSink, kSinkTo, 0, left == 0));
  CHECK(responder.order == (left == 0 ? "dc" : "d"));
  CHECK(responder.pulls[kQpn].size() == (left == 0 ? 1 : 2));
  CHECK(responder.pulls[kQpn].front().left == (left == 0 ? 1 : 5));
  CHECK(responder.xlate.requests.empty());
}

// Work behind it may begin then, and an error of that is told at once.
TEST_CASE(
    "A PULL is under way until its end is told, however long its empty answer waits for writes") {
  Puller responder(0);
  responder.writes_rest = true;
  responder.begin(response_segment(kSink, kSinkTo, 0, true));
  responder.run(200);
  CHECK(responder.ended.empty());
  CHECK(responder.pulls[kQpn].size() == 2);
  responder.writes_rest = false;
  responder.rest();
  CHECK(responder.ended.size() == 1);
  CHECK(responder.pulls[kQpn].size() == 1);
}

TEST_CASE("A response that does not answer the oldest request has its terminate code") {
  Puller responder;
  RxDesc desc = response_segment(kSink, kSinkTo, 1000, false);
  uint16_t code = 0;
  SECTION("nothing was asked for") { responder.pulls[kQpn].clear(), code = 0x1100; }
  SECTION("STag") { desc = response_segment(kSink + 1, 0, 1, true), code = 0x1100; }
  SECTION("offset") { desc.ddp[13]++, code = 0x1101; }
  SECTION("too long") { desc = response_segment(kSink, kSinkTo, 3001, true), code = 0x1101; }
  SECTION("last one too early") { desc.ddp[0] |= 0x40, code = 0x0206; }
  SECTION("all there but not the last one") {
    desc = response_segment(kSink, kSinkTo, 3000, false), code = 0x0206;
  }
  responder.receive(desc);
  CHECK(responder.order == "rsd");
  CHECK(responder.refusal_code() == code);
  CHECK(responder.xlate.requests.empty());
  CHECK(responder.ended.empty());
}

TEST_CASE("A response that its sink does not take has the terminate code of a write") {
  const auto [status, code] = GENERATE(table<XlateStatus, uint16_t>({{kXlateStag, 0x1100},
                                                                     {kXlateBounds, 0x1101},
                                                                     {kXlateStream, 0x1102},
                                                                     {kXlateWrap, 0x1103},
                                                                     {kXlateAccess, 0x0102},
                                                                     {kXlateMemory, 0x0207}}));
  Puller responder;
  responder.region = [status = status](const XlateReq&) { return refuse(status); };
  responder.receive(response_segment(kSink, kSinkTo, 1000, false));
  CHECK(responder.order == "rsd");
  CHECK(responder.refusal_code() == code);
  CHECK(responder.pulls[kQpn].size() == 2);  // for the flush
  CHECK(responder.pulls[kQpn].front().left == 3000);
}

// ---- Flush

TEST_CASE("A flush job ends one thing: PULLs first, the open receive, then those posted") {
  Puller responder;
  post(responder, recv_wqe({{0x40000, 100, 1}}));
  post(responder, recv_wqe({{1, 1, 1}, {2, 2, 2}, {3, 3, 3}}));
  post(responder, recv_wqe({}));
  responder.receive(send_segment(1, 0, 10, false));
  responder.pulls[kQpn].front().last = false;
  responder.qps[kQpn].status.state = EXRNIC_QP_STATE_ERROR;
  responder.order.clear();

  responder.flush(kQpn);  // an element of a PULL
  CHECK(responder.order.empty());
  CHECK(responder.pulls[kQpn].size() == 1);
  CHECK(responder.wakes.size() == 1);
  for (int i = 0; i < 4; ++i) responder.flush(kQpn);
  CHECK(responder.pulls[kQpn].empty());
  CHECK(responder.order == "cccc");
  CHECK(responder.wakes.size() == 5);
  const std::vector<std::pair<uint8_t, uint16_t>> expected = {{EXRNIC_WQE_OPCODE_PULL, 0xabce},
                                                              {EXRNIC_WQE_OPCODE_RECV, 0},
                                                              {EXRNIC_WQE_OPCODE_RECV, 2},
                                                              {EXRNIC_WQE_OPCODE_RECV, 3}};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(responder.ended.at(i).opcode == expected[i].first);
    CHECK(responder.ended.at(i).wqe_index == expected[i].second);
    CHECK(responder.ended.at(i).status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
    CHECK(responder.ended.at(i).generation == kGeneration);
  }
  CHECK(responder.qps[kQpn].rq_consumer == 4);

  responder.flush(kQpn);  // nothing is left
  CHECK(responder.order == "cccc");
  CHECK(responder.wakes.size() == 5);
}

TEST_CASE("To flush a receive only its number of slots counts") {
  auto words = recv_wqe({{1, 1, 1}, {2, 2, 2}, {3, 3, 3}});
  uint16_t slots = 2;
  SECTION("malformed") { header_of(words).opcode = 0xff; }
  SECTION("length") { header_of(words).length = 0; }
  SECTION("no slots") { header_of(words).num_slots = 0, slots = 1; }
  SECTION("more than are posted") { header_of(words).num_slots = 3, slots = 1; }
  Reader responder;
  post(responder, words);
  SECTION("unreadable") { responder.memory.refused.insert(kRqPbl), slots = 1; }
  SECTION("second slot unreadable") {
    responder.memory.refused.insert(kRqPbl + kWqeBytes), slots = 1;
  }
  responder.qps[kQpn].status.state = EXRNIC_QP_STATE_ERROR;
  responder.flush(kQpn);
  CHECK(responder.order == "c");
  CHECK(responder.ended.at(0).wqe_index == slots - 1);
  CHECK(responder.ended.at(0).status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
  CHECK(responder.qps[kQpn].rq_consumer == slots);
}

TEST_CASE("A flush job does nothing to a queue pair not in ERROR") {
  Puller responder;
  post(responder, recv_wqe({}));
  Qp& qp = responder.qps[kQpn];
  SECTION("ready to send") {}
  SECTION("gone") {
    qp.status.state = EXRNIC_QP_STATE_ERROR;
    qp.cfg.valid = false;
  }
  responder.flush(kQpn);
  CHECK(responder.order.empty());
  CHECK(responder.wakes.empty());
}

TEST_CASE("A flush job takes nothing from a shared queue, and says once that nothing is left") {
  Puller responder;
  Qp& qp = responder.qps[kQpn];
  qp.status.state = EXRNIC_QP_STATE_ERROR;
  qp.cfg.has_srq = true;
  responder.pulls[kQpn].clear();
  responder.srqs[kSrqn].cfg.valid = true;
  responder.srqs[kSrqn].producer = 1;
  responder.flush(kQpn);
  responder.flush(kQpn);
  REQUIRE(responder.ended.size() == 1);
  CHECK(responder.ended[0].emptied);
  CHECK(responder.ended[0].qpn == kQpn);
  CHECK(responder.ended[0].generation == qp.cfg.generation);
  CHECK(responder.srqs[kSrqn].consumer == 0);
  // In another life again.
  responder.clear(kQpn);
  responder.flush(kQpn);
  CHECK(responder.ended.size() == 2);
}

TEST_CASE(
    "Of a queue pair in SQD that has drained the completer hears, unless PULLs are under way") {
  Puller responder;
  Qp& qp = responder.qps[kQpn];
  qp.status.state = EXRNIC_QP_STATE_SQD;
  qp.status.drains = true;
  responder.flush(kQpn);
  CHECK(responder.ended.empty());
  responder.pulls[kQpn].clear();
  responder.flush(kQpn);
  REQUIRE(responder.ended.size() == 1);
  CHECK(responder.ended[0].drained);
  CHECK_FALSE(responder.ended[0].emptied);
  CHECK(responder.ended[0].qpn == kQpn);
  CHECK(responder.ended[0].generation == qp.cfg.generation);
  CHECK(responder.wakes.empty());
  qp.ended.drained = qp.status.drains;
  responder.flush(kQpn);
  CHECK(responder.ended.size() == 1);
}

TEST_CASE(
    "What the completer has not heard of a drained queue pair when the core comes to rest is asked "
    "for anew") {
  Puller responder;
  Qp& qp = responder.qps[kQpn];
  qp.status.state = EXRNIC_QP_STATE_SQD;
  qp.status.drains = true;
  responder.pulls[kQpn].clear();
  responder.completer_rests = true;
  responder.dut().flush_qpn_i = kQpn;
  responder.dut().flush_valid_i = 1;
  responder.wait_for("flush_ready_o", kLimit, [&] { return responder.dut().flush_ready_o != 0; });
  responder.cycle();
  responder.dut().flush_valid_i = 0;
  responder.wait_for("rx_done_valid_o", kLimit,
                     [&] { return responder.dut().rx_done_valid_o != 0; });
  responder.dut().quiesce_i = 1;
  responder.rest();
  CHECK(responder.ended.empty());
  CHECK(responder.wakes == std::vector<unsigned>{kQpn});
}

TEST_CASE("What a queue pair remembers is forgotten when it is created or reset") {
  Reader responder;
  post(responder, recv_wqe({{0x40000, 100, 1}}));
  post(responder, recv_wqe({{0x50000, 100, 1}}));
  RxDesc write = write_segment(10);
  write.ddp[0] = 0x81;  // not the last one
  responder.receive(write);
  responder.receive(read_request_segment(1, 64));
  responder.receive(send_segment(1, 0, 10, false));
  responder.clear(kQpn + 1);
  responder.receive(send_segment(1, 10, 10, false));
  CHECK(responder.refusals.empty());

  responder.clear(kQpn);
  responder.receive(send_segment(1, 0, 10));
  CHECK(responder.writes.back().address == kPageFrames + 0x50000);
  responder.receive(read_request_segment(1, 64));
  responder.receive(write_segment(3));
  post(responder, recv_wqe({}));
  responder.receive(immediate_segment(2, 0));
  CHECK(responder.ended.at(1).byte_length == 3);
  CHECK(responder.refusals.empty());
}

TEST_CASE("A completion that waits for the completer holds up no command of the driver") {
  Reader responder;
  post(responder, recv_wqe({}));
  responder.completer_rests = true;
  responder.begin(send_segment(1, 0, 0));
  responder.run(200);
  CHECK(responder.order == "d");
  responder.dut().quiesce_i = 1;
  responder.run(1);
  CHECK(responder.dut().quiescent_o);
  responder.qps[kQpn] = {};  // destroyed by the command, and its memory cleared
  responder.clear(kQpn);
  responder.dut().quiesce_i = 0;
  responder.completer_rests = false;
  responder.rest();
  CHECK(responder.ended.at(0).generation == kGeneration);  // so that the completer drops it
  responder.qps[kQpn] = receiving_qp();
  post(responder, recv_wqe({}));
  responder.receive(send_segment(1, 0, 0));
  CHECK(responder.refusals.empty());
}

}  // namespace
}  // namespace exrnic::testing
