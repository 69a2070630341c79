// SPDX-License-Identifier: BSD-2-Clause
// Segments of the unreliable class: loss, what is dropped, and what becomes of the receive.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "rtl-model/tiles/work/responder/responder_bench.h"

namespace exrnic::testing {
namespace {

struct Uc : Receiver {
  Uc() { qps[kQpn].cfg.service = EXRNIC_SERVICE_UC; }
  void frame(uint32_t number, bool first, RxDesc desc) {
    desc.unreliable = true;
    desc.first = first;
    desc.seq = number;
    receive(desc);
  }
  uint64_t lost() { return events[EXRNIC_COUNTER_UC_LOST]; }
  uint64_t dropped() { return events[EXRNIC_COUNTER_UNRELIABLE_DROPPED]; }
  void expect_quiet() {
    CHECK(order.find_first_of("rs") == std::string::npos);
    CHECK(wakes.empty());
  }
};

TEST_CASE("UC: behind a missing frame a message is dropped, and the next one takes its receive") {
  Uc responder;
  responder.frame(0, true, send_segment(1, 0, 1000, false));
  responder.frame(2, false, send_segment(1, 2000, 1000, false));
  responder.frame(3, false, send_segment(1, 3000, 10));
  CHECK(responder.ended.empty());
  responder.frame(4, true, send_segment(2, 0, 500, false));
  responder.frame(5, false, send_segment(2, 500, 30));
  CHECK(responder.order == "wdddwdwdc");
  CHECK(responder.writes.back().address == kPageFrames + 0x40000 + 500);
  CHECK(responder.ended.at(0).byte_length == 530);
  CHECK(responder.ended.at(0).wqe_index == 0);
  CHECK(responder.memory.reads() == 1);
  CHECK(responder.lost() == 1);
  CHECK(responder.dropped() == 2);
  responder.expect_quiet();
}

TEST_CASE("UC: a late frame is dropped, and what is under way goes on") {
  Uc responder;
  responder.frame(0, true, write_segment(8));
  responder.frame(1, true, send_segment(1, 0, 100, false));
  responder.frame(0, true, write_segment(8));
  responder.frame(2, false, send_segment(1, 100, 100));
  CHECK(responder.order == "wdwddwdc");
  CHECK(responder.dropped() == 1);
  CHECK(responder.lost() == 0);
  responder.expect_quiet();
}

TEST_CASE("UC: without a receive a message is dropped to its end; the next one is not") {
  Uc responder;
  Qp& qp = responder.qps[kQpn];
  const uint16_t posted = qp.rq_producer;
  qp.rq_producer = qp.rq_consumer;
  responder.frame(0, true, send_segment(1, 0, 100, false));
  responder.frame(1, false, send_segment(1, 100, 100));
  CHECK(responder.order == "dd");
  CHECK(responder.events[EXRNIC_COUNTER_UNRELIABLE_NO_RECEIVE] == 1);
  CHECK(responder.dropped() == 2);
  qp.rq_producer = posted;
  responder.frame(2, true, send_segment(2, 0, 100));
  CHECK(responder.ended.at(0).byte_length == 100);
  CHECK(responder.lost() == 0);
  responder.expect_quiet();
}

TEST_CASE("UC: a write that is refused ends its message, and the immediate data behind it") {
  Uc responder;
  const bool by_region = GENERATE(true, false);
  if (by_region)
    responder.region = [](const XlateReq&) { return refuse(kXlateAccess); };
  else
    responder.qps[kQpn].cfg.access = 0;
  RxDesc begins = write_segment(100);
  exrnic_ddp_tagged_set_last(begins.ddp.data(), 0);
  responder.frame(0, true, begins);
  responder.frame(1, false, write_segment(100));
  responder.frame(2, false, immediate_segment(1, 5));
  CHECK(responder.order == "ddd");
  CHECK(responder.ended.empty());
  CHECK(responder.dropped() == 3);
  responder.region = translate_in_place;
  responder.qps[kQpn].cfg.access = EXRNIC_ACCESS_REMOTE_WRITE;
  responder.frame(3, true, write_segment(100));
  responder.frame(4, false, immediate_segment(2, 6));
  CHECK(responder.ended.at(0).imm_data == 6);
  CHECK(responder.ended.at(0).byte_length == 100);
  responder.expect_quiet();
}

TEST_CASE("UC: what the class does not carry is dropped, whoever sends it") {
  Uc responder;
  RxDesc invalidates = send_segment(1, 0, 10);
  exrnic_ddp_untagged_set_opcode(invalidates.ddp.data(), EXRNIC_RDMAP_OPCODE_SEND_INVALIDATE);
  RxDesc stranger = write_segment(8);
  stranger.src_qpn ^= 1;
  uint32_t number = 0;
  for (const RxDesc& desc :
       {read_request_segment(1, 8), response_segment(1, 2, 8, true),
        terminate_segment(EXRNIC_TERM_CODE_STREAM), invalidates, immediate_segment(1, 1), stranger})
    responder.frame(number++, true, desc);
  CHECK(responder.order == "dddddd");
  CHECK(responder.dropped() == 6);
  responder.expect_quiet();
}

TEST_CASE("UC: a receive that is too short ends its queue pair, and the peer is not told") {
  Uc responder;
  responder.frame(0, true, send_segment(1, 0, 4097));
  CHECK(responder.ended.at(0).status == EXRNIC_CQE_STATUS_LOC_LEN_ERR);
  CHECK(responder.refusals.empty());
  CHECK(responder.qps[kQpn].status.state == EXRNIC_QP_STATE_ERROR);
  CHECK(responder.wakes.size() == 1);
  responder.frame(1, true, write_segment(8));
  CHECK(responder.dropped() == 2);
}

// ---- Datagrams

constexpr uint32_t kQkey = 0x8000'0011;
constexpr uint8_t kPkeyIndex = 3;

struct Ud : Receiver {
  explicit Ud(const std::vector<exrnic_sge>& elements = {kElement}) : Receiver(elements) {
    QpConfig& cfg = qps[kQpn].cfg;
    cfg.service = EXRNIC_SERVICE_UD;
    cfg.qkey = kQkey;
    cfg.pkey_index = kPkeyIndex;
    set_pkey(kPkeyIndex, 0x8123);
    cfg.dest_node = 0;  // it has no peer
    cfg.dest_qpn = 0;
  }
  void datagram(RxDesc desc, uint32_t qkey = kQkey, uint16_t pkey = 0x0123) {
    desc.unreliable = desc.first = desc.datagram = true;
    desc.ack = qkey;
    desc.pkey = pkey;
    receive(desc);
  }
  void set_pkey(unsigned index, uint16_t pkey) { set_element(dut().pkeys_i, index, 16, pkey); }
  int dropped() { return events[EXRNIC_COUNTER_UNRELIABLE_DROPPED]; }
};

TEST_CASE("UD: a datagram takes a receive, and its completion names the sender") {
  Ud responder;
  RxDesc desc = send_segment(7, 0, 100);
  desc.node = 0x21;
  desc.src_qpn = 0x654321;
  responder.datagram(desc);
  CHECK(responder.order == "wdc");
  CHECK(responder.ended.at(0).byte_length == 100);
  CHECK(responder.ended.at(0).flags == EXRNIC_CQE_FLAGS_SENDER);
  CHECK(responder.ended.at(0).sender == (0x21 << EXRNIC_SENDER_NODE_SHIFT | 0x4321));
  CHECK(responder.dropped() == 0);
}

TEST_CASE("UD: keys are compared: the P_Key first, then the Q_Key") {
  Ud responder;
  for (const uint16_t pkey : {0x8124, 0x0000, 0x8000})
    responder.datagram(send_segment(1, 0, 8), kQkey + 1, pkey);
  responder.set_pkey(kPkeyIndex, 0x0123);
  responder.datagram(send_segment(1, 0, 8));  // both limited
  CHECK(responder.events[EXRNIC_COUNTER_BAD_PKEY] == 4);
  responder.datagram(send_segment(1, 0, 8), kQkey + 1, 0x8123);
  CHECK(responder.events[EXRNIC_COUNTER_BAD_QKEY] == 1);
  CHECK(responder.order == "ddddd");
  CHECK(responder.dropped() == 5);
  responder.datagram(send_segment(1, 0, 8), kQkey, 0x8123);
  CHECK(responder.ended.size() == 1);
}

TEST_CASE("UD: what is no whole SEND is dropped, and so is what is longer than its receive") {
  Ud responder({{0x40000, 50, 0x11111111}});
  responder.datagram(send_segment(1, 0, 100, false));
  responder.datagram(send_segment(1, 4, 100));
  responder.datagram(write_segment(8));
  CHECK(responder.order == "ddd");
  CHECK(responder.memory.reads() == 0);
  responder.datagram(send_segment(1, 0, 51));
  CHECK(responder.order == "dddd");
  CHECK(responder.dropped() == 4);
  responder.datagram(send_segment(1, 0, 50));
  CHECK(responder.order == "ddddwdc");
  CHECK(responder.ended.at(0).byte_length == 50);
  CHECK(responder.ended.at(0).status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(responder.qps[kQpn].status.state == EXRNIC_QP_STATE_RTS);
}

TEST_CASE("UD: what the table says when a datagram comes is the P_Key of a queue pair") {
  Ud responder;
  const auto send = [&] { responder.datagram(send_segment(1, 0, 8), kQkey, 0xffff); };
  responder.set_pkey(kPkeyIndex - 1, 0xffff);
  responder.set_pkey(kPkeyIndex + 1, 0xffff);
  send();
  CHECK(responder.events[EXRNIC_COUNTER_BAD_PKEY] == 1);
  responder.set_pkey(kPkeyIndex, 0);
  send();
  CHECK(responder.events[EXRNIC_COUNTER_BAD_PKEY] == 2);
  responder.set_pkey(kPkeyIndex, 0xffff);
  send();
  CHECK(responder.events[EXRNIC_COUNTER_BAD_PKEY] == 2);
  CHECK(responder.ended.size() == 1);
}

TEST_CASE("UD: a completion names the group that a datagram was for") {
  Ud responder;
  RxDesc desc = send_segment(1, 0, 8);
  desc.to_group = true;
  desc.group = EXRNIC_GROUP_MAX;
  responder.datagram(desc);
  CHECK(responder.ended.at(0).flags == (EXRNIC_CQE_FLAGS_SENDER | EXRNIC_CQE_FLAGS_GROUP));
  CHECK(responder.ended.at(0).group == EXRNIC_GROUP_MAX);
}

TEST_CASE("UD: a datagram leaves room for a GRH, over however many elements") {
  const exrnic_sge small{0x40000, 10, 0x11111111}, next{0x50000, EXRNIC_GRH_BYTES - 10, 0x22222222},
      rest{0x60000, 100, 0x33333333};
  Ud responder({small, next, rest});
  responder.qps[kQpn].cfg.grh = true;
  responder.datagram(send_segment(1, 0, 101));
  CHECK(responder.dropped() == 1);
  CHECK(responder.writes.back().kind == kDmaWriteNone);
  responder.datagram(send_segment(1, 0, 100));
  REQUIRE(responder.ended.size() == 1);
  CHECK(responder.ended[0].byte_length == EXRNIC_GRH_BYTES + 100);
  CHECK(responder.order == "dwdc");
  CHECK(responder.writes[1].address == kPageFrames + 0x60000);
  Ud one({{0x40000, 100, 0x11111111}});
  one.qps[kQpn].cfg.grh = true;
  one.datagram(send_segment(1, 0, 7));
  CHECK(one.writes.at(0).address == kPageFrames + 0x40000 + EXRNIC_GRH_BYTES);
  CHECK(one.writes.at(0).length == 7);
}

TEST_CASE("UD: a receive that has no room for a GRH takes not even an empty message") {
  Ud responder({{0x40000, EXRNIC_GRH_BYTES - 1, 0x11111111}});
  responder.qps[kQpn].cfg.grh = true;
  responder.datagram(send_segment(1, 0, 0));
  CHECK(responder.dropped() == 1);
  CHECK(responder.ended.empty());
  Ud just({{0x40000, EXRNIC_GRH_BYTES, 0x11111111}});
  just.qps[kQpn].cfg.grh = true;
  just.datagram(send_segment(1, 0, 0));
  CHECK(just.ended.at(0).byte_length == EXRNIC_GRH_BYTES);
}

TEST_CASE("UD: a copy that others follow gives no bytes back") {
  Ud responder;
  post(responder, recv_wqe({kElement}));
  RxDesc copy = send_segment(1, 0, 64);
  copy.more = true;
  responder.datagram(copy);
  CHECK(responder.order == "wc");
  copy = send_segment(1, 0, 0);
  copy.more = true;
  responder.datagram(copy, kQkey + 1);
  CHECK(responder.order == "wc");
  responder.datagram(send_segment(1, 0, 64));
  CHECK(responder.order == "wcwdc");
}

}  // namespace
}  // namespace exrnic::testing
