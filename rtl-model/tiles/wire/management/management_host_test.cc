// SPDX-License-Identifier: BSD-2-Clause
// What waits for the host, what it sends, and its registers (FABRIC.md).
#include <catch2/generators/catch_generators.hpp>
#include <deque>
#include <random>

#include "rtl-model/tiles/wire/management/management_bench.h"

namespace exrnic::testing {
namespace {

TEMPLATE_TEST_CASE("Answers and traps for the host wait for it in their order", "", EXRNIC_WIDTHS) {
  Agent<TestType> agent;
  agent.number(3);
  CHECK(agent.peek_in() == Bytes(kSize, 0));
  Frames expected;
  Management directed;
  directed.method = kAnswer;
  for (const unsigned hop : {1u, 2u, 39u}) {
    directed.hop = hop;
    directed.hops = 39;
    directed.path.assign(40, 0);
    directed.path[hop - 1] = kHost;
    agent.comes(directed.frame());
    --directed.hop;
    expected.push_back(directed.frame());
  }
  Management routed;
  routed.dst = mac_of(3);
  for (const unsigned method : {kAnswer, kTrap}) {
    routed.method = method;
    agent.comes(routed.frame());
    expected.push_back(routed.frame());
  }
  CHECK(agent.take_all() == expected);
  CHECK(agent.peek_in() == Bytes(kSize, 0));
  CHECK(agent.line_gets.frames.empty());
  CHECK(agent.dropped() == 0);
  CHECK(agent.served() == 1);  // the number
}

TEMPLATE_TEST_CASE("So many frames wait; more are dropped and counted", "", EXRNIC_WIDTHS) {
  Agent<TestType> agent;
  agent.number(3);
  std::deque<Bytes> expected;
  uint64_t mark = 0;
  const auto comes = [&] {
    Management trap;
    trap.dst = mac_of(3);
    trap.method = kTrap;
    trap.transaction = ++mark;
    agent.line_sends.frames.push_back(trap.frame());
    return trap.frame();
  };
  for (int round = 0; round < 5; ++round) {
    const auto room = static_cast<size_t>(EXRNIC_MANAGEMENT_WAITING) - expected.size();
    for (size_t i = 0; i < room; ++i) expected.push_back(comes());
    comes();
    comes();
    agent.rest();  // one behind the other
    CHECK(agent.dropped() == 2 * (round + 1));
    for (int i = 0; i < 3 + round; ++i) {
      CHECK(agent.peek_in() == expected.front());
      agent.store(EXRNIC_REG_MANAGEMENT_TAKEN, 1);
      expected.pop_front();
    }
  }
  // The own host's answer, too.
  while (expected.size() < EXRNIC_MANAGEMENT_WAITING) expected.push_back(comes());
  agent.rest();
  agent.send(Management{}.frame());
  CHECK(agent.dropped() == 11);
  CHECK(agent.take_all() == Frames(expected.begin(), expected.end()));
  agent.store(EXRNIC_REG_MANAGEMENT_TAKEN, 1);  // where there is none
  CHECK_FALSE(agent.waits());
}

TEMPLATE_TEST_CASE("The host's request to its own node is answered to it", "", EXRNIC_WIDTHS) {
  Agent<TestType> agent;
  Device device;
  Management request;
  SECTION("directed, without a number") {}
  SECTION("directed, with hops") { request.hop = request.hops = 4; }
  SECTION("directed, with a number") {
    agent.number(9);
    device.number = 9;
  }
  SECTION("routed") {
    agent.number(9);
    device.number = 9;
    request.dst = mac_of(9);
  }
  request.src = kAlien;
  agent.send(request.frame());
  request.src = mac_of(device.number);
  CHECK(agent.take_all() == Frames{answer_to(request.frame(), device, kHost)});
  CHECK(agent.line_gets.frames.empty());
  CHECK(agent.dropped() == 0);
}

TEMPLATE_TEST_CASE("The host's requests to others leave by port 0, with the own address", "",
                   EXRNIC_WIDTHS) {
  Agent<TestType> agent;
  const bool numbered = GENERATE(false, true);
  if (numbered) agent.number(9);
  Management request;
  request.src = kAlien;
  Management expected;
  for (const unsigned method : {kGet, kSet}) {
    for (const unsigned hop : {0u, 2u, 38u}) {
      CAPTURE(method, hop);
      request.method = method;
      request.hop = hop;
      request.hops = 39;
      request.path.assign(40, 6);
      request.path[hop] = 0;
      agent.send(request.frame());
      expected = request;
      expected.src = mac_of(numbered ? 9 : kNone);
      expected.path[hop] = kHost;
      ++expected.hop;
      CHECK(agent.line_gets.frames == Frames{expected.frame()});
      agent.line_gets.frames.clear();
    }
  }
  Management routed;
  routed.dst = mac_of(0x1234);
  routed.src = kAlien;
  routed.key = 5;
  agent.send(routed.frame());
  // An answer would not find who has no number.
  routed.src = expected.src;
  CHECK(agent.line_gets.frames == (numbered ? Frames{routed.frame()} : Frames{}));
  CHECK(agent.dropped() == !numbered);
  CHECK(agent.served() == numbered);
}

TEMPLATE_TEST_CASE("What the host may not send is dropped and counted", "", EXRNIC_WIDTHS) {
  Agent<TestType> agent;
  agent.number(9);
  Management request;
  request.hops = 2;
  request.path = {0, 0, 0};
  Bytes frame;
  SECTION("an answer") { request.method = kAnswer; }
  SECTION("a trap") { request.method = kTrap; }
  SECTION("by a port that there is not") { request.path = {1, 0, 0}; }
  SECTION("to the host") { request.path = {kHost, 0, 0}; }
  SECTION("beyond its end") { request.hop = 3; }
  SECTION("too far") { request.hops = EXRNIC_MANAGEMENT_HOPS; }
  SECTION("to no node") { request.dst = kAlien; }
  SECTION("routed, with hops") { request.dst = mac_of(10); }
  SECTION("routed, without a carrier") {
    request.hops = 0;
    request.dst = mac_of(10);
    agent.dut().link_up_i = 0;
  }
  SECTION("directed, without a carrier") { agent.dut().link_up_i = 0; }
  SECTION("of another version") {
    frame = request.frame();
    frame[14] = 0;
  }
  SECTION("of another kind") {
    frame = request.frame();
    frame[12] = 0x88;
    frame[13] = 0xb5;
  }
  agent.is_dropped_of_host(frame.empty() ? request.frame() : frame);
}

TEMPLATE_TEST_CASE("The registers of the host", "", EXRNIC_WIDTHS) {
  Agent<TestType> agent;
  agent.number(4);
  const Bytes frame = Management{}.frame();
  for (size_t i = 0; i < kSize; i += 4)
    CHECK(agent.load(static_cast<uint32_t>(EXRNIC_REG_MANAGEMENT_OUT + i)) == 0);
  agent.put_out(frame);
  const auto word = [&](size_t i) {
    return frame[4 * i] | frame[4 * i + 1] << 8 | frame[4 * i + 2] << 16 |
           uint32_t{frame[4 * i + 3]} << 24;
  };
  const uint32_t out = EXRNIC_REG_MANAGEMENT_OUT;
  for (uint32_t i = 0; i < kSize / 4; ++i) CHECK(agent.load(out + 4 * i) == word(i));
  agent.store(out, 1, /*word=*/false);
  CHECK(agent.load(out) == word(0));
  CHECK(agent.load(out, /*word=*/false) == UINT32_MAX);
  CHECK(agent.load(EXRNIC_REG_MANAGEMENT_SEND) == UINT32_MAX);
  CHECK(agent.load(EXRNIC_REG_MANAGEMENT_TAKEN) == UINT32_MAX);
  agent.store(EXRNIC_REG_MANAGEMENT_SEND, 0, /*word=*/false);
  CHECK(agent.status() == 0);
  // While it is sent nobody changes it.
  Management on;
  on.dst = mac_of(12);
  agent.line_open = false;
  agent.put_out(on.frame());
  agent.store(EXRNIC_REG_MANAGEMENT_SEND, 0);
  CHECK(agent.status() == EXRNIC_MANAGEMENT_STATUS_BITS_SENDING);
  agent.put_out(frame);
  agent.store(EXRNIC_REG_MANAGEMENT_SEND, 0);
  agent.cycles(50);
  CHECK(agent.status() == EXRNIC_MANAGEMENT_STATUS_BITS_SENDING);
  agent.line_open = true;
  agent.rest();
  CHECK(agent.status() == 0);
  on.src = mac_of(4);
  CHECK(agent.line_gets.frames == Frames{on.frame()});
  // It keeps what was written.
  CHECK(agent.load(out + 4) != word(1));
  agent.store(EXRNIC_REG_MANAGEMENT_SEND, 0);
  agent.rest();
  CHECK(agent.line_gets.frames == Frames{on.frame(), on.frame()});
}

TEMPLATE_TEST_CASE("Answers to the host and what comes for it keep out of each other's way", "",
                   EXRNIC_WIDTHS) {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    Agent<TestType> agent(4);
    Frames traps, own, got;
    Device device;
    device.fixed = true;
    device.number = 4;
    for (int i = 0; i < 30; ++i) {
      Management trap;
      trap.method = kTrap;
      trap.dst = mac_of(4);
      trap.transaction = random();
      traps.push_back(trap.frame());
      Management request;
      request.src = mac_of(4);
      request.transaction = random();
      own.push_back(answer_to(request.frame(), device, kHost));
      agent.put_out(request.frame());
      agent.store(EXRNIC_REG_MANAGEMENT_SEND, 0);
      agent.cycles(static_cast<int>(random() % 40));
      agent.line_sends.frames.push_back(trap.frame());
      agent.line_pauses = random() % 2;
      agent.cycles(static_cast<int>(random() % 20));
      agent.line_pauses = false;
      agent.rest();
      for (const Bytes& frame : agent.take_all()) got.push_back(frame);
    }
    Frames got_traps, got_own;
    for (const Bytes& frame : got)
      ((frame[14] & 15) == kTrap ? got_traps : got_own).push_back(frame);
    CHECK(got_traps == traps);
    CHECK(got_own == own);
    CHECK(agent.dropped() == 0);
  }
}

}  // namespace
}  // namespace exrnic::testing
