// SPDX-License-Identifier: BSD-2-Clause
// Ports that are opened anew, however often, while messages are under way. Not in lockstep: which
// of them find the link up is a matter of time.
#include <catch2/generators/catch_generators.hpp>
#include <random>

#include "tests/support/cluster.h"
#include "tests/support/exchange.h"
#include "tests/support/ntb.h"

namespace exrnic::testing {
namespace {

TEST_CASE("what was said to an earlier opening of a port does not count") {
  const auto seed = GENERATE(1u, 2u, 3u, 4u);
  std::mt19937 random(seed);
  TestbedOptions options = options_on("dc-25g", "star:2");
  for (TopologyLink& link : options.topology->links) link.latency_ns = 2'000;
  Exchange pair(20'000, {}, options);
  Port here(pair.left.rnic, 3), there(pair.right.rnic, 2);
  here.open(1, 2, 9);
  there.open(0, 3, 9);
  pair.rest();
  for (unsigned i = 1; i <= 200; ++i) {
    Port& side = random() % 2 ? here : there;
    switch (random() % 4) {
      case 0:
        side.set_spad(random() % 2, i);
        break;
      case 1:
        side.set_peer_spad(random() % 2, i);
        break;
      case 2:
        side.write(EXRNIC_REG_PORT_CONTROL, 0);
        side.write(EXRNIC_REG_PORT_CONTROL, EXRNIC_PORT_CONTROL_ENABLE);
        break;
      default:
        pair.testbed.run_for(random() % 4'000);
    }
  }
  pair.rest();
  REQUIRE(here.linked());
  REQUIRE(there.linked());
  for (uint32_t i = 0; i < 2; ++i) {
    CHECK(here.spad(i) == there.peer_spad(i));
    CHECK(there.spad(i) == here.peer_spad(i));
  }
  // Bells of an earlier opening: none is rung behind the last one.
  for (Port* port : {&here, &there}) {
    port->ring(1);
    port->write(EXRNIC_REG_PORT_CONTROL, 0);
    port->write(EXRNIC_REG_PORT_CONTROL, EXRNIC_PORT_CONTROL_ENABLE);
  }
  pair.rest();
  CHECK(here.linked());
  CHECK(there.linked());
  CHECK(here.bells() == 0);
  CHECK(there.bells() == 0);
}

// At each moment around that at which the peer's greeting comes. Another port and a long message
// keep the way to the peer busy, so that answer and writes wait for each other.
TEST_CASE("scratchpads that are written while the peer opens its port anew are the same on both") {
  constexpr uint64_t kBusy = 400;
  TestbedOptions options = options_on("dc-25g", "star:2");
  for (TopologyLink& link : options.topology->links) link.latency_ns = 2'000;
  Exchange pair(20'000, {}, options);
  Port here(pair.left.rnic, 3), there(pair.right.rnic, 2);
  Port busy(pair.left.rnic, 4), busy_there(pair.right.rnic, 4);
  here.open(1, 2, 9);
  there.open(0, 3, 9);
  busy.open(1, 4, 9);
  busy_there.open(0, 4, 9);
  pair.rest();
  const auto keep_busy = [&](unsigned words) {
    for (unsigned i = 0; i < words; ++i) busy.set_peer_spad(i, i);
  };
  for (uint64_t delay = 5'355; delay < 5'385; ++delay) {
    keep_busy(EXRNIC_PORT_SPADS);
    here.write(EXRNIC_REG_PORT_CONTROL, 0);
    keep_busy(EXRNIC_PORT_SPADS / 2);
    here.write(EXRNIC_REG_PORT_CONTROL, EXRNIC_PORT_CONTROL_ENABLE);
    keep_busy(EXRNIC_PORT_SPADS);
    pair.testbed.run_for(delay - kBusy);
    for (unsigned i = 0; i < 6; ++i) {
      Work work = push_of({element(pair.right.near, 0, 16000)}, 0);
      work.remote_stag = kFarStag;
      work.remote_to = kFarBase;
      work.flags = 0;
      pair.right.post(work);
    }
    pair.testbed.run_for(kBusy);
    for (unsigned i = 0; i < EXRNIC_PORT_SPADS; ++i) there.set_peer_spad(i, 0x100 + i);
    pair.rest();
    REQUIRE(here.linked());
    REQUIRE(there.linked());
    for (unsigned i = 0; i < EXRNIC_PORT_SPADS; ++i) CHECK(here.spad(i) == there.peer_spad(i));
  }
}

// The answer to its greeting is under way when the line goes, and comes behind that.
TEST_CASE("an answer that comes late brings no lost link of ports up again") {
  TestbedOptions options = options_on("dc-25g", "star:2");
  for (TopologyLink& link : options.topology->links) link.latency_ns = 50'000;
  Exchange pair(20'000, {}, options);
  pair.rest();
  Port here(pair.left.rnic, 3), there(pair.right.rnic, 2);
  here.open(1, 2, 9);
  there.open(0, 3, 9);
  while (!here.linked()) {
    REQUIRE(pair.testbed.busy());
    pair.testbed.run_for(1'000);
  }
  here.set_spad(0, 7);
  pair.testbed.run_for(5'000);
  Fabric& fabric = pair.testbed.fabric();
  fabric.set_up(fabric.topology().links.at(0), false);
  pair.testbed.run_for(20'000);
  CHECK_FALSE(here.linked());
  fabric.set_up(fabric.topology().links.at(0), true);
  pair.rest();
  CHECK_FALSE(here.linked());
  CHECK_FALSE(there.linked());
  CHECK(here.spad(0) == 7);
  here.close();
  here.open(1, 2, 9);
  pair.rest();
  CHECK(here.linked());
  CHECK(there.linked());
  CHECK(here.spad(0) == there.peer_spad(0));
}

// The cable of one node goes and comes, of which the other one, behind a switch, sees nothing.
TEST_CASE("a port whose peer has lost the link goes down when it says something") {
  Exchange pair(20'000, {}, options_on("dc-25g", "star:2"));
  Port here(pair.left.rnic, 3), there(pair.right.rnic, 2);
  here.open(1, 2, 9);
  there.open(0, 3, 9);
  pair.rest();
  Fabric& fabric = pair.testbed.fabric();
  fabric.set_up(fabric.topology().links.at(0), false);
  pair.testbed.run_for(20'000);
  fabric.set_up(fabric.topology().links.at(0), true);
  pair.rest();
  REQUIRE_FALSE(here.linked());
  REQUIRE(there.linked());
  there.take_events();
  there.set_peer_spad(0, 5);
  pair.rest();
  CHECK_FALSE(here.linked());
  CHECK_FALSE(there.linked());
  CHECK(there.take_events() == EXRNIC_PORT_EVENT_LINK_DOWN);
  CHECK(here.spad(0) == 0);
}

TEST_CASE("what was said to an earlier peer takes down no link to the next when it fails") {
  TestbedOptions options = options_for("dc-25g", 3);
  Testbed testbed(options, test_cores());
  RnicDriver first(testbed, 0), second(testbed, 1), third(testbed, 2);
  Port here(first, 3), old(second, 7), next(third, 7);
  here.open(1, 7, 4);
  old.open(0, 3, 4);
  testbed.run_while_busy(10'000'000);
  REQUIRE(here.linked());
  testbed.node(1).device().reset();
  here.close();
  here.open(2, 7, 4);
  next.open(0, 3, 4);
  testbed.run_for(50'000);
  REQUIRE(here.linked());
  REQUIRE(next.linked());
  testbed.run_while_busy(200'000'000);  // until the first peer is given up
  CHECK(first.counter(EXRNIC_COUNTER_PEERS_DEAD) == 1);
  CHECK(here.linked());
  CHECK(here.take_events() == EXRNIC_PORT_EVENT_LINK_UP);
  next.set_peer_spad(0, 5);
  testbed.run_while_busy(10'000'000);
  CHECK(here.spad(0) == 5);
}

// All of these fail when it comes back.
TEST_CASE("many rings to a peer that is reset do not take down the link when it has come back") {
  Exchange pair(20'000);
  Port here(pair.left.rnic, 3), there(pair.right.rnic, 2);
  here.open(1, 2, 9);
  there.open(0, 3, 9);
  pair.rest();
  REQUIRE(here.linked());
  pair.testbed.node(1).device().reset();
  for (unsigned i = 0; i < 40; ++i) here.ring(1);
  RnicDriver again(pair.testbed, 1);
  Port there_again(again, 2);
  there_again.open(0, 3, 9);
  pair.testbed.run_while_busy(100'000'000);
  CHECK(here.linked());
  CHECK(there_again.linked());
}

}  // namespace
}  // namespace exrnic::testing
