// SPDX-License-Identifier: BSD-2-Clause
#include <catch2/catch_test_macros.hpp>

#include "rtl-model/blocks/efe_tx/efe_tx_segments.h"

namespace exrnic::testing {
namespace {

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

TEST_CASE("A time-out resends the first missing frame; the others follow when it has arrived") {
  EfeTx tx;
  for (uint16_t i = 0; i < 4; ++i) send(tx, 2, pattern(20, i), i);
  tx.run(200);
  tx.acknowledge({2, session_to(2), kFirst + 1, false});
  tx.frames.clear();
  CHECK(tx.next_frame().seq() == kFirst + 1);
  tx.run(200);
  CHECK(tx.frames.empty());
  tx.acknowledge({2, session_to(2), kFirst + 2, false});
  CHECK(tx.next_frame(100).seq() == kFirst + 2);
  CHECK(tx.next_frame(100).seq() == kFirst + 3);
  tx.acknowledge({2, session_to(2), kFirst + 3, false});
  tx.run(200);
  CHECK(tx.frames.empty());
  CHECK(tx.counters[EXRNIC_COUNTER_TIMEOUTS] == 1);
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
  CHECK(tx.counters[EXRNIC_COUNTER_RETRANSMITS] == kRetryLimit);
  CHECK(tx.counters[EXRNIC_COUNTER_PEERS_DEAD] == 1);
  CHECK(tx.frames.size() == 2 + kRetryLimit);
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
