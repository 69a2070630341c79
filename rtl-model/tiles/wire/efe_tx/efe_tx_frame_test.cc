// SPDX-License-Identifier: BSD-2-Clause
#include <catch2/catch_test_macros.hpp>

#include "rtl-model/tiles/wire/efe_tx/efe_tx_segments.h"

namespace exrnic::testing {
namespace {

TEST_CASE("A tagged frame has the bytes of the specification") {
  EfeTx tx;
  tx.rx_states[2] = {true, 0xbeef, 0x01020304};
  send(tx, 2, {'e', 'x', 'r'});
  const Frame frame = tx.next_frame();
  const Bytes expected = {0x02, 0x45, 0x58, 0x52, 0x00, 0x02,  // to node 2
                          0x02, 0x45, 0x58, 0x52, 0x00, 0x01,  // from node 1
                          0x88, 0xb5,                          // EtherType
                          0x10,                                // version 1, reliable class
                          0x07,                                // SEQ, ACK, SYN
                          0x00, 0x11,                          // 14 + 3 bytes
                          0x00, 0x01,                          // source node
                          0x00, 0x00,                          // credit
                          0x12, 0x36,                          // session
                          0xbe, 0xef,                          // peer's session
                          0xff, 0xff, 0xff, 0x80,              // sequence number
                          0x01, 0x02, 0x03, 0x04,              // acknowledged
                          0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // SACK, time stamps
                          0x00, 0x00, 0x02, 0x03,                          // destination queue pair
                          0x00, 0x00, 0x01, 0x05,                          // source queue pair
                          0xc1, 0x40, 0x00, 0xa1, 0xb2, 0xc3, 0x11, 0x22,  // DDP
                          0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 'e',  'x',  'r'};
  CHECK(frame.data == expected);
}

TEST_CASE("An untagged frame with inline payload follows its longer header without a gap") {
  for (const unsigned length : {0, 1, 12, 13, 20, 28, 29, 32, 33, 60, 61, 64}) {
    CAPTURE(length);
    EfeTx tx;
    TxDesc desc;
    desc.slot = tx.allocate();
    desc.node = 7;
    desc.untagged = true;
    put_bytes(desc.ddp, kUntagged);
    desc.length = static_cast<uint16_t>(length);
    desc.inlined = true;
    const Bytes payload = pattern(length, length);
    put_bytes(desc.inline_data, payload);
    desc.tag.kind = kTxKindTerminate;
    tx.submit(desc);
    const Frame frame = tx.next_frame();
    CHECK(frame.segment() == join(kUntagged, payload));
    CHECK(tx.sizes.back() == EXRNIC_HEADER_UNTAGGED_BYTES + length);
    CHECK(tx.counters[EXRNIC_COUNTER_TERMINATES_TX] == 1);
  }
}

TEST_CASE("An untagged frame with payload from memory is shifted whole") {
  for (const uint16_t length : {1, 11, 12, 13, 16, 28, 29, 64, 1000, 4096}) {
    CAPTURE(length);
    EfeTx tx(length);
    TxDesc desc = tagged(tx.allocate(), 7, length);
    desc.untagged = true;
    put_bytes(desc.ddp, kUntagged);
    const Bytes payload = pattern(length, length);
    tx.load(desc.slot, payload);
    tx.submit(desc);
    CHECK(tx.next_frame().segment() == join(kUntagged, payload));
  }
}

TEST_CASE("Payload in beats of any size and alignment arrives intact, at full rate") {
  EfeTx tx(20261120);
  std::mt19937 random(20261120);
  tx.random_ready = true;
  for (int i = 0; i < 200; ++i) {
    const std::size_t length = random() % 8 == 0 ? 4096 : random() % 300;
    CAPTURE(i, length);
    const Bytes payload = pattern(length, i);
    send(tx, 3, payload);
    const Frame frame = tx.next_frame();
    REQUIRE(frame.segment() == join(kTagged, payload));
    REQUIRE(frame.seq() == kFirst + i);
    tx.acknowledge({3, session_to(3), frame.seq() + 1});
  }
  CHECK(tx.stalls == 0);
  CHECK_FALSE(tx.collector.broken());
  CHECK(tx.dones.size() == 200);
}

TEST_CASE("A frame of the unreliable class leaves once, and ends when it has left") {
  EfeTx tx;
  tx.rx_states[2] = {true, 0xbeef, 0x01020304};
  send(tx, 2, pattern(100, 1), 1);
  TxDesc once = tagged(tx.allocate(), 2, 200, 2);
  once.unreliable = once.first = once.imm_valid = true;
  once.number = 0xffffffff;
  once.imm = 0xdeadbeef;
  const Bytes payload = pattern(200, 2);
  tx.submit(once);
  tx.load(once.slot, payload);
  send(tx, 2, pattern(100, 3), 3);
  CHECK(tx.next_frame().seq() == kFirst);
  const Frame frame = tx.next_frame();
  Bytes header = {0x11, 0x15, 0x00, 0xd6, 0x00, 0x01, 0x00, 0x00,  // class, flags, length, source
                  0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff,  // no sessions; its number
                  0x00, 0x00, 0x00, 0x00, 0xde, 0xad, 0xbe, 0xef,  // no ack; immediate data
                  0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03,  // destination queue pair
                  0x00, 0x00, 0x01, 0x05};                         // source queue pair
  CHECK(Bytes(frame.efe(), frame.efe() + EXRNIC_EFE_BYTES) == header);
  CHECK(frame.segment() == join(kTagged, payload));
  CHECK(tx.next_frame().seq() == kFirst + 1);
  const TxDone done = tx.next_done();
  CHECK(done.tag.wqe_index == 2);
  CHECK(done.status == EXRNIC_CQE_STATUS_SUCCESS);
  tx.acknowledge({2, session_to(2), kFirst + 2});
  CHECK(tx.next_done().tag.wqe_index == 1);
  CHECK(tx.next_done().tag.wqe_index == 3);
  tx.run(static_cast<int>(3 * kRto));
  CHECK(tx.frames.empty());
  CHECK(tx.dut().idle_o);
}

TEST_CASE("While frames that are sent once leave, acknowledgements are handled") {
  EfeTx tx;
  send(tx, 7, pattern(8, 1), 1);
  tx.next_frame();
  tx.dut().tx_ready_i = 0;
  for (uint8_t i = 2; i < 4; ++i) {
    TxDesc once = tagged(tx.allocate(), 2, 8, i);
    once.unreliable = once.first = true;
    tx.submit(once);
    tx.load(once.slot, pattern(8, i));
  }
  tx.run(100);
  CHECK(tx.dones.empty());
  tx.acknowledge({7, session_to(7), kFirst + 1});
  CHECK(tx.next_done().tag.wqe_index == 1);
  CHECK(tx.dones.empty());  // their slots are still being read
  tx.dut().tx_ready_i = 1;
  CHECK(tx.next_done().tag.wqe_index == 2);
  CHECK(tx.next_done().tag.wqe_index == 3);
}

TEST_CASE("A datagram goes to the node or the group that it names, with its keys") {
  EfeTx tx;
  for (const bool to_group : {false, true}) {
    TxDesc desc = tagged(tx.allocate(), 1, 8, 2);  // in the queue of the own node
    desc.unreliable = desc.datagram = true;
    desc.dest = 9;
    desc.dst_qpn = to_group ? EXRNIC_GROUP_QPN + 0xa5c3 : 0x203;
    desc.number = 0x11223344;
    desc.qkey = 0x55667788;
    desc.pkey = 0x99aa;
    tx.submit(desc);
    tx.load(desc.slot, pattern(8, 2));
    const Frame frame = tx.next_frame();
    const uint64_t prefix = to_group ? EXRNIC_GROUP_MAC_PREFIX : EXRNIC_MAC_PREFIX;
    CHECK(exrnic_eth_dst(frame.data.data()) == (prefix << 16 | (to_group ? 0xa5c3 : 9)));
    CHECK(exrnic_efe_klass(frame.efe()) == EXRNIC_EFE_CLASS_DATAGRAM);
    CHECK(exrnic_efe_flags(frame.efe()) == EXRNIC_EFE_FLAGS_SEQ);
    CHECK(exrnic_efe_dst_qpn(frame.efe()) == desc.dst_qpn);
    CHECK(exrnic_efe_ack(frame.efe()) == desc.qkey);
    CHECK(exrnic_efe_peer_session(frame.efe()) == desc.pkey);
    CHECK(exrnic_efe_session(frame.efe()) == 0);
    CHECK(frame.seq() == desc.number);
    CHECK(tx.next_done().status == EXRNIC_CQE_STATUS_SUCCESS);
  }
  tx.run(static_cast<int>(3 * kRto));
  CHECK(tx.frames.empty());
  CHECK(tx.dut().idle_o);
}

TEST_CASE("Of the unreliable class, unreadable payload fails, and only that") {
  EfeTx tx;
  for (uint16_t i = 0; i < 3; ++i) {
    TxDesc once = tagged(tx.allocate(), 2, 8, i);
    once.unreliable = true;
    once.number = i;
    tx.submit(once);
    i == 1 ? tx.fail(once.slot, 8) : tx.load(once.slot, pattern(8, i));
  }
  for (uint16_t i = 0; i < 3; ++i) {
    const TxDone done = tx.next_done();
    CHECK(done.tag.wqe_index == i);
    CHECK(done.status == (i == 1 ? EXRNIC_CQE_STATUS_LOC_PROT_ERR : EXRNIC_CQE_STATUS_SUCCESS));
  }
  CHECK(tx.next_frame().seq() == 0);
  CHECK(tx.next_frame().seq() == 2);
  CHECK(tx.frames.empty());
}

TEST_CASE("Immediate data travels in the EFE header, in every copy of its frame and in no other") {
  EfeTx tx;
  for (uint16_t i = 0; i < 4; ++i) {
    TxDesc desc = tagged(tx.allocate(), 2, 0, i);
    desc.untagged = true;
    put_bytes(desc.ddp, kUntagged);
    desc.imm_valid = i == 1;
    desc.imm = 0xdeadbeef;
    tx.submit(desc);
  }
  for (int copy = 0; copy < 2; ++copy) {
    if (copy == 1) tx.next_frame();
    if (copy == 1) tx.acknowledge(selective(2, kFirst, kFirst, 1 << 2));
    for (uint32_t i = 0; i < 3; ++i) {
      CAPTURE(copy, i);
      const Frame frame = tx.next_frame();
      CHECK(frame.seq() == kFirst + i);
      CHECK(frame.has(EXRNIC_EFE_FLAGS_IMM) == (i == 1));
      CHECK(exrnic_efe_sack_imm(frame.efe()) == (i == 1 ? 0xdeadbeef : 0));
    }
  }
  tx.rx_states[2] = {true, 1, 1};
  tx.request_ack(2);
  while (true) {  // an acknowledgement, among more copies
    const Frame frame = tx.next_frame();
    if (frame.has(EXRNIC_EFE_FLAGS_SEQ)) continue;
    CHECK_FALSE(frame.has(EXRNIC_EFE_FLAGS_IMM));
    CHECK(exrnic_efe_sack_imm(frame.efe()) == 0);
    break;
  }
}

TEST_CASE("A segment of a response is a frame like any other, and its done says what it was") {
  EfeTx tx;
  const uint8_t slot = tx.allocate();
  TxDesc desc = tagged(slot, 2, 100, 0);
  desc.tag.kind = kTxKindResponse;
  tx.submit(desc);
  tx.load(slot, pattern(100, 1));
  CHECK(tx.next_frame().segment() == join(kTagged, pattern(100, 1)));
  tx.acknowledge({2, session_to(2), kFirst + 1});
  const TxDone done = tx.next_done();
  CHECK(done.tag.kind == kTxKindResponse);
  CHECK(done.status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(tx.counters[EXRNIC_COUNTER_TERMINATES_TX] == 0);
}

}  // namespace
}  // namespace exrnic::testing
