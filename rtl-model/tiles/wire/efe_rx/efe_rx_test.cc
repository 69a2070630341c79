// SPDX-License-Identifier: BSD-2-Clause
#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <random>

#include "rtl-model/tiles/wire/efe_rx/efe_rx_bench.h"

namespace exrnic::testing {
namespace {

// A tagged segment: 14 bytes of header, then payload.
Bytes tagged(std::size_t payload, unsigned seed = 1) {
  std::mt19937 random(seed);
  Bytes segment(EXRNIC_DDP_TAGGED_BYTES + payload);
  for (auto& byte : segment) byte = static_cast<uint8_t>(random());
  segment[0] = 0xc1;
  return segment;
}

Frame data(uint32_t index, const Bytes& segment, uint8_t peer = kPeer,
           uint16_t session = kSession) {
  return make_frame(kOwnNode, peer, kSynSeq, session, kFirst + index, segment);
}

Frame ack_only(uint32_t ack, uint32_t flags = 0, uint8_t peer = kPeer) {
  Frame frame = make_frame(kOwnNode, peer, EXRNIC_EFE_FLAGS_SYN | EXRNIC_EFE_FLAGS_ACK | flags,
                           kSession, kFirst);
  exrnic_efe_set_peer_session(frame.efe(), 0x7777);
  exrnic_efe_set_ack(frame.efe(), ack);
  return frame;
}

TEST_CASE("A frame written out by hand is taken apart as the specification says") {
  Frame frame;
  frame.data = {0x02, 0x45, 0x58, 0x52, 0x00, 0x05,              // to node 5
                0x02, 0x45, 0x58, 0x52, 0x00, 0x02,              // from node 2
                0x88, 0xb5,                                      // EtherType
                0x10,                                            // version 1, reliable class
                0x07,                                            // SEQ, ACK, SYN
                0x00, 0x17,                                      // 18 + 5 bytes
                0x00, 0x02,                                      // source node
                0x00, 0x00,                                      // credit
                0x0a, 0x0b,                                      // session
                0xbe, 0xef,                                      // our session
                0xff, 0xff, 0xff, 0x80,                          // sequence number
                0x01, 0x02, 0x03, 0x04,                          // acknowledged
                0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // SACK, time stamps
                0x00, 0x11, 0x22, 0x33,                          // destination queue pair
                0x00, 0x44, 0x55, 0x66,                          // source queue pair
                0x41, 0x47, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // untagged DDP
                0x00, 0x02, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00,
                0x00, 0x00, 'h',  'e',  'l',  'l',  'o'};
  EfeRx rx;
  rx.receive(frame);
  const RxDesc desc = rx.take();
  CHECK(desc.node == 2);
  CHECK(desc.seq == 0xffffff80);
  CHECK(desc.ack == 0x01020304);
  CHECK(desc.dst_qpn == 0x112233);
  CHECK(desc.src_qpn == 0x445566);
  CHECK(desc.length == 23);
  CHECK(std::equal(frame.data.begin() + 50, frame.data.end(), desc.ddp.begin()));
  CHECK_FALSE(desc.imm_valid);
  CHECK(rx.read(desc.start, 23) == Bytes(frame.data.begin() + 50, frame.data.end()));
  REQUIRE(rx.acks.size() == 1);
  CHECK(rx.acks[0].node == 2);
  CHECK(rx.acks[0].peer_session == 0xbeef);
  CHECK(rx.acks[0].ack == 0x01020304);
  CHECK_FALSE(rx.acks[0].sack);
}

TEST_CASE("The first 46 bytes of a segment are in its descriptor: all of an RDMA Read Request") {
  for (const std::size_t payload : {28, 27, 29, 1000}) {
    CAPTURE(payload);
    Bytes segment(EXRNIC_DDP_UNTAGGED_BYTES + payload);
    for (std::size_t i = 0; i < segment.size(); ++i) segment[i] = static_cast<uint8_t>(i + 7);
    segment[0] = 0x41;
    EfeRx rx;
    rx.receive(data(0, segment));
    const RxDesc desc = rx.take();
    const std::size_t head = std::min<std::size_t>(kDdpHeadBytes, segment.size());
    CHECK(std::equal(segment.begin(), segment.begin() + head, desc.ddp.begin()));
    CHECK(rx.read(desc.start, desc.length) == segment);
  }
}

TEST_CASE("A limit comes out at once, whatever its session acknowledges; of no other session") {
  EfeRx rx;
  Frame frame = data(0, {});
  exrnic_efe_set_flags(frame.efe(), EXRNIC_EFE_FLAGS_SYN | EXRNIC_EFE_FLAGS_ACK);
  exrnic_efe_set_credit(frame.efe(), EXRNIC_CREDIT_VALID | 0x1234);
  exrnic_efe_set_dst_qpn(frame.efe(), 0x112233);
  exrnic_efe_set_src_qpn(frame.efe(), 0x445566);
  rx.receive(frame);
  REQUIRE(rx.credits.size() == 1);
  CHECK(rx.credits[0].node == kPeer);
  CHECK(rx.credits[0].dst_qpn == 0x112233);
  CHECK(rx.credits[0].src_qpn == 0x445566);
  CHECK(rx.credits[0].limit == 0x1234);
  CHECK(rx.counters[EXRNIC_COUNTER_CREDIT_UPDATES_RX] == 1);
  exrnic_efe_set_flags(frame.efe(), EXRNIC_EFE_FLAGS_ACK);
  exrnic_efe_set_session(frame.efe(), kSession + 1);
  rx.receive(frame);
  CHECK(rx.credits.size() == 1);
  CHECK(rx.counters[EXRNIC_COUNTER_RX_SESSION] == 1);
}

TEST_CASE("A segment that asks for a limit says so") {
  EfeRx rx;
  Frame frame = data(0, tagged(8));
  exrnic_efe_set_credit(frame.efe(), EXRNIC_CREDIT_ASK);
  rx.receive({frame, data(1, tagged(8))});
  CHECK(rx.take().ask);
  CHECK_FALSE(rx.take().ask);
  CHECK(rx.credits.empty());
}

TEST_CASE("Immediate data of the EFE header comes with its segment") {
  EfeRx rx;
  Frame frame = data(0, tagged(8));
  exrnic_efe_set_flags(frame.efe(), kSynSeq | EXRNIC_EFE_FLAGS_IMM);
  exrnic_efe_set_sack_imm(frame.efe(), 0x12345678);
  Frame zero = data(2, tagged(8));
  exrnic_efe_set_flags(zero.efe(), kSynSeq | EXRNIC_EFE_FLAGS_IMM);
  rx.receive({frame, data(1, tagged(8)), zero});
  const RxDesc first = rx.take();
  CHECK(first.imm_valid);
  CHECK(first.imm == 0x12345678);
  CHECK_FALSE(rx.take().imm_valid);
  const RxDesc third = rx.take();
  CHECK(third.imm_valid);
  CHECK(third.imm == 0);
  CHECK(rx.counters[EXRNIC_COUNTER_RX_MALFORMED] == 0);
}

TEST_CASE("Marks of congestion and a selective acknowledgement are no defect") {
  EfeRx rx;
  Frame marked = data(0, tagged(8));
  exrnic_efe_set_flags(marked.efe(), kSynSeq | EXRNIC_EFE_FLAGS_CE);
  Frame echo = ack_only(7);
  exrnic_efe_set_flags(echo.efe(), exrnic_efe_flags(echo.efe()) | EXRNIC_EFE_FLAGS_ECE);
  Frame sack = ack_only(7);
  exrnic_efe_set_flags(sack.efe(), exrnic_efe_flags(sack.efe()) | EXRNIC_EFE_FLAGS_SACK);
  exrnic_efe_set_sack_imm(sack.efe(), 5);
  rx.receive({marked, echo, sack});
  rx.take();
  CHECK(rx.counters[EXRNIC_COUNTER_RX_MALFORMED] == 0);
  CHECK(rx.counters[EXRNIC_COUNTER_ACKS_RX] == 2);
}

Frame once(uint32_t number) {
  Frame frame = make_frame(kOwnNode, kPeer, EXRNIC_EFE_FLAGS_SEQ, 0, number, tagged(8));
  exrnic_efe_set_klass(frame.efe(), EXRNIC_EFE_CLASS_UNRELIABLE);
  return frame;
}

TEST_CASE("Frames of the unreliable class have an order of their own, and are not acknowledged") {
  EfeRx rx;
  Frame begins = once(7);
  exrnic_efe_set_flags(begins.efe(), kSynSeq | EXRNIC_EFE_FLAGS_CE);
  rx.receive({once(9), data(0, tagged(8)), begins, once(7)});
  const uint32_t numbers[] = {kFirst, 9, 7, 7};
  for (int i = 0; i < 4; ++i) {
    const RxDesc desc = rx.take();
    CHECK(desc.seq == numbers[i]);
    CHECK(desc.unreliable == (i != 0));
    CHECK(desc.node == kPeer);
    if (i != 0) CHECK(desc.first == (i == 2));
  }
  const size_t asked = rx.requests.size();
  rx.place(kPeer);
  CHECK(rx.requests.size() == asked + 1);
  CHECK(rx.state(kPeer).ack == kFirst + 1);
  for (int i = 0; i < 3; ++i) rx.place(kPeer);
  CHECK(rx.requests.size() == asked + 1);
  CHECK(rx.state(kPeer).ack == kFirst + 1);
  CHECK(rx.state(kPeer).ece);
  CHECK(rx.counters[EXRNIC_COUNTER_RX_MARKED] == 1);
  CHECK(rx.counters[EXRNIC_COUNTER_RX_DUPLICATE] == 0);
  CHECK(rx.dut().idle_o);
}

TEST_CASE("What is placed is told in the order in which it was handed out, whatever its class") {
  EfeRx rx;
  rx.receive({once(1), data(0, tagged(8)), once(2), data(1, tagged(8))});
  rx.dut().once_ready_i = 1;
  rx.cycle();
  rx.place(kPeer);  // that one, though it is not the reliable one that came next
  CHECK(rx.state(kPeer).ack == kFirst);
  CHECK(rx.take().seq == kFirst);
  rx.place(kPeer);
  CHECK(rx.state(kPeer).ack == kFirst + 1);
  CHECK(rx.take().seq == kFirst + 1);
  CHECK(rx.take().seq == 2);
  CHECK_FALSE(rx.dut().idle_o);
  for (int i = 0; i < 2; ++i) rx.place(kPeer);
  CHECK(rx.state(kPeer).ack == kFirst + 2);
  CHECK(rx.dut().idle_o);
}

TEST_CASE(
    "Frames that are sent once have a quarter of the buffer, and the reliable class the rest") {
  EfeRx rx;
  for (uint32_t i = 0; i < 128; ++i) rx.receive(once(i));
  CHECK(rx.counters[EXRNIC_COUNTER_RX_OVERFLOW] == 96);
  for (uint32_t i = 0; i < 96; ++i) rx.receive(data(i, tagged(8)));
  CHECK(rx.counters[EXRNIC_COUNTER_RX_OVERFLOW] == 96);
  for (uint32_t i = 0; i < 96; ++i) {
    CHECK_FALSE(rx.take().unreliable);
    rx.place(kPeer);
  }
  for (uint32_t i = 0; i < 32; ++i) {
    CHECK(rx.take().seq == i);
    rx.receive(once(200 + i));  // no room before one is placed
    CHECK(rx.counters[EXRNIC_COUNTER_RX_OVERFLOW] == 97 + i);
    rx.place(kPeer);
    rx.receive(once(300 + i));
    CHECK(rx.counters[EXRNIC_COUNTER_RX_OVERFLOW] == 97 + i);
  }
}

using Changes = std::vector<std::function<void(Frame&)>>;

// A good frame is malformed behind each of the changes.
void check_malformed(const Frame& good, const Changes& changes) {
  EfeRx rx;
  for (size_t i = 0; i < changes.size(); ++i) {
    CAPTURE(i);
    Frame frame = good;
    changes[i](frame);
    rx.receive(frame);
    CHECK(rx.counters[EXRNIC_COUNTER_RX_MALFORMED] == i + 1);
  }
  CHECK(rx.dut().idle_o);
}

TEST_CASE("In the unreliable class what belongs to the reliable one is malformed") {
  const Changes wrong = {
      [](Frame& f) { exrnic_efe_set_klass(f.efe(), 3); },
      [](Frame& f) { exrnic_efe_set_session(f.efe(), 1); },
      [](Frame& f) { exrnic_efe_set_peer_session(f.efe(), 1); },
      [](Frame& f) { exrnic_efe_set_ack(f.efe(), 1); },
      [](Frame& f) { exrnic_efe_set_refusal(f.efe(), 1); },
      [](Frame& f) { exrnic_efe_set_heard(f.efe(), 1); },
      [](Frame& f) { exrnic_efe_set_sack_imm(f.efe(), 1); },
      [](Frame& f) { exrnic_efe_set_flags(f.efe(), f.flags() | EXRNIC_EFE_FLAGS_ACK); },
      [](Frame& f) { exrnic_efe_set_flags(f.efe(), f.flags() | EXRNIC_EFE_FLAGS_RNR); },
      [](Frame& f) { exrnic_efe_set_flags(f.efe(), 0); }};
  check_malformed(once(0), wrong);
}

// ---- Datagrams

Frame datagram(uint32_t dst_qpn) {
  Frame frame = make_frame(kOwnNode, kPeer, EXRNIC_EFE_FLAGS_SEQ, 0, 9, tagged(8));
  exrnic_efe_set_klass(frame.efe(), EXRNIC_EFE_CLASS_DATAGRAM);
  exrnic_efe_set_ack(frame.efe(), 0x8765'4321);
  exrnic_efe_set_peer_session(frame.efe(), 0xfedc);
  exrnic_efe_set_dst_qpn(frame.efe(), dst_qpn);
  return frame;
}
Frame to_group(uint32_t group, uint64_t address_group) {
  Frame frame = datagram(EXRNIC_GROUP_QPN + group);
  exrnic_eth_set_dst(frame.data.data(), uint64_t{EXRNIC_GROUP_MAC_PREFIX} << 16 | address_group);
  return frame;
}

TEST_CASE("Datagrams are handed out with their keys, each the first of its message") {
  EfeRx rx;
  rx.groups = {0xa5c3};
  rx.receive({datagram(7), to_group(0xa5c3, 0xa5c3), once(1)});
  for (const uint32_t dst_qpn : {7u, EXRNIC_GROUP_QPN + 0xa5c3u}) {
    const RxDesc desc = rx.take();
    CHECK(desc.dst_qpn == dst_qpn);
    CHECK(desc.unreliable);
    CHECK(desc.datagram);
    CHECK(desc.first);
    CHECK_FALSE(desc.more);
    CHECK(desc.ack == 0x8765'4321);
    CHECK(desc.pkey == 0xfedc);
  }
  CHECK_FALSE(rx.take().datagram);
  CHECK(rx.requests.empty());
}

TEST_CASE("A datagram to a group without a queue pair takes no room, and is counted") {
  EfeRx rx;
  rx.groups = {5};
  for (uint32_t i = 0; i < 200; ++i) rx.receive(to_group(6, 6));
  CHECK(rx.dut().idle_o);
  CHECK(rx.counters[EXRNIC_COUNTER_UNRELIABLE_DROPPED] == 200);
  CHECK(rx.counters[EXRNIC_COUNTER_RX_OVERFLOW] == 0);
  rx.receive({to_group(5, 5), datagram(6)});
  CHECK(rx.take().dst_qpn == EXRNIC_GROUP_QPN + 5);
  CHECK(rx.take().dst_qpn == 6);
  CHECK(rx.counters[EXRNIC_COUNTER_UNRELIABLE_DROPPED] == 200);
}

TEST_CASE("A datagram goes to the group that both of its addresses name, or to this node") {
  EfeRx rx;
  Frame to_node = to_group(1, 1), qp_at_group = datagram(7), reliable = data(0, tagged(8)),
        unreliable = once(0);
  exrnic_eth_set_dst(to_node.data.data(), exrnic_eth_dst(qp_at_group.data.data()));
  for (Frame* frame : {&qp_at_group, &reliable, &unreliable}) {
    exrnic_eth_set_dst(frame->data.data(), uint64_t{EXRNIC_GROUP_MAC_PREFIX} << 16 | 1);
    exrnic_efe_set_dst_qpn(frame->efe(), EXRNIC_GROUP_QPN + 1);
  }
  exrnic_efe_set_dst_qpn(qp_at_group.efe(), 7);
  rx.receive({to_group(1, 2), to_node, qp_at_group, reliable, unreliable});
  CHECK(rx.counters[EXRNIC_COUNTER_RX_MISDIRECTED] == 5);
  CHECK(rx.dut().idle_o);
}

TEST_CASE("In a datagram what belongs to other classes is malformed") {
  const Changes wrong = {
      [](Frame& f) { exrnic_efe_set_session(f.efe(), 1); },
      [](Frame& f) { exrnic_efe_set_refusal(f.efe(), 1); },
      [](Frame& f) { exrnic_efe_set_heard(f.efe(), 1); },
      [](Frame& f) { exrnic_efe_set_sack_imm(f.efe(), 1); },
      [](Frame& f) { exrnic_efe_set_flags(f.efe(), f.flags() | EXRNIC_EFE_FLAGS_SYN); },
      [](Frame& f) { exrnic_efe_set_flags(f.efe(), f.flags() | EXRNIC_EFE_FLAGS_ACK); },
      [](Frame& f) { exrnic_efe_set_flags(f.efe(), f.flags() | EXRNIC_EFE_FLAGS_RNR); },
      [](Frame& f) { exrnic_efe_set_flags(f.efe(), 0); }};
  check_malformed(datagram(7), wrong);
}

const Bytes kTerminate = {0x41, 0x47, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0,
                          0,    1,    0, 0, 0, 0, 2, 7, 0, 0, 0, 0};

// The peer refuses segment `seq` of ours.
Frame refusal(uint8_t number, uint32_t seq, uint16_t our_session = 0) {
  Frame frame = make_frame(kOwnNode, kPeer, EXRNIC_EFE_FLAGS_ACK, kSession, seq, kTerminate);
  exrnic_efe_set_refusal(frame.efe(), number);
  exrnic_efe_set_peer_session(frame.efe(), our_session);
  return frame;
}

// A defect, and the one counter that it must move.
struct Defect {
  const char* what;
  unsigned counter;
  std::function<void(Frame&)> apply;
};

const std::vector<Defect>& defects() {
  constexpr unsigned kMalformed = EXRNIC_COUNTER_RX_MALFORMED;
  constexpr unsigned kMisdirected = EXRNIC_COUNTER_RX_MISDIRECTED;
  static const std::vector<Defect> all = {
      {"bad FCS", EXRNIC_COUNTER_RX_FCS_ERROR, [](Frame& f) { f.fcs_error = true; }},
      {"cut short", kMalformed, [](Frame& f) { f.data.pop_back(); }},
      {"cut in the EFE header", kMalformed, [](Frame& f) { f.data.resize(40); }},
      {"cut in the Ethernet header", kMalformed, [](Frame& f) { f.data.resize(5); }},
      {"one byte longer", kMalformed, [](Frame& f) { f.data.push_back(0); }},
      {"longer than any frame", kMalformed, [](Frame& f) { f.data.resize(9000); }},
      {"EtherType", kMalformed, [](Frame& f) { f.data[13] ^= 1; }},
      {"version", kMalformed, [](Frame& f) { exrnic_efe_set_version(f.efe(), 2); }},
      {"class", kMalformed, [](Frame& f) { exrnic_efe_set_klass(f.efe(), 1); }},
      {"RNR without a refusal", kMalformed,
       [](Frame& f) { exrnic_efe_set_flags(f.efe(), kSynSeq | EXRNIC_EFE_FLAGS_RNR); }},
      {"a pause beyond the table", kMalformed,
       [](Frame& f) {
         f = refusal(1, 0);
         exrnic_efe_set_flags(f.efe(), f.flags() | EXRNIC_EFE_FLAGS_RNR);
         exrnic_efe_set_sack_imm(f.efe(), EXRNIC_RNR_TIMER_MAX + 1);
       }},
      {"a pause without RNR", kMalformed,
       [](Frame& f) {
         f = refusal(1, 0);
         exrnic_efe_set_sack_imm(f.efe(), 1);
       }},
      {"a refusal with a number of its own", kMalformed,
       [](Frame& f) {
         f = refusal(1, 0);
         exrnic_efe_set_flags(f.efe(), f.flags() | EXRNIC_EFE_FLAGS_SEQ);
       }},
      {"a refusal with SACK", kMalformed,
       [](Frame& f) {
         f = refusal(1, 0);
         exrnic_efe_set_flags(f.efe(), f.flags() | EXRNIC_EFE_FLAGS_SACK);
       }},
      {"a refusal with a limit", kMalformed,
       [](Frame& f) {
         f = refusal(1, 0);
         exrnic_efe_set_credit(f.efe(), EXRNIC_CREDIT_VALID | 1);
       }},
      {"a refusal without a segment", kMalformed,
       [](Frame& f) {
         f = data(0, {});
         exrnic_efe_set_flags(f.efe(), EXRNIC_EFE_FLAGS_ACK);
         exrnic_efe_set_refusal(f.efe(), 1);
       }},
      {"a refusal by another message", kMalformed,
       [](Frame& f) {
         f = refusal(1, 0);
         exrnic_ddp_untagged_set_opcode(f.efe() + EXRNIC_EFE_BYTES, EXRNIC_RDMAP_OPCODE_SEND);
       }},
      {"a refusal by a tagged message", kMalformed,
       [](Frame& f) {
         f = refusal(1, 0);
         exrnic_ddp_untagged_set_t(f.efe() + EXRNIC_EFE_BYTES, 1);
       }},
      {"ECE without ACK", kMalformed,
       [](Frame& f) { exrnic_efe_set_flags(f.efe(), kSynSeq | EXRNIC_EFE_FLAGS_ECE); }},
      {"SACK with a segment", kMalformed,
       [](Frame& f) {
         exrnic_efe_set_flags(f.efe(), kSynSeq | EXRNIC_EFE_FLAGS_ACK | EXRNIC_EFE_FLAGS_SACK);
       }},
      {"SACK without ACK", kMalformed,
       [](Frame& f) {
         f = data(0, {});
         exrnic_efe_set_flags(f.efe(), EXRNIC_EFE_FLAGS_SYN | EXRNIC_EFE_FLAGS_SACK);
       }},
      {"a limit beside a segment", kMalformed,
       [](Frame& f) { exrnic_efe_set_credit(f.efe(), EXRNIC_CREDIT_VALID | 1); }},
      {"a limit without ACK", kMalformed,
       [](Frame& f) {
         f = data(0, {});
         exrnic_efe_set_flags(f.efe(), EXRNIC_EFE_FLAGS_SYN);
         exrnic_efe_set_credit(f.efe(), EXRNIC_CREDIT_VALID);
       }},
      {"a credit that is neither", kMalformed,
       [](Frame& f) { exrnic_efe_set_credit(f.efe(), EXRNIC_CREDIT_ASK + 1); }},
      {"immediate data without IMM", kMalformed,
       [](Frame& f) { exrnic_efe_set_sack_imm(f.efe(), 1); }},
      {"generation without a segment", kMalformed,
       [](Frame& f) {
         f = data(0, {});
         exrnic_efe_set_flags(f.efe(), EXRNIC_EFE_FLAGS_SYN);
         exrnic_efe_set_src_generation(f.efe(), 1);
       }},
      {"generation that is meant, without a segment", kMalformed,
       [](Frame& f) {
         f = data(0, {});
         exrnic_efe_set_flags(f.efe(), EXRNIC_EFE_FLAGS_SYN);
         exrnic_efe_set_dst_generation(f.efe(), 1);
       }},
      {"heard without ACK", kMalformed,
       [](Frame& f) {
         exrnic_efe_set_flags(f.efe(), 5);
         exrnic_efe_set_heard(f.efe(), 1);
       }},
      {"a refusal without ACK", kMalformed,
       [](Frame& f) {
         f = data(0, {});
         exrnic_efe_set_flags(f.efe(), 4);
         exrnic_efe_set_refusal(f.efe(), 1);
       }},
      {"IMM without a segment", kMalformed,
       [](Frame& f) {
         f = data(0, {});
         exrnic_efe_set_flags(f.efe(), EXRNIC_EFE_FLAGS_SYN | EXRNIC_EFE_FLAGS_IMM);
       }},
      {"session 0", kMalformed, [](Frame& f) { exrnic_efe_set_session(f.efe(), 0); }},
      {"length without SEQ", kMalformed, [](Frame& f) { exrnic_efe_set_flags(f.efe(), 4); }},
      {"segment without a whole tagged header", kMalformed,
       [](Frame& f) { f = data(0, Bytes(13, 0xc1)); }},
      {"segment without a whole untagged header", kMalformed,
       [](Frame& f) { f = data(0, Bytes(17, 0x41)); }},
      {"segment over the greatest MTU", kMalformed,
       [](Frame& f) { f = data(0, Bytes(EXRNIC_MTU_MAX + 19, 0xc1)); }},
      {"for another node", kMisdirected, [](Frame& f) { f.data[5] ^= 1; }},
      {"for another prefix", kMisdirected, [](Frame& f) { f.data[0] ^= 2; }},
      {"from another prefix", kMisdirected, [](Frame& f) { f.data[6] ^= 2; }},
      {"from another MAC than its node's", kMisdirected, [](Frame& f) { f.data[11] ^= 1; }},
      {"from ourselves", kMisdirected, [](Frame& f) { f = data(0, tagged(20), kOwnNode); }},
      {"from a node too high", kMisdirected,
       [](Frame& f) {
         f.data[10] = 1;
         exrnic_efe_set_src_node(f.efe(), 0x100 | kPeer);
       }},
      {"another session without SYN", EXRNIC_COUNTER_RX_SESSION,
       [](Frame& f) {
         exrnic_efe_set_session(f.efe(), kSession + 5);
         exrnic_efe_set_flags(f.efe(), EXRNIC_EFE_FLAGS_SEQ);
       }},
  };
  return all;
}

TEST_CASE("From ourselves is what has gone round, and nothing else") {
  for (const bool looped : {false, true}) {
    for (const uint8_t from : {kOwnNode, kPeer}) {
      CAPTURE(looped, unsigned{from});
      EfeRx rx;
      rx.dut().rx_looped_i = looped;
      rx.receive(data(0, tagged(20), from));
      const bool good = looped == (from == kOwnNode);
      CHECK(rx.counters[EXRNIC_COUNTER_RX_MISDIRECTED] == (good ? 0u : 1u));
      CHECK(static_cast<bool>(rx.dut().desc_valid_o) == good);
    }
  }
}

TEST_CASE("Every defect is counted once, and nothing of the frame stays") {
  for (const Defect& defect : defects()) {
    CAPTURE(defect.what);
    EfeRx rx;
    Frame bad = data(0, tagged(20));
    defect.apply(bad);
    const Bytes good = tagged(300, 7);
    rx.receive({bad, data(0, good), bad});
    Counters expected{};
    expected[EXRNIC_COUNTER_FRAMES_RX] = 3;
    expected[defect.counter] = 2;
    CHECK(rx.counters == expected);
    const RxDesc desc = rx.take();
    CHECK(rx.read(desc.start, desc.length) == good);
    CHECK_FALSE(rx.dut().desc_valid_o);
    rx.place(kPeer);
    CHECK(rx.dut().idle_o);
  }
}

TEST_CASE("A frame while disabled is counted as overflow and moves nothing") {
  EfeRx rx;
  rx.dut().enable_i = 0;
  rx.receive({data(0, tagged(20)), ack_only(5)});
  CHECK(rx.counters[EXRNIC_COUNTER_RX_OVERFLOW] == 2);
  CHECK_FALSE(rx.state(kPeer).valid);
  CHECK(rx.acks.empty());
  CHECK(rx.dut().idle_o);
}

TEST_CASE("Duplicates ask for an acknowledgement, gaps for one that tells what is held") {
  EfeRx rx;
  rx.receive(data(0, tagged(20)));
  REQUIRE(rx.requests.empty());
  rx.receive(data(0, tagged(20)));
  REQUIRE(rx.requests.size() == 1);
  CHECK(rx.requests[0].node == kPeer);
  CHECK_FALSE(rx.requests[0].sack);
  rx.receive(data(2, tagged(20)));
  REQUIRE(rx.requests.size() == 2);
  CHECK(rx.requests[1].sack);
  CHECK(rx.counters[EXRNIC_COUNTER_RX_DUPLICATE] == 1);
  CHECK(rx.counters[EXRNIC_COUNTER_RX_OUT_OF_ORDER] == 1);
  CHECK(rx.take().seq == kFirst);
  CHECK_FALSE(rx.dut().desc_valid_o);
}

TEST_CASE("The acknowledgement follows placement, not arrival") {
  EfeRx rx;
  rx.receive({data(0, tagged(20)), data(1, tagged(20)), data(0, tagged(30), 9, 77)});
  CHECK(rx.state(kPeer).valid);
  CHECK(rx.state(kPeer).session == kSession);
  CHECK(rx.state(kPeer).ack == kFirst);
  CHECK_FALSE(rx.state(3).valid);
  rx.take();
  rx.place(kPeer);
  CHECK(rx.state(kPeer).ack == kFirst + 1);
  REQUIRE(rx.requests.size() == 1);
  CHECK(rx.requests[0].node == kPeer);
  rx.place(kPeer);
  rx.place(9);
  CHECK(rx.state(kPeer).ack == kFirst + 2);
  CHECK(rx.state(9).ack == kFirst + 1);
  CHECK(rx.requests.back().node == 9);
}

TEST_CASE("A session starts at the first number, even if its first frames are lost") {
  EfeRx rx;
  rx.receive(data(3, tagged(20)));
  CHECK_FALSE(rx.dut().desc_valid_o);
  CHECK(rx.counters[EXRNIC_COUNTER_RX_OUT_OF_ORDER] == 1);
  CHECK(rx.state(kPeer).ack == kFirst);
  rx.receive(data(0, tagged(20)));
  CHECK(rx.take().seq == kFirst);
}

TEST_CASE("A new session replaces the old one, which does not come back") {
  EfeRx rx;
  rx.receive({data(0, tagged(20)), data(1, tagged(20))});
  CHECK(rx.restarts.empty());
  rx.take();
  rx.refuse(kPeer, kFirst);
  Frame again = data(0, tagged(40), kPeer, kSession + 1);
  rx.receive(again);
  REQUIRE(rx.restarts.size() == 1);
  CHECK(rx.restarts[0].node == kPeer);
  CHECK(rx.restarts[0].known == 0);
  // Segments of the old session that are still being placed do not count.
  rx.place(kPeer);
  rx.place(kPeer);
  CHECK(rx.state(kPeer).session == kSession + 1);
  CHECK(rx.state(kPeer).ack == kFirst);
  rx.place(kPeer);
  CHECK(rx.state(kPeer).ack == kFirst + 1);
  rx.receive(data(0, tagged(20)));
  CHECK(rx.counters[EXRNIC_COUNTER_RX_SESSION] == 1);
  CHECK(rx.state(kPeer).session == kSession + 1);
}

TEST_CASE("A session that was given up and comes late is not taken for a new one") {
  EfeRx rx;
  rx.receive(data(0, tagged(20), kPeer, kSession));
  rx.receive(data(0, tagged(20), kPeer, kSession + 4));
  for (uint16_t late = kSession; late < kSession + 4; ++late)
    rx.receive(data(0, tagged(20), kPeer, late));
  CHECK(rx.counters[EXRNIC_COUNTER_RX_SESSION] == 4);
  CHECK(rx.state(kPeer).session == kSession + 4);
  rx.receive(data(0, tagged(20), kPeer, kSession - 1));
  CHECK(rx.state(kPeer).session == kSession - 1);
}

TEST_CASE("Any session will do as the first") {
  for (const unsigned session : {1, 4, 0xfffc, 0xffff}) {
    EfeRx rx;
    rx.receive(data(0, tagged(20), kPeer, static_cast<uint16_t>(session)));
    CHECK(rx.state(kPeer).session == session);
  }
}

TEST_CASE("A restart tells which session of ours the peer still knows, before its ACK counts") {
  EfeRx rx;
  rx.receive(data(0, tagged(20)));
  rx.dut().peer_restart_ready_i = 0;
  Frame frame = ack_only(5);
  exrnic_efe_set_session(frame.efe(), kSession + 1);
  rx.receive(frame);
  CHECK(rx.acks.empty());
  CHECK_FALSE(rx.dut().idle_o);
  rx.dut().peer_restart_ready_i = 1;
  rx.run(5);
  REQUIRE(rx.restarts.size() == 1);
  CHECK(rx.restarts[0].known == 0x7777);
  REQUIRE(rx.acks.size() == 1);
}

TEST_CASE("A full buffer drops segments whole, but takes their acknowledgement") {
  EfeRx rx;
  const Bytes segment = tagged(EXRNIC_MTU_MAX);
  const unsigned fit = kRxSlots;
  for (unsigned i = 0; i < fit; ++i) rx.receive(data(i, segment));
  REQUIRE(rx.counters[EXRNIC_COUNTER_RX_OVERFLOW] == 0);
  Frame one_more = data(fit, segment);
  exrnic_efe_set_flags(one_more.efe(), kSynSeq | EXRNIC_EFE_FLAGS_ACK);
  exrnic_efe_set_ack(one_more.efe(), 1234);
  rx.receive(one_more);
  CHECK(rx.counters[EXRNIC_COUNTER_RX_OVERFLOW] == 1);
  REQUIRE(rx.acks.size() == 1);
  CHECK(rx.acks[0].ack == 1234);
  for (unsigned i = 0; i < fit; ++i) {
    const RxDesc desc = rx.take();
    REQUIRE(rx.read(desc.start, desc.length) == segment);
    rx.place(kPeer);
  }
  rx.receive(one_more);
  CHECK(rx.take().seq == kFirst + fit);
}

TEST_CASE("More segments than slots are dropped, not mixed up") {
  EfeRx rx;
  std::vector<Frame> frames;
  for (unsigned i = 0; i < 140; ++i) frames.push_back(data(i, tagged(i % 9, i)));
  rx.receive(frames);
  CHECK(rx.counters[EXRNIC_COUNTER_RX_OVERFLOW] == 140 - kRxSlots);
  for (unsigned i = 0; i < kRxSlots; ++i) {
    const RxDesc desc = rx.take();
    CHECK(desc.seq == kFirst + i);
    CHECK(rx.read(desc.start, desc.length) == tagged(i % 9, i));
  }
  CHECK_FALSE(rx.dut().desc_valid_o);
}

TEST_CASE("Segments read back right at any step") {
  EfeRx rx;
  std::mt19937 random(20261120);
  for (unsigned i = 0; i < 60; ++i) {
    CAPTURE(i);
    const Bytes segment = tagged(random() % (EXRNIC_MTU_MAX + 1), i);
    rx.receive(data(i, segment));
    const RxDesc desc = rx.take();
    const unsigned step = 1 + random() % EfeRx::kBeat;
    REQUIRE(rx.read(desc.start, desc.length, step) == segment);
    rx.place(kPeer);
  }
}

TEST_CASE("What is refused is not acknowledged, nor what is behind it, before that is heard") {
  EfeRx rx;
  for (unsigned i = 0; i < 4; ++i) rx.receive(data(i, tagged(20)));
  rx.take();
  rx.place(kPeer);
  rx.take();
  CHECK(rx.refuse(kPeer, kFirst + 1) == EfeRx::Refused::kInForce);
  CHECK(rx.counters[EXRNIC_COUNTER_TERMINATES_TX] == 1);
  rx.run(3);
  CHECK(rx.requests.back().sack);
  CHECK(rx.state(kPeer).refusal == 1);
  CHECK(rx.state(kPeer).refused == kFirst + 1);
  CHECK(rx.state(7).refusal == 0);
  for (unsigned i = 1; i < 4; ++i) {
    rx.place(kPeer);
    CHECK(rx.state(kPeer).ack == kFirst + 1);
  }
  rx.receive(data(1, tagged(20)));  // its sender asks
  CHECK(rx.requests.back().sack);
  rx.hear(kPeer, 2);
  rx.hear(7, 1);
  CHECK(rx.state(kPeer).refusal == 1);
  const std::size_t before = rx.requests.size();
  rx.hear(kPeer, 1);
  CHECK(rx.state(kPeer).refusal == 0);
  CHECK(rx.state(kPeer).ack == kFirst + 4);
  REQUIRE(rx.requests.size() == before + 1);
  CHECK(rx.requests.back().sack);
  rx.hear(kPeer, 1);
  CHECK(rx.requests.size() == before + 1);
}

TEST_CASE("Refusals are counted from 1 to 255, for each node, over its sessions") {
  EfeRx rx;
  for (unsigned i = 0; i < 300; ++i) {
    CAPTURE(i);
    const auto session = static_cast<uint16_t>(kSession + 8 * i);
    rx.receive(data(0, tagged(20), kPeer, session));
    rx.take();
    REQUIRE(rx.refuse(kPeer, kFirst) == EfeRx::Refused::kInForce);
    REQUIRE(rx.state(kPeer).refusal == 1 + i % 255);
    if (i % 3 == 0) rx.hear(kPeer, static_cast<uint8_t>(1 + i % 255));
    rx.place(kPeer);
  }
}

TEST_CASE("A refusal of the peer's is handed out once, and heard when it has been dealt with") {
  EfeRx rx;
  rx.receive({data(0, tagged(20)), refusal(7, 0x1234), refusal(7, 0x1234)});
  CHECK(rx.take().seq == kFirst);
  const RxDesc desc = rx.take();
  CHECK(desc.ack == 0x1234);
  CHECK_FALSE(desc.stale);
  CHECK(desc.length == kTerminate.size());
  CHECK(rx.read(desc.start, desc.length) == kTerminate);
  CHECK_FALSE(rx.dut().desc_valid_o);
  rx.place(kPeer);
  CHECK(rx.state(kPeer).heard == 0);
  rx.place(kPeer);
  CHECK(rx.state(kPeer).heard == 7);
  CHECK(rx.state(kPeer).ack == kFirst + 1);
  CHECK(rx.requests.size() == 2);
  CHECK(rx.counters[EXRNIC_COUNTER_ACKS_RX] == 2);
  CHECK(rx.acks.size() == 2);

  rx.receive(refusal(7, 0x1234));  // the peer has not heard that we have
  CHECK(rx.requests.size() == 3);
  rx.receive({refusal(6, 0x1200), refusal(7 + 128, 0x1200)});  // late
  CHECK(rx.requests.size() == 3);
  CHECK_FALSE(rx.dut().desc_valid_o);
  rx.receive(refusal(8, 0x1240));
  CHECK(rx.state(kPeer).heard == 0);
  rx.place(kPeer);
  CHECK(rx.state(kPeer).heard == 8);
  CHECK(rx.dut().idle_o);
}

TEST_CASE(
    "A refusal of a later session of ours is new, whatever its number; of an earlier one late") {
  for (const int ahead : {-1, 0, 1, 127, 128, 200}) {
    CAPTURE(ahead);
    const auto number = static_cast<uint8_t>(7 + ahead);
    EfeRx rx;
    rx.receive({data(0, tagged(20)), refusal(7, 0x1234, 0xffff)});
    rx.place(kPeer);
    rx.place(kPeer);
    CHECK(rx.state(kPeer).heard == 7);
    CHECK(rx.state(kPeer).heard_session == 0xffff);
    rx.receive(refusal(number, 0x1234, 2));
    REQUIRE(rx.dut().desc_valid_o);
    CHECK(rx.state(kPeer).heard == 0);
    rx.place(kPeer);
    CHECK(rx.state(kPeer).heard == number);
    CHECK(rx.state(kPeer).heard_session == 2);
    rx.receive({refusal(7, 0x1234, 0xffff), refusal(8, 0x1234, 0xffff), refusal(200, 0x1234, 1)});
    CHECK_FALSE(rx.dut().desc_valid_o);
    CHECK(rx.state(kPeer).heard == number);
  }
}

TEST_CASE("That a refusal has been dealt with says nothing of the next one, which waits") {
  EfeRx rx;
  rx.receive({data(0, tagged(20)), refusal(7, 0x1234, 1), refusal(8, 0x1234, 2)});
  rx.place(kPeer);
  rx.place(kPeer);
  CHECK(rx.state(kPeer).heard == 0);
  rx.place(kPeer);
  CHECK(rx.state(kPeer).heard == 8);
  CHECK(rx.state(kPeer).heard_session == 2);
  CHECK(rx.dut().idle_o);
}

TEST_CASE("What RNR says comes with its refusal") {
  EfeRx rx;
  Frame frame = refusal(1, 0x77);
  exrnic_efe_set_flags(frame.efe(), frame.flags() | EXRNIC_EFE_FLAGS_RNR);
  exrnic_efe_set_sack_imm(frame.efe(), EXRNIC_RNR_TIMER_MAX);
  rx.receive({data(0, tagged(8)), frame, data(1, tagged(8))});
  CHECK_FALSE(rx.take().rnr);
  const RxDesc told = rx.take();
  CHECK(told.rnr);
  CHECK(told.ack == 0x77);
  CHECK_FALSE(told.imm_valid);
  CHECK(told.imm == EXRNIC_RNR_TIMER_MAX);
  CHECK_FALSE(rx.take().rnr);
  CHECK(rx.counters[EXRNIC_COUNTER_RX_MALFORMED] == 0);
}

TEST_CASE("With a new session of the peer nothing is heard, and no refusal is in force") {
  EfeRx rx;
  rx.receive({data(0, tagged(20)), refusal(7, 0x1234)});
  rx.take();
  rx.refuse(kPeer, kFirst);
  rx.place(kPeer);
  rx.take();
  rx.receive({data(0, tagged(20), kPeer, kSession + 1)});
  rx.place(kPeer);  // the refusal of the old session
  CHECK(rx.state(kPeer).heard == 0);
  CHECK(rx.state(kPeer).refusal == 0);
  Frame again = refusal(7, 0x1234);
  exrnic_efe_set_session(again.efe(), kSession + 1);
  rx.receive(again);
  rx.place(kPeer);
  rx.place(kPeer);
  CHECK(rx.state(kPeer).heard == 7);
  CHECK(rx.state(kPeer).ack == kFirst + 1);
}

TEST_CASE("Acknowledgements that wait are joined, newest first, and none is lost") {
  EfeRx rx;
  rx.dut().peer_ack_ready_i = 0;
  rx.receive({ack_only(100), ack_only(7, 0, 9), ack_only(101, EXRNIC_EFE_FLAGS_SACK), ack_only(101),
              ack_only(99)});
  rx.dut().peer_ack_ready_i = 1;
  rx.run(10);
  REQUIRE(rx.acks.size() == 2);
  CHECK(rx.acks[0].node == kPeer);
  CHECK(rx.acks[0].ack == 101);
  CHECK(rx.acks[0].sack);
  CHECK(rx.acks[1].node == 9);
  CHECK(rx.acks[1].ack == 7);
  CHECK(rx.counters[EXRNIC_COUNTER_ACKS_RX] == 5);
  CHECK(rx.dut().idle_o);
}

// A refusal of each of these nodes is in force.
void refuse_all(EfeRx& rx, uint8_t from, uint8_t to) {
  for (uint8_t node = from; node < to; ++node) {
    rx.receive(data(0, tagged(20), node));
    rx.take();
    REQUIRE(rx.refuse(node, kFirst) == EfeRx::Refused::kInForce);
    rx.place(node);
  }
  rx.run(10);
  rx.requests.clear();
}

TEST_CASE("Reasons to acknowledge in the same cycle are all told") {
  EfeRx rx;
  refuse_all(rx, 7, 8);
  rx.receive(data(0, tagged(20)));
  rx.dut().peer_heard_valid_i = 1;
  rx.dut().peer_heard_node_i = 7;
  rx.dut().peer_heard_i = 1;
  rx.dut().desc_ready_i = 1;
  rx.dut().frame_done_valid_i = 0;
  rx.cycle();
  rx.dut().frame_done_valid_i = 1;
  rx.dut().frame_done_node_i = kPeer;
  rx.cycle();
  rx.run(3);
  REQUIRE(rx.requests.size() == 2);
  CHECK(rx.requests[0].node + rx.requests[1].node == kPeer + 7);
}

TEST_CASE("Refusals that are heard one after the other while segments are placed are all told") {
  EfeRx rx;
  refuse_all(rx, 20, 32);
  rx.receive(data(0, tagged(20)));
  rx.take();
  for (int i = 0; i < 12; ++i) {
    rx.dut().peer_heard_valid_i = 1;
    rx.dut().peer_heard_node_i = static_cast<uint8_t>(20 + i);
    rx.dut().peer_heard_i = 1;
    rx.dut().frame_done_valid_i = i == 0;  // others wait for a cycle without one
    rx.dut().frame_done_node_i = kPeer;
    rx.cycle();
  }
  rx.run(20);
  CHECK(rx.requests.size() == 13);
  CHECK(rx.dut().idle_o);
}

TEST_CASE("A segment with CE is told in the next acknowledgement to its sender, and in no other") {
  EfeRx rx;
  Frame marked = data(0, tagged(20));
  exrnic_efe_set_flags(marked.efe(), marked.flags() | EXRNIC_EFE_FLAGS_CE);
  rx.receive(marked);
  CHECK(rx.counters[EXRNIC_COUNTER_RX_MARKED] == 1);
  CHECK(rx.state(kPeer).ece);
  CHECK_FALSE(rx.state(7).ece);
  rx.dut().peer_query_node_i = kPeer;
  rx.dut().peer_ack_sent_i = 1;
  rx.cycle();
  rx.dut().peer_ack_sent_i = 0;
  CHECK_FALSE(rx.state(kPeer).ece);
  rx.receive(data(1, tagged(20)));
  CHECK_FALSE(rx.state(kPeer).ece);
}

TEST_CASE("An echo that waits is not lost to a later acknowledgement") {
  EfeRx rx;
  rx.receive(data(0, tagged(20)));
  rx.dut().peer_ack_ready_i = 0;
  constexpr uint32_t kAck = EXRNIC_EFE_FLAGS_ACK;
  for (const uint32_t flags : {kAck | EXRNIC_EFE_FLAGS_ECE, kAck}) {
    Frame frame = make_frame(kOwnNode, kPeer, flags, kSession, 0);
    exrnic_efe_set_peer_session(frame.efe(), 0x1111);
    rx.receive(frame);
  }
  rx.dut().peer_ack_ready_i = 1;
  rx.run(3);
  REQUIRE(rx.acks.size() == 1);
  CHECK(rx.acks[0].ece);
}

TEST_CASE("A greeting is answered; a frame that acknowledges is not") {
  EfeRx rx;
  rx.receive(make_frame(kOwnNode, kPeer, EXRNIC_EFE_FLAGS_SYN, kSession, kFirst));
  REQUIRE(rx.requests.size() == 1);
  CHECK(rx.requests[0].node == kPeer);
  rx.receive(
      make_frame(kOwnNode, kPeer, EXRNIC_EFE_FLAGS_SYN | EXRNIC_EFE_FLAGS_ACK, kSession, kFirst));
  CHECK(rx.requests.size() == 1);
}

}  // namespace
}  // namespace exrnic::testing
