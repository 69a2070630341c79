// SPDX-License-Identifier: BSD-2-Clause
// The agent's frames among those of the node.
#include <deque>
#include <random>

#include "rtl-model/tiles/wire/management/management_bench.h"

namespace exrnic::testing {
namespace {

TEMPLATE_TEST_CASE(
    "While a request is in hand another one is dropped and counted; the node gets its frames", "",
    EXRNIC_WIDTHS) {
  Agent<TestType> agent;
  agent.number(4);
  agent.line_open = false;
  for (int i = 0; i < 3; ++i) {
    agent.line_sends.frames.push_back(Management{}.frame());
    agent.line_sends.frames.push_back(efe_frame(6, 4));
  }
  agent.cycles(300);
  CHECK_FALSE(agent.line_sends.waits());
  CHECK(agent.dropped() == 2);
  CHECK(agent.node_gets.frames == Frames(3, efe_frame(6, 4)));
  agent.line_open = true;
  agent.rest();
  CHECK(agent.line_gets.frames.size() == 1);
}

TEMPLATE_TEST_CASE("An answer finds its place between the frames of a node that sends all the time",
                   "", EXRNIC_WIDTHS) {
  Agent<TestType> agent(4);
  for (int i = 0; i < 20; ++i) agent.node_sends.frames.push_back(efe_frame(4, 6, 1000));
  agent.line_sends.frames.push_back(Management{}.frame());
  agent.rest();
  REQUIRE(agent.line_gets.frames.size() == 21);
  size_t at = 0;
  while (take(agent.line_gets.frames[at], 12, 2) != 0x88b6) ++at;
  CHECK(at <= 3);
}

TEMPLATE_TEST_CASE("Requests without a gap hold back neither each other's answers nor the node", "",
                   EXRNIC_WIDTHS) {
  Agent<TestType> agent(4);
  for (int i = 0; i < 100; ++i) {
    agent.node_sends.frames.push_back(efe_frame(4, 6, 200));
    agent.line_sends.frames.push_back(Management{}.frame());
  }
  agent.send([] {
    Management on;
    on.dst = mac_of(12);
    return on.frame();
  }());
  CHECK(agent.line_gets.frames.size() == 100u + 1u + static_cast<size_t>(agent.served()));
  CHECK(agent.served() >= 20);
  CHECK(agent.served() + agent.dropped() == 100);
}

TEMPLATE_TEST_CASE("An answer begins at once", "", EXRNIC_WIDTHS) {
  Agent<TestType> agent(4);
  agent.line_sends.frames.push_back(Management{}.frame());
  agent.wait_for("the request", 100, [&] { return !agent.line_sends.waits(); });
  int cycles = 0;
  agent.wait_for("the answer", 100, [&] {
    ++cycles;
    return agent.dut().tx_valid_o;
  });
  CHECK(cycles == (Agent<TestType>::kBeat == 16 ? 14 : 9));
}

TEMPLATE_TEST_CASE("A frame of the node passes in the cycle in which it comes", "", EXRNIC_WIDTHS) {
  Agent<TestType> agent(4);
  constexpr size_t kSizeOfMany = 1600;
  for (int i = 0; i < 10; ++i) {
    agent.node_sends.frames.push_back(efe_frame(4, 6, kSizeOfMany));
    agent.line_sends.frames.push_back(efe_frame(6, 4, kSizeOfMany));
  }
  agent.cycles(static_cast<int>(10 * kSizeOfMany / Agent<TestType>::kBeat));
  CHECK(agent.line_gets.frames.size() == 10);
  CHECK(agent.node_gets.frames.size() == 10);
}

TEMPLATE_TEST_CASE("Frames of the node are whole and in their order, whatever the agent does", "",
                   EXRNIC_WIDTHS) {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto one_of = [&](unsigned n) { return random() % n; };
    Agent<TestType> agent(4);
    Frames in, out, requests, traps;
    std::deque<Bytes> coming, leaving;
    Device device;
    device.fixed = true;
    device.number = 4;
    for (int i = 0; i < 80; ++i) {
      const size_t size = 60 + one_of(i % 5 == 0 ? 4000 : 200);
      const auto mark = static_cast<uint8_t>(random());
      out.push_back(efe_frame(4, 6, size, mark));
      in.push_back(efe_frame(6, 4, 60 + one_of(300), mark));
      leaving.push_back(out.back());
      coming.push_back(in.back());
      if (one_of(3) == 0) {
        Management request;
        request.transaction = random();
        request.hop = request.hops = one_of(40);
        requests.push_back(request.frame());
        coming.push_back(request.frame());
      }
      if (one_of(12) == 0 && traps.size() < EXRNIC_MANAGEMENT_WAITING) {
        Management trap;
        trap.method = kTrap;
        trap.dst = mac_of(4);
        trap.transaction = random();
        traps.push_back(trap.frame());
        coming.push_back(trap.frame());
      }
    }
    agent.wait_for("all frames", 60'000, [&] {
      agent.line_open = one_of(4) != 0;
      agent.node_open = one_of(4) != 0;
      agent.line_pauses = one_of(4) == 0;
      if (!leaving.empty() && one_of(12) == 0) {
        agent.node_sends.frames.push_back(leaving.front());
        leaving.pop_front();
      }
      if (!coming.empty() && one_of(40) == 0) {
        agent.line_sends.frames.push_back(coming.front());
        coming.pop_front();
      }
      return coming.empty() && leaving.empty() && !agent.line_sends.waits() &&
             !agent.node_sends.waits() && agent.dut().idle_o;
    });
    Frames of_node, of_agent;
    for (const Bytes& frame : agent.line_gets.frames)
      (take(frame, 12, 2) == 0x88b6 ? of_agent : of_node).push_back(frame);
    CHECK(of_node == out);
    CHECK(agent.node_gets.frames == in);
    CHECK_FALSE((agent.line_gets.broken || agent.node_gets.broken));
    // Each answer is right; some requests came while another one was in hand.
    size_t at = 0;
    for (const Bytes& request : requests)
      if (at < of_agent.size() && of_agent[at] == answer_to(request, device, 0)) ++at;
    CHECK(at == of_agent.size());
    CHECK(of_agent.size() + static_cast<size_t>(agent.dropped()) == requests.size());
    CHECK(agent.take_all() == traps);
  }
}

}  // namespace
}  // namespace exrnic::testing
