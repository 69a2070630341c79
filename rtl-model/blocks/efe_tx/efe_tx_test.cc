// SPDX-License-Identifier: BSD-2-Clause
#include <catch2/catch_test_macros.hpp>
#include <set>

#include "rtl-model/blocks/efe_tx/efe_tx_bench.h"

namespace exrnic::testing {
namespace {

constexpr uint32_t kFirst = EXRNIC_INITIAL_SEQ;

Bytes pattern(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  Bytes bytes(size);
  for (auto& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

// A tagged header: RDMA Write, last segment, STag 0x00a1b2c3, offset 0x1122334455667788.
const Bytes kTagged = {0xc1, 0x40, 0x00, 0xa1, 0xb2, 0xc3, 0x11,
                       0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88};
// An untagged one: Terminate, last segment, queue 2, MSN 1, offset 0.
const Bytes kUntagged = {0x41, 0x47, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0};

TxDesc tagged(uint8_t slot, uint8_t node, uint16_t length, uint16_t index = 0) {
  TxDesc desc;
  desc.slot = slot;
  desc.node = node;
  desc.dst_qpn = 0x000203;
  desc.src_qpn = 0x000105;
  put_bytes(desc.ddp, kTagged);
  desc.length = length;
  desc.tag.wqe_index = index;
  return desc;
}

// Allocates, loads and submits a segment; its tag carries `index`.
uint8_t send(EfeTx& tx, uint8_t node, const Bytes& payload, uint16_t index = 0) {
  const uint8_t slot = tx.allocate();
  tx.submit(tagged(slot, node, static_cast<uint16_t>(payload.size()), index));
  tx.load(slot, payload);
  return slot;
}

Bytes join(Bytes first, const Bytes& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

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
    desc.tag.kind = kTxTerminate;
    tx.submit(desc);
    const Frame frame = tx.next_frame();
    CHECK(frame.segment() == join(kUntagged, payload));
    CHECK(tx.sizes.back() == EXRNIC_HEADER_UNTAGGED_BYTES + length);
    CHECK(tx.counters[EXRNIC_COUNTER_TERMINATES_TX] == 1);
  }
}

// An empty terminate message in a slot of its own.
void terminate(EfeTx& tx, uint8_t node) {
  TxDesc desc;
  desc.slot = tx.allocate();
  desc.node = node;
  desc.untagged = true;
  put_bytes(desc.ddp, kUntagged);
  desc.inlined = true;
  desc.tag.kind = kTxTerminate;
  tx.submit(desc);
}

TEST_CASE("A hold ends when the peer has dealt with every terminate message, acknowledged or not") {
  EfeTx tx;
  send(tx, 7, pattern(8, 1), 0);
  terminate(tx, 7);
  terminate(tx, 7);
  for (int i = 0; i < 3; ++i) tx.next_frame();
  tx.acknowledge({7, session_to(7), kFirst, false, 2});  // the second one is still to come
  CHECK(tx.hold_clears.empty());
  tx.acknowledge({7, session_to(7), kFirst, false, 4});  // more than was sent
  CHECK(tx.hold_clears.empty());
  CHECK(tx.counters[EXRNIC_COUNTER_RX_BAD_ACK] == 1);
  tx.acknowledge({7, session_to(7), kFirst, false, 3});
  CHECK(tx.hold_clears == std::vector<uint8_t>{7});
  CHECK(tx.dones.empty());
  tx.acknowledge({7, session_to(7), kFirst + 3, false});
  CHECK(tx.hold_clears.size() == 1);
  CHECK(tx.dones.size() == 3);
}

TEST_CASE("A hold ends when its peer is given up") {
  EfeTx tx;
  terminate(tx, 7);
  tx.wait_for("the peer to be given up", 1'000'000, [&] { return !tx.dones.empty(); });
  CHECK(tx.dones[0].status == EXRNIC_CQE_STATUS_RETRY_EXC_ERR);
  tx.run(10);
  CHECK(tx.hold_clears == std::vector<uint8_t>{7});
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
    tx.acknowledge({3, session_to(3), frame.seq() + 1, false});
  }
  CHECK(tx.stalls == 0);
  CHECK_FALSE(tx.collector.broken());
  CHECK(tx.dones.size() == 200);
}

TEST_CASE("Frames leave in the order of submission, whatever payload comes first") {
  EfeTx tx;
  const uint8_t first = tx.allocate();
  const uint8_t second = tx.allocate();
  tx.submit(tagged(first, 2, 5));
  tx.submit(tagged(second, 3, 5));
  tx.load(second, pattern(5, 2));
  tx.run(200);
  REQUIRE(tx.frames.empty());
  tx.load(first, pattern(5, 1));
  CHECK(tx.next_frame().dst_node() == 2);
  CHECK(tx.next_frame().dst_node() == 3);
}

TEST_CASE("A cumulative acknowledgement ends slots in order and frees them") {
  EfeTx tx;
  for (uint16_t i = 0; i < kTxSlots; ++i) send(tx, 2, pattern(8, i), i);
  tx.run(700);
  REQUIRE(tx.frames.size() == kTxSlots);
  CHECK_FALSE(tx.dut().alloc_valid_o);
  CHECK_FALSE(tx.dut().idle_o);
  tx.acknowledge({2, session_to(2), kFirst + 40, false});
  tx.run(200);
  REQUIRE(tx.dones.size() == 40);
  tx.acknowledge({2, session_to(2), kFirst + kTxSlots, false});
  tx.run(200);
  REQUIRE(tx.dones.size() == kTxSlots);
  for (uint16_t i = 0; i < kTxSlots; ++i) {
    CHECK(tx.dones[i].tag.wqe_index == i);
    CHECK(tx.dones[i].seq == kFirst + i);
    CHECK(tx.dones[i].status == EXRNIC_CQE_STATUS_SUCCESS);
  }
  CHECK(tx.dut().idle_o);
  std::set<uint8_t> slots;
  for (unsigned i = 0; i < kTxSlots; ++i) {
    CHECK(bool{tx.dut().alloc_spare_o != 0} == (kTxSlots - i > kTxSlotsReserved));
    slots.insert(tx.allocate());
  }
  CHECK(slots.size() == kTxSlots);
}

TEST_CASE("SYN is set until the first acknowledgement of the session") {
  EfeTx tx;
  send(tx, 2, pattern(8, 0));
  CHECK(tx.next_frame().has(EXRNIC_EFE_FLAGS_SYN));
  send(tx, 2, pattern(8, 0));
  CHECK(tx.next_frame().has(EXRNIC_EFE_FLAGS_SYN));
  tx.acknowledge({2, session_to(2), kFirst, false});
  send(tx, 2, pattern(8, 0));
  CHECK_FALSE(tx.next_frame().has(EXRNIC_EFE_FLAGS_SYN));
}

TEST_CASE("An acknowledgement outside the window or of another session does nothing") {
  EfeTx tx;
  send(tx, 2, pattern(8, 0));
  tx.next_frame();
  tx.acknowledge({2, session_to(2), kFirst + 2, false});
  tx.acknowledge({2, session_to(2), kFirst - 1, false});
  tx.acknowledge({2, static_cast<uint16_t>(session_to(2) + 1), kFirst + 1, false});
  tx.acknowledge({9, 0, kFirst, false});
  tx.run(100);
  CHECK(tx.dones.empty());
  CHECK(tx.counters[EXRNIC_COUNTER_RX_BAD_ACK] == 4);
}

TEST_CASE("A NAK resends from the first missing frame, once until a time-out") {
  EfeTx tx;
  for (uint16_t i = 0; i < 4; ++i) send(tx, 2, pattern(20, i), i);
  tx.run(200);
  REQUIRE(tx.frames.size() == 4);
  tx.frames.clear();
  const RxAck nak = {2, session_to(2), kFirst + 1, true};
  tx.acknowledge(nak);
  for (uint32_t i = 1; i < 4; ++i) {
    const Frame frame = tx.next_frame();
    CHECK(frame.seq() == kFirst + i);
    CHECK(frame.segment() == join(kTagged, pattern(20, i)));
  }
  tx.acknowledge(nak);
  tx.run(300);
  CHECK(tx.frames.empty());
  CHECK(tx.counters[EXRNIC_COUNTER_RETRANSMITS] == 3);
  CHECK(tx.next_frame().seq() == kFirst + 1);
  CHECK(tx.counters[EXRNIC_COUNTER_TIMEOUTS] == 1);
  tx.run(100);
  tx.frames.clear();
  tx.acknowledge(nak);
  CHECK(tx.next_frame(100).seq() == kFirst + 1);
}

TEST_CASE("An acknowledgement during a resend skips what has arrived") {
  EfeTx tx;
  for (uint16_t i = 0; i < 8; ++i) send(tx, 2, pattern(2000, i), i);
  tx.run(2000);
  tx.frames.clear();
  tx.acknowledge({2, session_to(2), kFirst, true});
  tx.acknowledge({2, session_to(2), kFirst + 6, false});
  tx.run(1200);
  std::vector<uint32_t> resent;
  for (const Frame& frame : tx.frames) resent.push_back(frame.seq() - kFirst);
  REQUIRE(resent.size() >= 2);
  CHECK(resent.size() <= 5);
  CHECK(resent[resent.size() - 2] == 6);
  CHECK(resent.back() == 7);
}

TEST_CASE("A silent peer is given up after the retry limit, and a new session starts") {
  EfeTx tx;
  send(tx, 2, pattern(8, 0), 0);
  send(tx, 2, pattern(8, 1), 1);
  const uint8_t waiting = tx.allocate();
  tx.submit(tagged(waiting, 2, 8, 2));  // its payload takes long
  tx.run((kRetryLimit + 1) * (kRto + 300));
  REQUIRE(tx.dones.size() == 2);
  CHECK(tx.counters[EXRNIC_COUNTER_TIMEOUTS] == kRetryLimit + 1);
  CHECK(tx.counters[EXRNIC_COUNTER_RETRANSMITS] == 2 * kRetryLimit);
  CHECK(tx.counters[EXRNIC_COUNTER_PEERS_DEAD] == 1);
  CHECK(tx.frames.size() == 2 * (kRetryLimit + 1));
  tx.load(waiting, pattern(8, 2));
  for (uint16_t i = 0; i < 3; ++i) {
    const TxDone done = tx.next_done(100);
    CHECK(done.tag.wqe_index == i);
    CHECK(done.status == EXRNIC_CQE_STATUS_RETRY_EXC_ERR);
  }
  tx.frames.clear();
  send(tx, 2, pattern(8, 3), 3);
  const Frame frame = tx.next_frame();
  CHECK(frame.session() == session_to(2) + 1);
  CHECK(frame.seq() == kFirst);
  CHECK(frame.has(EXRNIC_EFE_FLAGS_SYN));
}

TEST_CASE("A slot that is not sent takes no number, but its done comes in order") {
  EfeTx tx;
  send(tx, 2, pattern(8, 0), 0);
  const uint8_t poisoned = tx.allocate();
  tx.submit(tagged(poisoned, 2, 100, 1));
  tx.fail(poisoned, 100);
  TxDesc failed = tagged(tx.allocate(), 2, 16, 2);
  failed.unsent = true;
  failed.status = EXRNIC_CQE_STATUS_LOC_QP_OP_ERR;
  tx.load(failed.slot, pattern(16, 2));
  tx.submit(failed);
  send(tx, 2, pattern(8, 3), 3);
  CHECK(tx.next_frame().seq() == kFirst);
  CHECK(tx.next_frame().seq() == kFirst + 1);
  tx.run(100);
  CHECK(tx.dones.empty());
  tx.acknowledge({2, session_to(2), kFirst + 2, false});
  tx.run(50);
  REQUIRE(tx.dones.size() == 4);
  CHECK(tx.dones[0].status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(tx.dones[1].status == EXRNIC_CQE_STATUS_LOC_PROT_ERR);
  CHECK(tx.dones[2].status == EXRNIC_CQE_STATUS_LOC_QP_OP_ERR);
  CHECK(tx.dones[3].status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(tx.dones[3].seq == kFirst + 1);
}

TEST_CASE("An unsent slot ends with the status that it came with, even if its peer is given up") {
  EfeTx tx;
  send(tx, 2, pattern(8, 0), 0);
  TxDesc unsent = tagged(tx.allocate(), 2, 0, 1);
  unsent.unsent = true;
  tx.submit(unsent);  // with success: its work is done at home
  unsent.slot = tx.allocate();
  unsent.tag.wqe_index = 2;
  unsent.status = EXRNIC_CQE_STATUS_WR_FLUSH_ERR;
  tx.submit(unsent);
  CHECK(tx.next_done().status == EXRNIC_CQE_STATUS_RETRY_EXC_ERR);
  CHECK(tx.next_done().status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(tx.next_done().status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
  CHECK(tx.counters[EXRNIC_COUNTER_FRAMES_TX] == kRetryLimit + 1);
}

TEST_CASE("Immediate data travels in the EFE header, in every copy of its frame and in no other") {
  EfeTx tx;
  for (uint16_t i = 0; i < 3; ++i) {
    TxDesc desc = tagged(tx.allocate(), 2, 0, i);
    desc.untagged = true;
    put_bytes(desc.ddp, kUntagged);
    desc.imm_valid = i == 1;
    desc.imm = 0xdeadbeef;
    tx.submit(desc);
  }
  for (int copy = 0; copy < 2; ++copy) {
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
  desc.tag.kind = kTxResponse;
  tx.submit(desc);
  tx.load(slot, pattern(100, 1));
  CHECK(tx.next_frame().segment() == join(kTagged, pattern(100, 1)));
  tx.acknowledge({2, session_to(2), kFirst + 1, false});
  const TxDone done = tx.next_done();
  CHECK(done.tag.kind == kTxResponse);
  CHECK(done.status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(tx.counters[EXRNIC_COUNTER_TERMINATES_TX] == 0);
  CHECK(tx.hold_clears.empty());
}

TEST_CASE("A slot that is not sent ends at once when nothing is before it, and is clean again") {
  EfeTx tx;
  const uint8_t slot = tx.allocate();
  tx.submit(tagged(slot, 2, 100));
  tx.fail(slot, 100);
  CHECK(tx.next_done(100).status == EXRNIC_CQE_STATUS_LOC_PROT_ERR);
  for (unsigned i = 0; i < kTxSlots; ++i) {
    send(tx, 2, pattern(10, i));
    REQUIRE(tx.next_frame().seq() == kFirst + i);
    tx.acknowledge({2, session_to(2), kFirst + i + 1, false});
    REQUIRE(tx.next_done().status == EXRNIC_CQE_STATUS_SUCCESS);
  }
}

TEST_CASE("Acknowledgements owed to a node are sent once, with data if there is some") {
  EfeTx tx;
  tx.rx_states[2] = {true, 0x5555, 77};
  tx.rx_states[3] = {true, 0x6666, 88};
  tx.dut().tx_ready_i = 0;
  send(tx, 9, pattern(100, 0));  // keeps the framer, and the place before it, busy
  send(tx, 9, pattern(100, 0));
  tx.run(50);
  for (int i = 0; i < 5; ++i) tx.request_ack(2);
  tx.request_ack(3, true);
  send(tx, 2, pattern(8, 0));
  tx.run(50);
  tx.dut().tx_ready_i = 1;
  tx.run(100);
  REQUIRE(tx.frames.size() == 4);
  tx.frames.pop_front();
  tx.frames.pop_front();
  std::map<uint8_t, Frame> to;
  for (const Frame& frame : tx.frames) to[frame.dst_node()] = frame;
  CHECK(to[2].flags() == (EXRNIC_EFE_FLAGS_SEQ | EXRNIC_EFE_FLAGS_ACK | EXRNIC_EFE_FLAGS_SYN));
  CHECK(to[2].ack() == 77);
  CHECK(to[3].flags() == (EXRNIC_EFE_FLAGS_ACK | EXRNIC_EFE_FLAGS_SYN | EXRNIC_EFE_FLAGS_NAK));
  CHECK(to[3].ack() == 88);
  CHECK(to[3].peer_session() == 0x6666);
  CHECK(to[3].data.size() == EXRNIC_ETH_FRAME_MIN);
  CHECK(tx.counters[EXRNIC_COUNTER_ACKS_TX] == 1);
  CHECK(tx.counters[EXRNIC_COUNTER_FRAMES_TX] == 4);
}

TEST_CASE("A node of which nothing came is greeted with SYN, and acknowledged nothing") {
  EfeTx tx;
  tx.request_ack(2);
  const Frame frame = tx.next_frame();
  CHECK(frame.dst_node() == 2);
  CHECK(frame.flags() == EXRNIC_EFE_FLAGS_SYN);
  CHECK(frame.data.size() == EXRNIC_ETH_FRAME_MIN);
}

TEST_CASE("A restarted peer has its frames given up; one that knows our session has not") {
  EfeTx tx;
  send(tx, 2, pattern(8, 0), 0);
  tx.next_frame();
  tx.acknowledge({2, session_to(2), kFirst, false});
  tx.restart_peer(2, session_to(2));
  CHECK(tx.dones.empty());
  tx.restart_peer(2, 0);
  CHECK(tx.next_done(50).status == EXRNIC_CQE_STATUS_RETRY_EXC_ERR);
  send(tx, 2, pattern(8, 1), 1);
  const Frame frame = tx.next_frame();
  CHECK(frame.session() == session_to(2) + 1);
  CHECK(frame.seq() == kFirst);
  CHECK(frame.has(EXRNIC_EFE_FLAGS_SYN));
  CHECK(tx.counters[EXRNIC_COUNTER_PEERS_DEAD] == 0);
}

TEST_CASE("A peer that knows an older session of ours makes nothing lost while ours has SYN") {
  EfeTx tx;
  send(tx, 2, pattern(8, 0), 0);
  tx.next_frame();
  tx.restart_peer(2, 0x0bad);
  CHECK(tx.dones.empty());
  tx.acknowledge({2, session_to(2), kFirst, false});
  tx.restart_peer(2, 0x0bad);
  CHECK(tx.next_done(50).status == EXRNIC_CQE_STATUS_RETRY_EXC_ERR);
}

TEST_CASE("A new frame waits until the older ones to its node are resent") {
  EfeTx tx;
  for (uint16_t i = 0; i < 5; ++i) send(tx, 2, pattern(200, i), i);
  tx.run(300);
  tx.frames.clear();
  tx.acknowledge({2, session_to(2), kFirst, true});
  send(tx, 2, pattern(8, 5), 5);
  for (uint32_t i = 0; i < 6; ++i) CHECK(tx.next_frame(300).seq() == kFirst + i);
}

TEST_CASE("A request to acknowledge is not lost, in whatever cycle it comes") {
  for (int delay = 0; delay < 24; ++delay) {
    CAPTURE(delay);
    EfeTx tx;
    tx.rx_states[2] = {true, 0x5555, 1};
    tx.request_ack(2);
    tx.run(delay);
    tx.rx_states[2].ack = 2;
    tx.request_ack(2);
    tx.run(100);
    REQUIRE_FALSE(tx.frames.empty());
    CHECK(tx.frames.back().ack() == 2);
  }
}

TEST_CASE("A slot is not handed out again while its frame still leaves") {
  EfeTx tx;
  for (uint16_t i = 0; i < kTxSlots; ++i) send(tx, 2, pattern(64, i), i);
  tx.run(700);
  tx.frames.clear();
  tx.acknowledge({2, session_to(2), kFirst, true});
  tx.dut().tx_ready_i = 0;
  tx.acknowledge({2, session_to(2), kFirst + kTxSlots, false});
  tx.run(500);
  const std::size_t dones = tx.dones.size();
  CHECK(dones < kTxSlots);
  tx.dut().tx_ready_i = 1;
  tx.run(500);
  CHECK(tx.dones.size() == kTxSlots);
}

TEST_CASE("Without enable no frame leaves and no time-out strikes") {
  EfeTx tx;
  tx.dut().enable_i = 0;
  tx.rx_states[2] = {true, 1, 1};
  send(tx, 2, pattern(8, 0));
  tx.request_ack(2);
  tx.run(2 * kRto);
  CHECK(tx.frames.empty());
  CHECK(tx.counters[EXRNIC_COUNTER_TIMEOUTS] == 0);
  tx.dut().enable_i = 1;
  CHECK(tx.next_frame().seq() == kFirst);
}

TEST_CASE("A resend to one peer does not keep another waiting") {
  EfeTx tx;
  for (uint16_t i = 0; i < 30; ++i) send(tx, 2, pattern(300, i), i);
  tx.run(1200);
  REQUIRE(tx.frames.size() == 30);
  tx.frames.clear();
  tx.acknowledge({2, session_to(2), kFirst, true});
  send(tx, 3, pattern(8, 0));
  tx.run(200);
  REQUIRE(tx.frames.size() >= 3);
  CHECK((tx.frames[0].dst_node() == 3 || tx.frames[1].dst_node() == 3 ||
         tx.frames[2].dst_node() == 3));
}

}  // namespace
}  // namespace exrnic::testing
