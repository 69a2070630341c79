// SPDX-License-Identifier: BSD-2-Clause
// Segments that come before one that is missing.
#include <catch2/catch_test_macros.hpp>

#include "rtl-model/tiles/wire/efe_rx/efe_rx_bench.h"

namespace exrnic::testing {
namespace {

Frame numbered(uint32_t number, uint8_t peer = kPeer, uint16_t session = kSession) {
  Bytes segment(20, static_cast<uint8_t>(number));
  segment[0] = 0xc1;
  return make_frame(kOwnNode, peer, kSynSeq, session, kFirst + number, segment);
}

// Takes what is handed out, and places it.
std::vector<uint32_t> take_all(EfeRx& rx) {
  std::vector<uint32_t> numbers;
  rx.run(40);
  while (rx.dut().desc_valid_o) {
    const RxDesc desc = rx.take();
    numbers.push_back(desc.seq - kFirst);
    CHECK(rx.read(desc.start, desc.length).back() == static_cast<uint8_t>(numbers.back()));
    rx.place(desc.node);
  }
  return numbers;
}

TEST_CASE("Segments behind a missing one are held, told, and handed out in order behind it") {
  EfeRx rx;
  rx.receive({numbered(0), numbered(2), numbered(5), numbered(3)});
  CHECK(take_all(rx) == std::vector<uint32_t>{0});
  const RxState state = rx.state(kPeer);
  CHECK(state.ack == kFirst + 1);
  CHECK(state.sack);
  CHECK(state.missing == kFirst + 1);
  CHECK(state.arrived == 0b1011);
  CHECK(rx.counters[EXRNIC_COUNTER_RX_OUT_OF_ORDER] == 3);
  rx.receive(numbered(1));
  CHECK(take_all(rx) == std::vector<uint32_t>{1, 2, 3});
  CHECK(rx.state(kPeer).ack == kFirst + 4);
  CHECK(rx.state(kPeer).missing == kFirst + 4);
  CHECK(rx.state(kPeer).arrived == 1);
  rx.receive(numbered(4));
  CHECK(take_all(rx) == std::vector<uint32_t>{4, 5});
  CHECK_FALSE(rx.state(kPeer).sack);
  CHECK(rx.dut().idle_o);
}

TEST_CASE("A held segment that comes again is a duplicate") {
  EfeRx rx;
  rx.receive({numbered(3), numbered(3), numbered(3)});
  CHECK(rx.counters[EXRNIC_COUNTER_RX_DUPLICATE] == 2);
  rx.receive({numbered(0), numbered(1), numbered(2)});
  CHECK(take_all(rx) == std::vector<uint32_t>{0, 1, 2, 3});
}

TEST_CASE("In any order across the window each segment is handed out once") {
  std::mt19937 random(20261121);
  EfeRx rx;
  std::vector<uint32_t> expected;
  for (uint32_t first = 0; first < 320; first += 32) {  // across the wrap of the numbers
    std::vector<uint32_t> order;
    for (uint32_t i = 0; i < 32; ++i) order.push_back(first + i), expected.push_back(first + i);
    std::shuffle(order.begin(), order.end(), random);
    std::vector<Frame> frames;
    for (const uint32_t number : order) frames.push_back(numbered(number));
    rx.receive(frames);
    CHECK(take_all(rx) == std::vector<uint32_t>(expected.end() - 32, expected.end()));
  }
  CHECK(rx.counters[EXRNIC_COUNTER_RX_OVERFLOW] == 0);
}

TEST_CASE("What lies beyond the window is dropped") {
  EfeRx rx;
  rx.receive({numbered(31), numbered(32)});
  CHECK(rx.counters[EXRNIC_COUNTER_RX_OUT_OF_ORDER] == 1);
  CHECK(rx.counters[EXRNIC_COUNTER_RX_OVERFLOW] == 1);
  CHECK(rx.state(kPeer).arrived == 1u << 30);
}

TEST_CASE("Peers with gaps leave a part of the buffer to segments that are in order") {
  EfeRx rx;
  for (uint8_t peer = 10; peer < 20; ++peer)
    for (uint32_t number = 1; number < 32; ++number) rx.receive(numbered(number, peer));
  CHECK(rx.counters[EXRNIC_COUNTER_RX_OUT_OF_ORDER] < kRxSlots);
  CHECK(rx.counters[EXRNIC_COUNTER_RX_OVERFLOW] > 0);
  const uint64_t dropped = rx.counters[EXRNIC_COUNTER_RX_OVERFLOW];
  for (uint32_t number = 0; number < 20; ++number) rx.receive(numbered(number));
  CHECK(rx.counters[EXRNIC_COUNTER_RX_OVERFLOW] == dropped);
  CHECK(take_all(rx).size() == 20);
}

TEST_CASE("Peers whose gaps close in the same cycles all get their segments in order") {
  EfeRx rx;
  std::vector<Frame> frames;
  for (uint8_t peer = 10; peer < 13; ++peer)
    for (uint32_t number = 1; number < 20; ++number) frames.push_back(numbered(number, peer));
  for (uint8_t peer = 10; peer < 13; ++peer) frames.push_back(numbered(0, peer));
  rx.receive(frames);
  std::map<uint8_t, uint32_t> next;
  rx.run(100);
  for (int i = 0; i < 60; ++i) {
    const RxDesc desc = rx.take();
    CHECK(desc.seq == kFirst + next[desc.node]++);
    rx.place(desc.node);
  }
  CHECK(rx.dut().idle_o);
}

TEST_CASE("A new session drops what the old one has held, and the slots are free again") {
  EfeRx rx;
  for (uint16_t round = 0; round < 40; ++round) {
    const auto session = static_cast<uint16_t>(kSession + 7 * round);
    rx.receive(numbered(1, kPeer, session));
    rx.run(40);
    for (const uint32_t number : {2, 4, 9, 30}) rx.receive(numbered(number, kPeer, session));
    rx.run(40);
  }
  CHECK(rx.counters[EXRNIC_COUNTER_RX_OVERFLOW] <= 40);  // the one that begins the session
  rx.receive(numbered(0, kPeer, kSession + 7 * 39));
  CHECK(take_all(rx).at(0) == 0);
  std::vector<Frame> frames;
  for (uint32_t number = 0; number < kRxSlots - 32; ++number) frames.push_back(numbered(number, 9));
  rx.receive(frames);
  CHECK(take_all(rx).size() == kRxSlots - 32);
}

// ---- What is forgotten

std::vector<bool> stale_of(EfeRx& rx) {
  std::vector<bool> stale;
  while (rx.dut().desc_valid_o) {
    const RxDesc desc = rx.take();
    stale.push_back(desc.stale);
    rx.place(desc.node);
  }
  return stale;
}

// A refusal of `node`, of its first segment, is in force.
void refuse_first(EfeRx& rx, uint8_t node = kPeer) {
  rx.receive(numbered(0, node));
  rx.take();
  REQUIRE(rx.refuse(node, kFirst) == EfeRx::Refused::kInForce);
  rx.place(node);
}

TEST_CASE("What is put off comes again from that number on, and nothing behind it counted") {
  EfeRx rx;
  refuse_first(rx);
  rx.receive({numbered(1), numbered(2), numbered(3), numbered(0, 3), numbered(4), numbered(6),
              numbered(8)});
  CHECK_FALSE(rx.take().stale);
  rx.place(kPeer);
  CHECK(rx.take().seq == kFirst + 2);
  const std::size_t heard = rx.requests.size();
  CHECK(rx.refuse(kPeer, kFirst + 2) == EfeRx::Refused::kPutOff);
  rx.place(kPeer);
  rx.run(40);
  CHECK(stale_of(rx) == std::vector<bool>{true, false, true});  // another peer does not notice
  CHECK(rx.state(kPeer).ack == kFirst);
  CHECK(rx.state(kPeer).refusal == 1);
  rx.hear(kPeer, 1);
  RxState state = rx.state(kPeer);
  CHECK(state.ack == kFirst + 2);
  CHECK(state.missing == kFirst + 2);
  CHECK_FALSE(state.sack);
  CHECK(rx.state(3).ack == kFirst + 1);
  CHECK(rx.requests.size() == heard + 5);  // all were heard
  CHECK(rx.dut().idle_o);

  rx.receive({numbered(2), numbered(3), numbered(4), numbered(6), numbered(5)});
  CHECK(rx.counters[EXRNIC_COUNTER_RX_DUPLICATE] == 0);
  CHECK(take_all(rx) == std::vector<uint32_t>{2, 3, 4, 5, 6});
  CHECK(rx.state(kPeer).ack == kFirst + 7);
  CHECK(rx.dut().idle_o);
}

TEST_CASE("A segment may be put off as often as it comes") {
  EfeRx rx;
  refuse_first(rx);
  for (unsigned i = 0; i < 5; ++i) {
    CAPTURE(i);
    rx.receive({numbered(1), numbered(2)});
    CHECK_FALSE(rx.take().stale);
    rx.receive(numbered(3));
    CHECK(rx.refuse(kPeer, kFirst + 1) == EfeRx::Refused::kPutOff);
    rx.place(kPeer);
    rx.receive(numbered(1));  // behind two that are stale
    CHECK(rx.take().stale);
    rx.place(kPeer);
    CHECK(rx.take().stale);
    rx.place(kPeer);
    CHECK_FALSE(rx.take().stale);
    CHECK(rx.refuse(kPeer, kFirst + 1) == EfeRx::Refused::kPutOff);
    rx.place(kPeer);
    CHECK(rx.state(kPeer).ack == kFirst);
  }
  rx.hear(kPeer, 1);
  rx.receive({numbered(1), numbered(2)});
  CHECK(take_all(rx) == std::vector<uint32_t>{1, 2});
  CHECK(rx.dut().idle_o);
}

TEST_CASE(
    "What is held behind a segment that is put off is dropped, and its slots are free again") {
  EfeRx rx;
  refuse_first(rx);
  for (unsigned i = 0; i < 60; ++i) {
    rx.receive(numbered(1));
    CHECK_FALSE(rx.take().stale);
    for (const uint32_t number : {3, 5, 9, 30}) rx.receive(numbered(number));
    CHECK(rx.refuse(kPeer, kFirst + 1) == EfeRx::Refused::kPutOff);
    rx.place(kPeer);
    rx.run(40);
  }
  CHECK(rx.counters[EXRNIC_COUNTER_RX_OVERFLOW] == 0);
  CHECK(rx.dut().idle_o);
  std::vector<Frame> frames;
  for (uint32_t number = 0; number < kRxSlots - 32; ++number) frames.push_back(numbered(number, 9));
  rx.receive(frames);
  CHECK(take_all(rx).size() == kRxSlots - 32);
}

TEST_CASE("A refusal of the peer's is not forgotten with its segments") {
  EfeRx rx;
  refuse_first(rx);
  Frame refusal = make_frame(kOwnNode, kPeer, EXRNIC_EFE_FLAGS_ACK, kSession, 99,
                             {0x41, 0x47, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0});
  exrnic_efe_set_refusal(refusal.efe(), 5);
  rx.receive({numbered(1), refusal, numbered(2)});
  rx.take();
  CHECK(rx.refuse(kPeer, kFirst + 1) == EfeRx::Refused::kPutOff);
  rx.place(kPeer);
  CHECK(stale_of(rx) == std::vector<bool>{false, true});
  CHECK(rx.state(kPeer).heard == 5);
  CHECK(rx.state(kPeer).missing == kFirst + 1);
}

TEST_CASE(
    "Segments of a session that has ended are stale: they hold nothing back, forget nothing") {
  EfeRx rx;
  rx.receive({numbered(0), numbered(1), numbered(2)});
  CHECK_FALSE(rx.take().stale);
  rx.receive({numbered(0, kPeer, kSession + 1), numbered(1, kPeer, kSession + 1)});
  CHECK(rx.refuse(kPeer, kFirst) == EfeRx::Refused::kVoid);
  rx.place(kPeer);
  CHECK(stale_of(rx) == std::vector<bool>{true, true, false, false});
  CHECK(rx.state(kPeer).ack == kFirst + 2);
  CHECK(rx.state(kPeer).missing == kFirst + 2);
}

}  // namespace
}  // namespace exrnic::testing
