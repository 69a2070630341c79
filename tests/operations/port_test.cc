// SPDX-License-Identifier: BSD-2-Clause
// Ports: doorbell bits with mask and interrupt, scratchpads, and the state of the link between two
// ports; each port hears its peer and nobody else.
#include <catch2/generators/catch_generators.hpp>

#include "tests/support/cluster.h"
#include "tests/support/exchange.h"
#include "tests/support/ntb.h"

namespace exrnic::testing {
namespace {

constexpr uint32_t kUp = EXRNIC_PORT_EVENT_LINK_UP;
constexpr uint32_t kDown = EXRNIC_PORT_EVENT_LINK_DOWN;
constexpr uint32_t kVector = 9;

uint64_t fired(RnicDriver& rnic, unsigned vector = kVector) {
  const auto& all = rnic.host().interrupts();
  return static_cast<uint64_t>(std::count(all.begin(), all.end(), vector));
}

struct Ported : Exchange {
  using Exchange::Exchange;

  void open_both() {
    here.open(1, 2, kVector);
    there.open(0, 3, kVector + 1);
    rest();
    REQUIRE(here.linked());
    REQUIRE(there.linked());
    here.take_events();
    there.take_events();
    left.rnic.host().clear_records();
    right.rnic.host().clear_records();
  }

