// SPDX-License-Identifier: BSD-2-Clause
// Messages that take receives: Send, Immediate Data.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include "rtl-model/tiles/work/responder/responder_bench.h"

namespace exrnic::testing {
namespace {

// The look-ups of elements, without those of the ring.
const std::vector<XlateReq>& looked_up(const Responder& responder) {
  return responder.xlate.requests;
}

TEST_CASE("A send goes to the element of a receive and completes behind its data") {
  Receiver responder;
  responder.receive(send_segment(1, 0, 1000));
  CHECK(responder.order == "wdc");
  const DmaWriteCmd& write = responder.writes.at(0);
  CHECK(write.kind == kDmaWriteFrame);
  CHECK(write.address == kPageFrames + 0x40000);
  CHECK(write.length == 1000);
  CHECK(write.src == 0x1230 + 18);
  CHECK(write.node == kPeer);
  const auto requests = looked_up(responder);
  REQUIRE(requests.size() == 1);
  CHECK(requests[0].stag == 0x11111111);
  CHECK(requests[0].pd == kPd);
  CHECK(requests[0].access == EXRNIC_ACCESS_LOCAL_WRITE);
  CHECK(requests[0].to == 0x40000);
  CHECK(requests[0].length == 4096);  // all of the element, not only what is needed of it
  const RxDone& end = responder.ended.at(0);
  CHECK(end.qpn == kQpn);
  CHECK(end.generation == kGeneration);
  CHECK(end.wqe_index == 0);
  CHECK(end.byte_length == 1000);
  CHECK(end.signaled);
  CHECK(end.opcode == EXRNIC_WQE_OPCODE_RECV);
  CHECK(end.status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(end.flags == 0);
  CHECK(end.imm_data == 0);
  CHECK(responder.qps[kQpn].rq_consumer == 1);
  CHECK(responder.events[EXRNIC_COUNTER_RECVS] == 1);
  CHECK(responder.events[EXRNIC_COUNTER_SEGMENTS_PLACED] == 1);
  CHECK(responder.wakes.empty());
}

TEST_CASE("A message of several segments takes one receive, which is fetched once") {
  Receiver responder({{0x40000, 1500, 1}, {0x50000, 2500, 2}});
  responder.receive(send_segment(1, 0, 1024, false));
  CHECK(responder.ended.empty());
  responder.receive(send_segment(1, 1024, 1024, false));
  responder.receive(send_segment(1, 2048, 952));
  CHECK(responder.order == "wdwwdwdc");
  CHECK(responder.memory.reads() == 1);
  const std::vector<std::pair<uint64_t, uint16_t>> expected = {
      {0x40000, 1024}, {0x40000 + 1024, 476}, {0x50000, 548}, {0x50000 + 548, 952}};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(responder.writes.at(i).address == kPageFrames + expected[i].first);
    CHECK(responder.writes.at(i).length == expected[i].second);
  }
  CHECK(responder.writes.at(2).src == 0x1230 + 18 + 476);
  CHECK(looked_up(responder).at(1).to == 0x40000 + 1024);
  CHECK(looked_up(responder).at(1).length == 476);
  CHECK(responder.ended.at(0).byte_length == 3000);
}

TEST_CASE("A message that has taken a receive is open until the completer knows of its end") {
  Receiver responder;
  CHECK_FALSE(responder.message_open(kQpn));
  responder.receive(send_segment(1, 0, 100, false));
  CHECK(responder.message_open(kQpn));
  CHECK_FALSE(responder.message_open(kQpn + 1));
  responder.completer_rests = true;
  responder.begin(send_segment(1, 100, 100));
  responder.run(200);
  CHECK(responder.order == "wdwd");
  CHECK(responder.message_open(kQpn));
  CHECK_FALSE(responder.message_open(kQpn + 1));
  responder.completer_rests = false;
  responder.rest();
  CHECK_FALSE(responder.message_open(kQpn));
}

TEST_CASE("A receive of 16 elements, some empty, scatters over pages and the end of the ring") {
  const auto seed = GENERATE(range(1u, 9u));
  CAPTURE(seed);
  std::mt19937 random(seed);
  std::vector<exrnic_sge> elements;
  std::vector<uint64_t> places;  // of each byte
  for (uint32_t i = 0; i < EXRNIC_MAX_SGE; ++i) {
    const auto length = static_cast<uint32_t>(random() % 4 == 0 ? 0 : random() % 9000);
    elements.push_back({0x100000ull * (i + 1) - random() % 5000, length, i});
    for (uint32_t at = 0; at < length; ++at) places.push_back(elements.back().address + at);
  }
  Receiver responder({kElement}, seed);
  Qp& qp = responder.qps[kQpn];
  qp.rq_producer = qp.rq_consumer = static_cast<uint16_t>(0xffff << kRqLog) - 2;
  post(responder, recv_wqe(elements));

  const auto total = static_cast<uint32_t>(places.size() - random() % 100);
  for (uint32_t sent = 0; sent < total;) {
    const auto bytes = std::min<uint32_t>(total - sent, 1 + random() % 4096);
    responder.receive(send_segment(1, sent, static_cast<uint16_t>(bytes), sent + bytes == total));
    sent += bytes;
  }
  std::vector<uint64_t> written;
  for (const DmaWriteCmd& write : responder.writes)
    for (uint32_t at = 0; at < write.length; ++at)
      written.push_back(write.address + at - kPageFrames);
  places.resize(total);
  CHECK(written == places);
  CHECK(responder.refusals.empty());
  CHECK(responder.ended.at(0).byte_length == total);
  const auto last = static_cast<uint16_t>(static_cast<uint16_t>(0xffff << kRqLog) - 2 + 4);
  CHECK(responder.ended.at(0).wqe_index == last);
  CHECK(qp.rq_consumer == qp.rq_producer);
}

TEST_CASE("A message without bytes completes a receive without elements") {
  Receiver responder(std::vector<exrnic_sge>{});
  responder.receive(send_segment(1, 0, 0));
  CHECK(responder.order == "dc");
  CHECK(responder.ended.at(0).byte_length == 0);
  CHECK(responder.ended.at(0).status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(looked_up(responder).empty());
  CHECK(responder.events[EXRNIC_COUNTER_SEGMENTS_PLACED] == 1);
}

TEST_CASE("Messages take receives in order, of as many slots as each needs") {
  Receiver responder({kElement, kElement, kElement});
  post(responder, recv_wqe({kElement}));
  responder.receive(send_segment(1, 0, 10));
  responder.receive(send_segment(2, 0, 20));
  CHECK(responder.ended.at(0).wqe_index == 1);
  CHECK(responder.ended.at(1).wqe_index == 2);
  CHECK(responder.qps[kQpn].rq_consumer == 3);
  CHECK(responder.ended.at(1).byte_length == 20);
}

TEST_CASE("Queue pairs do not mix their messages") {
  Receiver responder;
  responder.qps[kQpn + 1] = receiving_qp();
  responder.qps[kQpn + 1].cfg.rq_pbl = kSrqPbl;
  post(responder.memory, kSrqPbl, kRqLog, responder.qps[kQpn + 1].rq_producer,
       recv_wqe({{0x90000, 300, 9}, {0xa0000, 300, 10}}));
  RxDesc other = send_segment(1, 0, 400, false);
  other.dst_qpn++;
  responder.receive(send_segment(1, 0, 100, false));
  responder.receive(other);
  responder.receive(send_segment(1, 100, 100));
  other = send_segment(1, 400, 50);
  other.dst_qpn++;
  responder.receive(other);
  CHECK(responder.order == "wdwwdwdcwdc");
  CHECK(responder.writes.back().address == kPageFrames + 0xa0000 + 100);
  CHECK(responder.ended.at(0).byte_length == 200);
  CHECK(responder.ended.at(1).byte_length == 450);
}

TEST_CASE("The completion says what the sender sent along") {
  RxDesc desc = send_segment(1, 0, 8);
  uint8_t flags = 0;
  uint32_t imm_data = 0;
  SECTION("solicited event") {
    desc.ddp[1] = 0x45;
    flags = EXRNIC_CQE_FLAGS_SOLICITED;
  }
  SECTION("immediate data of the EFE header") {
    desc.imm_valid = true;
    desc.imm = imm_data = 0x89abcdef;
    flags = EXRNIC_CQE_FLAGS_IMM;
  }
  SECTION("invalidated STag") {
    desc.ddp[1] = 0x44;
    exrnic_ddp_untagged_set_invalidate_stag(desc.ddp.data(), imm_data = 0xfedcba98);
    flags = EXRNIC_CQE_FLAGS_INVALIDATED;
  }
  SECTION("both") {
    desc.ddp[1] = 0x46;
    exrnic_ddp_untagged_set_invalidate_stag(desc.ddp.data(), imm_data = 0xfedcba98);
    flags = EXRNIC_CQE_FLAGS_INVALIDATED | EXRNIC_CQE_FLAGS_SOLICITED;
  }
  Receiver responder;
  responder.receive(desc);
  CHECK(responder.ended.at(0).flags == flags);
  CHECK(responder.ended.at(0).imm_data == imm_data);
  CHECK(responder.ended.at(0).status == EXRNIC_CQE_STATUS_SUCCESS);
}

TEST_CASE("An STag is invalidated behind the data of its message, before the completion") {
  const uint16_t payload = GENERATE(as<uint16_t>{}, 0, 8);
  CAPTURE(payload);
  Receiver responder;
  RxDesc desc = send_segment(1, 0, payload);
  desc.ddp[1] = 0x44;
  exrnic_ddp_untagged_set_invalidate_stag(desc.ddp.data(), 0xfedcba98);
  responder.receive(desc);
  CHECK(responder.order == (payload != 0 ? "wdc" : "dc"));
  CHECK(responder.writes.back().kind == kDmaWriteNone);  // it ends the frame when nothing can fail
  const XlateReq& request = responder.xlate.requests.back();
  CHECK(request.invalidate);
  CHECK_FALSE(request.ring);
  CHECK(request.stag == 0xfedcba98);
  CHECK(request.pd == kPd);
  CHECK(request.qpn == kQpn);
  CHECK(request.generation == responder.qps[kQpn].cfg.generation);
  CHECK(request.access == (EXRNIC_ACCESS_REMOTE_READ | EXRNIC_ACCESS_REMOTE_WRITE));
}

TEST_CASE("Only the last segment of a message invalidates") {
  Receiver responder;
  RxDesc desc = send_segment(1, 0, 8, false);
  desc.ddp[1] = 0x44;
  responder.receive(desc);
  CHECK(responder.order == "wd");
  for (const XlateReq& request : responder.xlate.requests) CHECK_FALSE(request.invalidate);
}

TEST_CASE("An STag that cannot be invalidated is refused; the receive stays for the flush") {
  const auto [status, code] = GENERATE(table<XlateStatus, uint16_t>(
      {{kXlateStag, 0x0100}, {kXlateStream, 0x0103}, {kXlateAccess, 0x0109}}));
  Receiver responder;
  responder.region = [status = status](const XlateReq& request) {
    return request.invalidate ? refuse(status) : translate_in_place(request);
  };
  RxDesc desc = send_segment(1, 0, 8);
  desc.ddp[1] = 0x44;
  responder.receive(desc);
  CHECK(responder.order == "wrsd");
  CHECK(responder.refusal_code() == code);
  CHECK(responder.events[EXRNIC_COUNTER_RECVS] == 0);
  responder.flush(kQpn);
  REQUIRE(responder.ended.size() == 1);
  CHECK(responder.ended[0].status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
}

TEST_CASE("Immediate data takes a receive and has the length of the RDMA Write before it") {
  Receiver responder;
  RxDesc write = write_segment(1000);
  write.ddp[0] = 0x81;  // not the last one
  responder.receive(write_segment(77));
  responder.receive(write);
  responder.receive(write_segment(500));
  responder.receive(immediate_segment(1, 0x01234567));
  CHECK(responder.order == "wdwdwddc");
  const RxDone& end = responder.ended.at(0);
  CHECK(end.byte_length == 1500);
  CHECK(end.flags == (EXRNIC_CQE_FLAGS_IMM | EXRNIC_CQE_FLAGS_WRITTEN));
  CHECK(end.imm_data == 0x01234567);
  CHECK(end.opcode == EXRNIC_WQE_OPCODE_RECV);
  CHECK(responder.qps[kQpn].rq_consumer == 1);
  CHECK(responder.events[EXRNIC_COUNTER_RECVS] == 1);
  CHECK(responder.events[EXRNIC_COUNTER_SEGMENTS_PLACED] == 4);

  post(responder, recv_wqe({}));  // no room, and none is needed
  responder.receive(write_segment(0));
  RxDesc solicited = immediate_segment(2, 5);
  solicited.ddp[1] = 0x49;
  responder.receive(solicited);
  CHECK(responder.ended.at(1).byte_length == 0);
  CHECK(responder.ended.at(1).flags ==
        (EXRNIC_CQE_FLAGS_IMM | EXRNIC_CQE_FLAGS_WRITTEN | EXRNIC_CQE_FLAGS_SOLICITED));
}

TEST_CASE("A segment that does not follow the one before it has its terminate code") {
  Receiver responder;
  post(responder, recv_wqe({kElement}));
  RxDesc desc;
  uint16_t code = 0;
  std::string before = "wd";
  responder.receive(send_segment(1, 0, 100, false));
  SECTION("next message too early") { desc = send_segment(2, 0, 8), code = 0x1203; }
  SECTION("message 0") { desc = send_segment(0, 100, 8), code = 0x1203; }
  SECTION("number and offset wrong") { desc = send_segment(3, 7, 8), code = 0x1203; }
  SECTION("gap") { desc = send_segment(1, 101, 8), code = 0x1204; }
  SECTION("overlap") { desc = send_segment(1, 99, 8), code = 0x1204; }
  SECTION("from the start") { desc = send_segment(1, 0, 8), code = 0x1204; }
  SECTION("immediate data in the middle") {
    desc = immediate_segment(1, 0), desc.ddp[17] = 100, code = 0x0206;
  }
  SECTION("new message that does not start at its start") {
    responder.receive(send_segment(1, 100, 8));
    before += "wdc";
    desc = send_segment(2, 108, 8), code = 0x1204;
  }
  SECTION("message again") {
    responder.receive(send_segment(1, 100, 8));
    before += "wdc";
    desc = send_segment(1, 0, 8), code = 0x1203;
  }
  responder.receive(desc);
  CHECK(responder.order == before + "rsd");
  CHECK(responder.refusal_code() == code);
}

}  // namespace
}  // namespace exrnic::testing
