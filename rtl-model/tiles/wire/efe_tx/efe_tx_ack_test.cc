// SPDX-License-Identifier: BSD-2-Clause
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <vector>

#include "rtl-model/tiles/wire/efe_tx/efe_tx_segments.h"

namespace exrnic::testing {
namespace {

TEST_CASE("Who acknowledges says which refusal it has dealt with; who does not is not believed") {
  EfeTx tx;
  send(tx, 7, pattern(8, 1), 0);
  tx.next_frame();
  tx.acknowledge({7, session_to(7), kFirst + 2, 5});  // more than was sent
  tx.acknowledge({7, static_cast<uint16_t>(session_to(7) + 1), kFirst, 5});
  CHECK(tx.heard.empty());
  CHECK(tx.counters[EXRNIC_COUNTER_RX_BAD_ACK] == 2);
  tx.acknowledge({7, session_to(7), kFirst, 5});
  CHECK(tx.heard == std::vector<std::pair<uint8_t, uint8_t>>{{7, 5}});
}

TEST_CASE(
    "Who is owed an acknowledgement waits for no stream of data and acknowledgements of another") {
  EfeTx tx;
  tx.rx_states[3] = {true, 9, 100};
  tx.dut().enable_i = 0;  // until all payload is there
  for (uint8_t i = 0; i < 20; ++i) send(tx, 7, pattern(300, i), i);
  tx.run(2000);
  tx.dut().enable_i = 1;
  // One comes in all the time, so between any two frames.
  pack(tx.dut().peer_ack_i, RxAck{7, session_to(7), kFirst});
  tx.dut().peer_ack_valid_i = 1;
  tx.next_frame();
  tx.request_ack(3);
  unsigned before = 0;
  while (tx.next_frame().dst_node() != 3) ++before;
  CHECK(before <= 3);
}

// What takes no frame can always leave: so the line does not matter.
TEST_CASE(
    "Of acknowledgements that come all the time one is handled for three new slots, if there are "
    "some") {
  const bool slots_wait = GENERATE(true, false);
  EfeTx tx;
  send(tx, 7, pattern(8, 1), 0);
  tx.next_frame();
  std::vector<uint8_t> slots;
  for (int i = 0; slots_wait && i < 20; ++i) slots.push_back(tx.allocate());
  for (const uint8_t slot : slots) {
    TxDesc unsent = tagged(slot, 3, 0, 1);
    unsent.unsent = true;
    unsent.status = EXRNIC_CQE_STATUS_LOC_PROT_ERR;
    tx.submit(unsent);
  }
  pack(tx.dut().peer_ack_i, RxAck{7, session_to(7), kFirst + 1});
  tx.dut().peer_ack_valid_i = 1;
  tx.settle();
  const auto ended_before_next = [&] {
    const std::size_t ended = tx.dones.size();
    for (int i = 0; !tx.dut().peer_ack_ready_o; ++i) {
      REQUIRE(i < 100);
      tx.cycle();
    }
    const std::size_t count = tx.dones.size() - ended;
    tx.cycle();
    return count;
  };
  ended_before_next();
  CHECK(ended_before_next() == (slots_wait ? 4 : 1));  // and what the first one has ended
  CHECK(ended_before_next() == (slots_wait ? 3 : 0));
  tx.dut().peer_ack_valid_i = 0;
  tx.run(200);
  CHECK(tx.dones.size() == slots.size() + 1);
}

Refusal some_refusal(uint8_t node) {
  Refusal refusal;
  refusal.node = node;
  refusal.seq = 0x01020304;
  refusal.dst_qpn = 0x111213;
  refusal.src_qpn = 0x212223;
  refusal.dst_generation = 0x3132;
  refusal.src_generation = 0x4142;
  refusal.code = EXRNIC_TERM_CODE_STREAM;
  refusal.length = 0x1234;
  refusal.quote[0] = 0xc1;
  refusal.quote[13] = 0x99;
  return refusal;
}

TEST_CASE("A refusal that is in force is all frames without a segment, and no other") {
  EfeTx tx;
  tx.rx_states[2] = {true, 9, 100};
  tx.rx_states[3] = {true, 9, 100};
  tx.refuse(some_refusal(2), 17);
  tx.request_ack(3);
  CHECK(exrnic_efe_refusal(tx.next_frame().efe()) == 0);
  for (int i = 0; i < 3; ++i) {
    CAPTURE(i);
    tx.request_ack(2);
    const Frame frame = tx.next_frame();
    CHECK(frame.dst_node() == 2);
    CHECK(frame.has(EXRNIC_EFE_FLAGS_ACK));
    CHECK_FALSE(frame.has(EXRNIC_EFE_FLAGS_SEQ));
    CHECK_FALSE(frame.has(EXRNIC_EFE_FLAGS_RNR));
    CHECK(exrnic_efe_refusal(frame.efe()) == 17);
    CHECK(frame.seq() == 0x01020304);
    CHECK(frame.ack() == 100);
    CHECK(exrnic_efe_dst_qpn(frame.efe()) == 0x111213);
    CHECK(exrnic_efe_src_qpn(frame.efe()) == 0x212223);
    CHECK(exrnic_efe_dst_generation(frame.efe()) == 0x3132);
    CHECK(exrnic_efe_src_generation(frame.efe()) == 0x4142);
    CHECK(exrnic_efe_sack_imm(frame.efe()) == 0);
    const Bytes segment = frame.segment();
    REQUIRE(segment.size() == EXRNIC_DDP_UNTAGGED_BYTES + EXRNIC_TERMINATE_BYTES);
    CHECK(exrnic_ddp_untagged_opcode(segment.data()) == EXRNIC_RDMAP_OPCODE_TERMINATE);
    const uint8_t* message = segment.data() + EXRNIC_DDP_UNTAGGED_BYTES;
    CHECK(exrnic_terminate_code(message) == EXRNIC_TERM_CODE_STREAM);
    CHECK(exrnic_terminate_segment_length(message) == 0x1234);
    CHECK(message[EXRNIC_TERMINATE_HEADER_OFFSET] == 0xc1);
    CHECK(message[EXRNIC_TERMINATE_HEADER_OFFSET + 13] == 0x99);
  }
  send(tx, 2, pattern(8, 0));
  const Frame data = tx.next_frame();
  CHECK(data.has(EXRNIC_EFE_FLAGS_SEQ));
  CHECK(exrnic_efe_refusal(data.efe()) == 0);
  tx.rx_states[2].refusal = 0;
  tx.request_ack(2);
  const Frame after = tx.next_frame();
  CHECK(exrnic_efe_refusal(after.efe()) == 0);
  CHECK(after.segment().empty());
}

TEST_CASE("A frame tells the refusal whose number it has, in whatever cycle another one is set") {
  constexpr uint32_t kOtherQpn = 0x515253;
  const bool is_stalled = GENERATE(false, true);
  for (const uint8_t node : {2, 3}) {
    for (int delay = 0; delay < 30; ++delay) {
      CAPTURE(is_stalled, node, delay);
      EfeTx tx;
      tx.rx_states[2] = {true, 9, 100};
      tx.rx_states[3] = {true, 9, 100};
      if (is_stalled) {
        tx.dut().tx_ready_i = 0;
        for (int i = 0; i < 2; ++i) send(tx, 9, pattern(100, 0));
        tx.run(50);
      }
      tx.refuse(some_refusal(2), 17);
      tx.request_ack(2);
      tx.run(delay);
      Refusal other = some_refusal(node);
      other.dst_qpn = kOtherQpn;
      tx.refuse(other, 18);
      tx.run(10);
      tx.dut().tx_ready_i = 1;
      tx.request_ack(2);
      tx.run(100);
      while (!tx.frames.empty() && tx.frames.front().dst_node() == 9) tx.frames.pop_front();
      REQUIRE_FALSE(tx.frames.empty());
      for (const Frame& frame : tx.frames) {
        const unsigned number = exrnic_efe_refusal(frame.efe());
        CHECK((number == 17 || (number == 18 && node == 2)));
        CHECK(exrnic_efe_dst_qpn(frame.efe()) == (number == 17 ? 0x111213 : kOtherQpn));
      }
      CHECK(exrnic_efe_refusal(tx.frames.back().efe()) == (node == 2 ? 18 : 17));
    }
  }
}

TEST_CASE("RNR and the pause are in a refusal that has them") {
  EfeTx tx;
  tx.rx_states[2] = {true, 9, 100};
  Refusal refusal = some_refusal(2);
  refusal.rnr = true;
  refusal.pause = 21;
  tx.refuse(refusal, 1);
  tx.request_ack(2);
  const Frame frame = tx.next_frame();
  CHECK(frame.has(EXRNIC_EFE_FLAGS_RNR));
  CHECK(exrnic_efe_sack_imm(frame.efe()) == 21);
}

TEST_CASE("Each frame that acknowledges says which refusal of its session has been dealt with") {
  EfeTx tx;
  tx.rx_states[2] = {true, 9, 100, 33};
  for (const uint16_t session : {session_to(2), static_cast<uint16_t>(session_to(2) - 1)}) {
    tx.rx_states[2].heard_session = session;
    const uint8_t heard = session == session_to(2) ? 33 : 0;
    tx.request_ack(2);
    CHECK(exrnic_efe_heard(tx.next_frame().efe()) == heard);
    send(tx, 2, pattern(8, 0));
    CHECK(exrnic_efe_heard(tx.next_frame().efe()) == heard);
  }
}

TEST_CASE("SYN is set until the first acknowledgement of the session") {
  EfeTx tx;
  send(tx, 2, pattern(8, 0));
  CHECK(tx.next_frame().has(EXRNIC_EFE_FLAGS_SYN));
  send(tx, 2, pattern(8, 0));
  CHECK(tx.next_frame().has(EXRNIC_EFE_FLAGS_SYN));
  tx.acknowledge({2, session_to(2), kFirst});
  send(tx, 2, pattern(8, 0));
  CHECK_FALSE(tx.next_frame().has(EXRNIC_EFE_FLAGS_SYN));
}

TEST_CASE("An acknowledgement outside the window or of another session does nothing") {
  EfeTx tx;
  send(tx, 2, pattern(8, 0));
  tx.next_frame();
  tx.acknowledge({2, session_to(2), kFirst + 2});
  tx.acknowledge({2, session_to(2), kFirst - 1});
  tx.acknowledge({2, static_cast<uint16_t>(session_to(2) + 1), kFirst + 1});
  tx.acknowledge({9, 0, kFirst});
  tx.run(100);
  CHECK(tx.dones.empty());
  CHECK(tx.counters[EXRNIC_COUNTER_RX_BAD_ACK] == 4);
}

TEST_CASE("Acknowledgements owed to a node are sent once, with data if there is some") {
  EfeTx tx;
  tx.rx_states[2] = {true, 0x5555, 77};
  tx.rx_states[3] = {true, 0x6666, 88, 0, 0, 0, 0, false, true, 90, 0x80000005};
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
  CHECK(to[3].flags() == (EXRNIC_EFE_FLAGS_ACK | EXRNIC_EFE_FLAGS_SYN | EXRNIC_EFE_FLAGS_SACK));
  CHECK(to[3].seq() == 90);
  CHECK(exrnic_efe_sack_imm(to[3].efe()) == 0x80000005);
  CHECK(to[3].ack() == 88);
  CHECK(to[3].peer_session() == 0x6666);
  CHECK(to[3].data.size() == EXRNIC_ETH_FRAME_MIN);
  CHECK(tx.counters[EXRNIC_COUNTER_ACKS_TX] == 1);
  CHECK(tx.counters[EXRNIC_COUNTER_FRAMES_TX] == 4);
}

TEST_CASE("What is resent to a node acknowledges as well, and keeps no other from its own frame") {
  for (const uint8_t owed : {2, 3}) {
    CAPTURE(owed);
    EfeTx tx;
    tx.rx_states[2] = {true, 0x5555, 77};
    tx.rx_states[3] = {true, 0x6666, 88};
    for (uint16_t i = 0; i < 30; ++i) send(tx, 2, pattern(300, i), i);
    tx.run(1200);
    REQUIRE(tx.frames.size() == 30);
    tx.frames.clear();
    tx.acknowledge(selective(2, kFirst, kFirst, 1 << 28));
    tx.request_ack(owed);
    tx.run(200);
    REQUIRE(tx.frames.size() >= 4);
    const auto alone = std::find_if(tx.frames.begin(), tx.frames.end(), [](const Frame& frame) {
      return !frame.has(EXRNIC_EFE_FLAGS_SEQ);
    });
    if (owed == 2) {
      CHECK(alone == tx.frames.end());
    } else {
      REQUIRE(alone != tx.frames.end());
      CHECK(alone - tx.frames.begin() < 4);
      CHECK(alone->dst_node() == 3);
    }
  }
}

TEST_CASE("What is held is told in a frame of its own, though data is at hand") {
  EfeTx tx;
  tx.rx_states[2] = {true, 0x5555, 7, 0, 0, 0, 0, false, true, 9, 1};
  tx.dut().enable_i = 0;
  for (uint16_t i = 0; i < 4; ++i) send(tx, 2, pattern(100, i), i);
  tx.request_ack(2, true);
  tx.run(200);
  tx.dut().enable_i = 1;
  tx.run(200);
  REQUIRE(tx.frames.size() == 5);
  const auto tells = [](const Frame& frame) { return frame.has(EXRNIC_EFE_FLAGS_SACK); };
  CHECK(std::count_if(tx.frames.begin(), tx.frames.end(), tells) == 1);
}

TEST_CASE("A limit goes in a frame of its own, which acknowledges as well") {
  EfeTx tx;
  tx.rx_states[2] = {true, 0x5555, 7, 0, 0, 0, 0, false, false, 9, 1};
  tx.tell({2, 0x112233, 0x445566, 0x7788, 0x99aa, 0x7abc});
  const Frame frame = tx.next_frame();
  CHECK(frame.dst_node() == 2);
  CHECK(exrnic_efe_credit(frame.efe()) == (EXRNIC_CREDIT_VALID | 0x7abc));
  CHECK(exrnic_efe_dst_qpn(frame.efe()) == 0x112233);
  CHECK(exrnic_efe_src_qpn(frame.efe()) == 0x445566);
  CHECK(exrnic_efe_src_generation(frame.efe()) == 0x7788);
  CHECK(exrnic_efe_dst_generation(frame.efe()) == 0x99aa);
  CHECK(exrnic_efe_ack(frame.efe()) == 7);
  CHECK(frame.has(EXRNIC_EFE_FLAGS_ACK));
  CHECK_FALSE(frame.has(EXRNIC_EFE_FLAGS_SEQ));
  tx.request_ack(2);
  CHECK(exrnic_efe_credit(tx.next_frame().efe()) == 0);
  tx.run(10);
  CHECK(tx.counters[EXRNIC_COUNTER_CREDIT_UPDATES_TX] == 1);
  CHECK(tx.dut().idle_o);
}

TEST_CASE("A node of which nothing came is told no limit") {
  EfeTx tx;
  tx.tell({2, 1, 2, 3});
  CHECK(exrnic_efe_credit(tx.next_frame().efe()) == 0);
  CHECK(tx.counters[EXRNIC_COUNTER_CREDIT_UPDATES_TX] == 0);
}

TEST_CASE("A segment that goes beyond its limit asks, in each of its copies, and in no other") {
  EfeTx tx;
  for (const bool asks : {true, false}) {
    TxDesc desc;
    desc.slot = tx.allocate();
    desc.node = 2;
    desc.ask = asks;
    desc.inlined = true;
    tx.submit(desc);
  }
  tx.run(2 * kRto);
  unsigned copies = 0;
  for (const Frame& frame : tx.frames) {
    const bool first = frame.seq() == kFirst;
    copies += first;
    CHECK(exrnic_efe_credit(frame.efe()) == (first ? EXRNIC_CREDIT_ASK : 0));
  }
  CHECK(copies > 1);
}

TEST_CASE("A node of which nothing came is greeted with SYN, and acknowledged nothing") {
  EfeTx tx;
  tx.request_ack(2);
  const Frame frame = tx.next_frame();
  CHECK(frame.dst_node() == 2);
  CHECK(frame.flags() == EXRNIC_EFE_FLAGS_SYN);
  CHECK(frame.data.size() == EXRNIC_ETH_FRAME_MIN);
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

}  // namespace
}  // namespace exrnic::testing