  Port here{left.rnic, 3};
  Port there{right.rnic, 2};
};

TEST_CASE("a link comes up when both ports are enabled, and goes down when one is not") {
  Ported pair;
  pair.here.open(1, 2, kVector);
  pair.rest();
  CHECK_FALSE(pair.here.linked());
  CHECK(pair.here.take_events() == 0);
  pair.there.open(0, 3, kVector);
  pair.rest();
  for (Port* port : {&pair.here, &pair.there}) {
    CHECK(port->linked());
    CHECK(port->take_events() == kUp);
  }
  CHECK(fired(pair.left.rnic) == 1);
  pair.there.close();
  pair.rest();
  CHECK_FALSE(pair.here.linked());
  CHECK(pair.here.take_events() == kDown);
  CHECK(fired(pair.left.rnic) == 2);
  pair.there.open(0, 3, kVector);
  pair.rest();
  CHECK(pair.here.linked());
  CHECK(pair.here.take_events() == kUp);
}

TEST_CASE("every doorbell bit rings, fires unless it is masked, and stays until it is cleared") {
  Ported pair;
  pair.open_both();
  for (unsigned bit = 0; bit < EXRNIC_PORT_BELLS; ++bit) pair.here.ring(1u << bit);
  pair.rest();
  CHECK(pair.there.bells() == UINT32_MAX);
  CHECK(fired(pair.right.rnic, kVector + 1) >= 1);
  pair.there.write(EXRNIC_REG_PORT_BELLS_RUNG, 0xffff'0000);
  CHECK(pair.there.bells() == 0xffff);
  pair.there.write(EXRNIC_REG_PORT_BELLS_RUNG, UINT32_MAX);

  pair.there.write(EXRNIC_REG_PORT_BELLS_MASK, 0xff);
  CHECK(pair.there.read(EXRNIC_REG_PORT_BELLS_MASK) == 0xff);
  pair.rest();
  pair.right.rnic.host().clear_records();
  pair.here.ring(0x11);
  pair.rest();
  CHECK(pair.there.bells() == 0x11);
  CHECK(fired(pair.right.rnic, kVector + 1) == 0);
  pair.here.ring(0x100);
  pair.rest();
  CHECK(fired(pair.right.rnic, kVector + 1) == 1);
  pair.there.write(EXRNIC_REG_PORT_BELLS_MASK, 0xf0);
  pair.rest();
  CHECK(fired(pair.right.rnic, kVector + 1) == 2);
}

TEST_CASE("each side reads and writes its own scratchpads and its peer's; they begin empty") {
  Ported pair;
  pair.open_both();
  for (uint32_t i = 0; i < EXRNIC_PORT_SPADS; ++i) {
    pair.here.set_peer_spad(i, 0x1000'0000 + i);
    pair.there.set_peer_spad(i, 0x2000'0000 + i);
  }
  pair.rest();
  for (uint32_t i = 0; i < EXRNIC_PORT_SPADS; ++i) {
    CHECK(pair.there.spad(i) == 0x1000'0000 + i);
    CHECK(pair.here.spad(i) == 0x2000'0000 + i);
    CHECK(pair.here.peer_spad(i) == 0x1000'0000 + i);
  }
  for (uint32_t i = 0; i < EXRNIC_PORT_SPADS; ++i) pair.here.set_spad(i, 0x3000'0000 + i);
  pair.there.set_spad(0, 4);
  CHECK(pair.here.spad(0) == 0x3000'0000);  // at once
  pair.rest();
  for (uint32_t i = 0; i < EXRNIC_PORT_SPADS; ++i) {
    CHECK(pair.here.spad(i) == 0x3000'0000 + i);
    CHECK(pair.there.peer_spad(i) == 0x3000'0000 + i);
    CHECK(pair.here.peer_spad(i) == (i == 0 ? 4 : 0x1000'0000 + i));
  }
  pair.there.close();
  pair.rest();
  pair.here.set_spad(0, 1);  // nobody would hear of it
  pair.here.set_peer_spad(0, 1);
  CHECK(pair.here.spad(0) == 0x3000'0000);
  CHECK(pair.here.peer_spad(0) == 4);
  pair.there.open(0, 3, kVector);
  pair.rest();
  for (Port* port : {&pair.here, &pair.there}) {
    CHECK(port->spad(0) == 0);
    CHECK(port->peer_spad(0) == 0);
  }
}

TEST_CASE("scratchpads that both sides write at once are the same on both when they have stopped") {
  const bool slow = GENERATE(false, true);
  std::mt19937 random(71);
  TestbedOptions options = options_on("dc-25g", "star:2");
  if (slow)
    for (TopologyLink& link : options.topology->links) link.latency_ns = 5'000;
  Ported pair(20'000, {}, options);
  pair.open_both();
  for (uint32_t round = 0; round < 6; ++round) {
    for (uint32_t i = 1; i <= 20; ++i) {
      Port& side = random() % 2 ? pair.here : pair.there;
      if (random() % 2) {
        side.set_spad(random() % 2, 100 * round + i);
      } else {
        side.set_peer_spad(random() % 2, 100 * round + i);
      }
      if (random() % 4 == 0) pair.testbed.run_for(random() % 2000);
    }
    pair.rest();
    for (uint32_t i = 0; i < 2; ++i) {
      CHECK(pair.here.spad(i) == pair.there.peer_spad(i));
      CHECK(pair.there.spad(i) == pair.here.peer_spad(i));
      CHECK(pair.here.spad(i) + pair.there.spad(i) != 0);
    }
  }
  CHECK(pair.left.rnic.counter(EXRNIC_COUNTER_PORT_REFUSED) == 0);
}

TEST_CASE("a bell is seen behind the window stores that were done before it was rung") {
  Ported pair;
  pair.open_both();
  RemoteWindow window(pair.left.rnic, 0);
  REQUIRE(window.set(Exchange::kLeftQpn, kFarStag, kFarBase, 4096, kStore) ==
          EXRNIC_MBOX_STATUS_OK);
  for (uint32_t round = 1; round <= 8; ++round) {
    for (uint64_t i = 0; i < 40; ++i) window.store(i % 3 ? 8 * i : 1000 + 16 * i, 8, round);
    pair.here.ring(round);
    while (pair.there.bells() != round) REQUIRE(pair.testbed.busy());
    for (uint64_t i = 0; i < 40; ++i) {
      const Bytes word = pair.right.rnic.read(pair.right.far, i % 3 ? 8 * i : 1000 + 16 * i, 8);
      REQUIRE(word[0] == round);
    }
    pair.there.write(EXRNIC_REG_PORT_BELLS_RUNG, UINT32_MAX);
  }
}

TEST_CASE("a port hears its peer alone, and says nothing while its link is down") {
  TestbedOptions options = options_for("dc-25g", 3);
  Testbed testbed(options, test_cores());
  RnicDriver first(testbed, 0), second(testbed, 1), third(testbed, 2);
  Port to_second(first, 0), to_third(first, 1);
  Port from_first(second, 7), from_first_too(third, 7), stranger(third, 0);
  to_second.open(1, 7, 4);
  to_third.open(2, 7, 5);
  from_first.open(0, 0, 4);
  from_first_too.open(0, 1, 4);
  stranger.open(0, 0, 4);  // the port of `first` that belongs to `second`
  testbed.run_while_busy(10'000'000);
  CHECK(to_second.linked());
  CHECK(to_third.linked());
  CHECK(from_first.linked());
  CHECK(from_first_too.linked());
  CHECK_FALSE(stranger.linked());
  CHECK(first.counter(EXRNIC_COUNTER_PORT_REFUSED) == 1);
  to_second.ring(1);
  to_third.ring(2);
  stranger.ring(4);
  stranger.set_peer_spad(0, 4);
  testbed.run_while_busy(10'000'000);
  CHECK(from_first.bells() == 1);
  CHECK(from_first_too.bells() == 2);
  CHECK(to_second.bells() == 0);
  CHECK(third.counter(EXRNIC_COUNTER_PORT_REFUSED) >= 2);
}

TEST_CASE("a peer that does not acknowledge takes the link down, one that is reset too") {
  Ported pair;
  pair.open_both();
  pair.testbed.node(1).device().reset();
  pair.rest();
  SECTION("when something is said to it") {
    pair.here.ring(1);
    pair.testbed.run_while_busy(100'000'000);
    CHECK_FALSE(pair.here.linked());
    CHECK(pair.here.take_events() == kDown);
  }
  SECTION("when it comes back, and it comes up again when the port is enabled") {
    RnicDriver again(pair.testbed, 1);
    Port there(again, 2);
    there.open(0, 3, kVector);
    pair.testbed.run_while_busy(100'000'000);
    CHECK(pair.here.take_events() == (kUp | kDown));
    CHECK(pair.here.linked());
    CHECK(there.linked());
  }
}

TEST_CASE("what was said to a port before it was opened anew does not count") {
  TestbedOptions options = options_on("dc-25g", "star:2");
  for (TopologyLink& link : options.topology->links) link.latency_ns = 50'000;
  Ported pair(20'000, {}, options);
  pair.open_both();
  pair.here.ring(0x70);
  pair.here.set_peer_spad(1, 5);
  pair.there.close();
  pair.there.open(0, 3, kVector + 1);
  pair.rest();
  CHECK(pair.there.linked());
  CHECK(pair.there.bells() == 0);
  CHECK(pair.there.spad(1) == 0);
  pair.here.ring(0x2);
  pair.rest();
  CHECK(pair.there.bells() == 0x2);
}

TEST_CASE(
    "a link of ports goes down with the line, and comes up again when one of them begins anew") {
  Ported pair;
  pair.open_both();
  Fabric& fabric = pair.testbed.fabric();
  fabric.set_up(fabric.topology().links.at(0), false);
  pair.testbed.run_for(20'000);
  for (Port* port : {&pair.here, &pair.there}) {
    CHECK_FALSE(port->linked());
    CHECK(port->take_events() == kDown);
  }
  CHECK(fired(pair.left.rnic) == 1);
  pair.here.ring(1);  // nobody hears it
  fabric.set_up(fabric.topology().links.at(0), true);
  pair.rest();
  CHECK_FALSE(pair.here.linked());
  CHECK(pair.there.bells() == 0);
  pair.here.close();
  pair.here.open(1, 2, kVector);
  pair.rest();
  for (Port* port : {&pair.here, &pair.there}) {
    CHECK(port->linked());
    CHECK(port->take_events() == kUp);
  }
}

TEST_CASE("garbage in the registers of ports, and from the wire, leaves ports as they are") {
  Ported pair;
  pair.open_both();
  pair.here.write(EXRNIC_REG_PORT_PEER, 0x0000'0000);  // while it is enabled
  pair.here.write(EXRNIC_REG_PORT_VECTOR, EXRNIC_MSIX_VECTORS);
  pair.here.write(EXRNIC_REG_PORT_STATUS, 0);
  CHECK(pair.here.read(EXRNIC_REG_PORT_PEER) == (1u << 16 | 2u));
  CHECK(pair.here.read(EXRNIC_REG_PORT_VECTOR) == kVector);
  CHECK(pair.here.spad(0) == 0);
  CHECK(pair.here.linked());
  CHECK(pair.here.read(0xf0) == UINT32_MAX);
  pair.left.rnic.host().store(EXRNIC_BAR_REGISTERS, EXRNIC_PORT_BASE, 8, 0);
  pair.left.rnic.host().store(EXRNIC_BAR_REGISTERS, EXRNIC_PORT_BASE + 3 * EXRNIC_PORT_STRIDE, 2,
                              0);
  CHECK(pair.here.linked());
  Port unused(pair.left.rnic, 4);
  unused.write(EXRNIC_REG_PORT_PEER, 0u << 16 | 1);  // the node itself
  const uint32_t nodes = pair.left.rnic.read_register(EXRNIC_REG_MAX_NODE);
  unused.write(EXRNIC_REG_PORT_PEER, nodes << 16);
  unused.write(EXRNIC_REG_PORT_PEER, EXRNIC_PORTS);
  CHECK(unused.read(EXRNIC_REG_PORT_PEER) == 0);
  // A process that pushes to the STag of ports reaches none.
  Work work = push_of({element(pair.left.near, 0, 4)}, 0);
  work.remote_stag = EXRNIC_PORT_STAG;
  work.remote_to = EXRNIC_PORT_TO_BELLS;
  pair.left.post(work);
  CHECK(pair.left.wait().status == EXRNIC_CQE_STATUS_REM_ACCESS_ERR);
  CHECK(pair.there.bells() == 0);
}

}  // namespace
}  // namespace exrnic::testing
